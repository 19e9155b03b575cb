// The page's numbers: `node dev/measure.mjs [views|changes|load]`. Opening, scrolling and changing a conversation of 2,000 messages and 5 MB,
// and the size of the first load. Environment as in e2e/stage.mjs; meant for a release build.

import { gzipSync } from 'node:zlib'
import { Stage } from '../e2e/stage.mjs'
import { playHeavy, scroll, seenAt } from './heavy.mjs'

const VIEWS = {
  chat: { there: () => document.body.innerText.includes('and the last one'), scroller: '[role=log]', by: -150 },
  frames: { there: () => document.getElementById('row-t1') !== null, scroller: ':has(> [role=tree])', by: 60 },
  map: { there: () => document.querySelector('[aria-label="Worth removing"] li') !== null },
  history: { there: () => document.querySelector('[aria-label=History] li') !== null },
}
const TIMES = 7
const wanted = (part) => process.argv.length < 3 || process.argv.includes(part)
const middle = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]
const ms = (number) => `${number.toFixed(number < 20 ? 1 : 0)} ms`
const say = (...words) => console.log(words.join(' | '))

const stage = await Stage.start()
try {
  const { id } = await playHeavy(stage)
  for (const [view, { there, scroller, by }] of wanted('views') ? Object.entries(VIEWS) : []) {
    const opened = []
    let page
    for (let time = 0; time < TIMES; time += 1) {
      page = await stage.open({ hash: `#/${id}/${view}`, wait: false })
      const at = await seenAt(page, there)
      opened.push(at - (await page.evaluate(() => performance.timeOrigin)))
      if (time < TIMES - 1) await page.context().close()
    }
    say(`${view} opens`, `median ${ms(middle(opened))}`, `slowest ${ms(Math.max(...opened))}`)
    if (scroller !== undefined) {
      if (view === 'frames') await page.getByLabel('Unfold all steps').click()
      await page.waitForTimeout(500)
      const told = await scroll(page, scroller, { by, frames: 300 })
      say(
        `${view} scrolls`,
        `frame median ${ms(told.median)}, 95% ${ms(told.p95)}, late ${(told.late * 100).toFixed(1)}%`,
        `script ${ms(told.script)} a frame, layout ${ms(told.layout)}, main thread ${ms(told.task)}`,
        `${told.longTasks} long tasks in 300 frames`,
      )
    }
    await page.context().close()
  }

  for (const view of wanted('changes') ? ['frames', 'chat', 'history'] : []) {
    const one = await stage.open({ hash: `#/${id}/frames` })
    // A window of its own: in one window the browser saves on the tab that is hidden.
    const other = await stage.open({ hash: `#/${id}/${view}` })
    const seen = {
      frames: (frame) => document.getElementById(`row-${frame}`)?.innerText.includes('deleted') ?? false,
      chat: () => document.body.innerText.includes(window.marker),
      history: () => document.querySelectorAll('[data-commit]').length > window.known,
    }[view]
    await one.waitForTimeout(1000)
    const cli = []
    const cliAfter = []
    const here = []
    const there = []
    for (let time = 0; time < TIMES; time += 1) {
      // The last frames, which the chat shows.
      const frame = `t${view === 'chat' ? 41 - (time % 2) : 2 + time}`
      if (view === 'chat') {
        const marker = `Marker ${time}`
        await other.evaluate((words) => (window.marker = words), marker)
        const waiting = seenAt(other, seen, frame)
        const begun = Date.now()
        await stage.ctx('edit', 't41#0', '--text', marker, '--conv', id)
        const acknowledged = Date.now()
        const at = await waiting
        cli.push(at - begun)
        cliAfter.push(at - acknowledged)
        await other.waitForTimeout(400)
        continue
      }
      await other.evaluate(() => (window.known = document.querySelectorAll('[data-commit]').length))
      const waiting = [seenAt(one, (row) => document.getElementById(`row-${row}`)?.innerText.includes('deleted') ?? false, frame), seenAt(other, seen, frame)]
      const begun = Date.now()
      await stage.ctx('delete', frame, '--conv', id)
      const acknowledged = Date.now()
      const at = Math.max(...(await Promise.all(waiting)))
      cli.push(at - begun)
      cliAfter.push(at - acknowledged)
      await one.waitForTimeout(400)
      const next = `t${9 + time}`
      await one.locator(`[id="row-${next}"]`).click()
      await one.keyboard.press('Delete')
      await one.getByTestId('price').waitFor()
      await one.waitForTimeout(300)
      await other.evaluate(() => (window.known = document.querySelectorAll('[data-commit]').length))
      const both = [seenAt(one, (row) => document.getElementById(`row-${row}`)?.innerText.includes('deleted') ?? false, next), seenAt(other, seen, next)]
      const pressed = one.evaluate(() => new Promise((done) => window.addEventListener('click', () => done(Date.now()), { once: true, capture: true })))
      await one.getByRole('button', { name: 'Delete now' }).click()
      const [mine, theirs] = await Promise.all(both)
      here.push(mine - (await pressed))
      there.push(theirs - (await pressed))
      await one.waitForTimeout(400)
    }
    say(`command line to ${view}`, `from its start, median ${ms(middle(cli))}, slowest ${ms(Math.max(...cli))}`, `after its answer ${ms(middle(cliAfter))}`)
    if (here.length > 0) {
      say(`a click in frames, seen there`, `median ${ms(middle(here))}, slowest ${ms(Math.max(...here))}`)
      say(`a click, seen in another tab's ${view}`, `median ${ms(middle(there))}, slowest ${ms(Math.max(...there))}`)
    }
    await stage.ctx('rollback', 'source', '--conv', id)
    await one.context().close()
    await other.context().close()
  }

  const page = await stage.open({ hash: `#/${id}/frames` })
  const bodies = await page.evaluate(() => {
    const own = performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('/ui/'))
    return Promise.all([location.pathname, ...new Set(own)].map(async (name) => (await fetch(name)).text()))
  })
  say('first load', `${bodies.length} files, ${Math.round(bodies.reduce((sum, body) => sum + gzipSync(body).length, 0) / 1000)} KB compressed`)
} finally {
  await stage.stop()
}
