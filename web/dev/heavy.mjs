// A conversation of 2,000 messages and 5 MB: forty turns of 24 calls each, and some talk. For measuring.

import { until } from '../e2e/stage.mjs'

const FILLER = 'The quick brown fox jumps over the lazy dog, and nobody minds. '.repeat(75)

export function heavyMessages() {
  const messages = []
  for (let turn = 0; messages.length < 2000; turn += 1) {
    messages.push({ role: 'user', content: [{ type: 'text', text: `Question ${turn}` }] })
    for (let call = 0; call < 24; call += 1) {
      const id = `toolu_${turn}_${call}`
      const input = { file_path: `src/part_${call % 9}.rs` }
      messages.push({ role: 'assistant', content: [{ type: 'text', text: `Step ${call} of ${turn}.` }, { type: 'tool_use', id, name: 'Read', input }] })
      messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: `${turn} ${call} ${FILLER}` }] })
    }
    messages.push({ role: 'assistant', content: [{ type: 'text', text: `Answer ${turn}` }] })
  }
  return messages
}

/** A client of the stage that has had it; answers with the id of the conversation. */
export async function playHeavy(stage) {
  const client = stage.another()
  client.messages = heavyMessages()
  await client.say('SAY:and the last one')
  const { id } = await until(async () => (await stage.ctx('conversations')).conversations.find(({ session }) => session === client.session), 'it is listed')
  return { client, id }
}

/** Scrolls an element by so many pixels a frame, and says how long the frames took and what the script in them did. */
export async function scroll(page, selector, { by, frames }) {
  const devtools = await page.context().newCDPSession(page)
  // Time of the processor, so that a busy machine does not count.
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  const spent = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value * 1000]))
  }
  const before = await spent()
  const told = await page.evaluate(
    async ([where, step, count]) => {
      const scroller = document.querySelector(where)
      const long = []
      const watch = new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration)))
      watch.observe({ type: 'longtask' })
      const times = []
      let last = await new Promise(requestAnimationFrame)
      for (let at = 0; at < count; at += 1) {
        scroller.scrollTop += step
        const now = await new Promise(requestAnimationFrame)
        times.push(now - last)
        last = now
      }
      watch.disconnect()
      return { times, long, end: scroller.scrollTop }
    },
    [selector, by, frames],
  )
  const after = await spent()
  await devtools.detach()
  const each = (name) => (after[name] - before[name]) / frames
  const sorted = [...told.times].sort((a, b) => a - b)
  return {
    median: sorted[Math.floor(frames / 2)],
    p95: sorted[Math.floor(frames * 0.95)],
    late: told.times.filter((time) => time > 20).length / frames,
    longTasks: told.long.length,
    script: each('ScriptDuration'),
    layout: each('LayoutDuration') + each('RecalcStyleDuration'),
    task: each('TaskDuration'),
  }
}

/** When something came true in the page, in milliseconds of the machine's clock. What is never seen was lost. */
export function seenAt(page, check, argument) {
  return page.evaluate(
    async ([source, value]) => {
      const holds = new Function('value', `return (${source})(value)`)
      const until = Date.now() + 20_000
      while (!holds(value)) {
        if (Date.now() > until) throw new Error(`not seen in 20 s: ${source}`)
        await new Promise(requestAnimationFrame)
      }
      return Date.now()
    },
    [String(check), argument],
  )
}
