// Does the page's memory grow? `node dev/soak.mjs [MINUTES]`: an agent adds a turn every second and the user edits, while
// the page is open on each view in turn; every minute the heap after a collection is written as a line. A round is five
// minutes, one for each view, in a new conversation, so the same minute of each round should need the same memory.
// Environment as in e2e/stage.mjs.

import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Stage } from '../e2e/stage.mjs'

const MINUTES = Number(process.argv[2] ?? 60)
const VIEWS = [
  { view: 'chat' },
  { view: 'frames' },
  { view: 'frames', open: 't1' },
  { view: 'map' },
  { view: 'history' },
]
const SETTLED_FOR = 500

const pause = (ms) => new Promise((done) => setTimeout(done, ms))
const stage = await Stage.start()
let client = stage.another()
let turns = 0
let edits = 0

async function turn() {
  turns += 1
  await client.say(`Turn ${turns}\nTHINK:hm ${turns};;SAY:I look.;;USE_TOOL:Read:src/${turns}.rs;;THEN;;SAY:Answer ${turns}`, { stream: turns % 2 === 0 })
  if (turns % 3 !== 0) return
  const { frames } = await stage.api('conversations/active/frames')
  const ids = frames.filter(({ kind }) => kind === 'turn').map(({ id }) => id)
  const id = ids[Math.floor(ids.length / 2)]
  const operation =
    edits % 4 === 3 ? { op: 'delete', ids: [id] } : edits % 4 === 2 ? { op: 'drop-results', ids: [id] } : { op: 'retitle', id, title: `Title ${edits}` }
  const { error } = await stage.api('conversations/active/operations', { operations: [operation], author: 'soak' })
  if (error !== undefined) console.error(JSON.stringify({ operation, error }))
  edits += 1
}

let working = true
async function work() {
  while (working) {
    const begun = Date.now()
    await turn().catch((error) => console.error(error.message))
    await pause(Math.max(0, 1000 - (Date.now() - begun)))
  }
}

/** A user who looks around. */
async function lookAround(page, minute) {
  await page.keyboard.press('Control+k')
  await pause(1000)
  await page.keyboard.press('Escape')
  await page.keyboard.press('/')
  await page.keyboard.type(`Answer ${minute}`)
  await pause(1500)
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
}

await turn()
const page = await stage.open({ view: 'chat' })
const devtools = await page.context().newCDPSession(page)
await devtools.send('Performance.enable')
const done = work()

for (let minute = 0; minute < MINUTES; minute += 1) {
  const at = minute % VIEWS.length
  if (minute > 0 && at === 0) {
    client = stage.another()
    turns = 0
  }
  const { view, open } = VIEWS[at]
  await page.evaluate((hash) => (location.hash = hash), `#/active/${view}${open === undefined ? '' : `/${open}`}`)
  const end = Date.now() + 60_000 - SETTLED_FOR
  await pause(10_000)
  await lookAround(page, minute)
  await pause(end - Date.now())
  for (const name of readdirSync(stage.records)) rmSync(join(stage.records, name), { force: true })
  await devtools.send('HeapProfiler.collectGarbage')
  await pause(SETTLED_FOR)
  await devtools.send('HeapProfiler.collectGarbage')
  const { metrics } = await devtools.send('Performance.getMetrics')
  const metric = (name) => metrics.find((one) => one.name === name).value
  console.log(
    JSON.stringify({
      minute: minute + 1,
      round: Math.floor(minute / VIEWS.length) + 1,
      view: open === undefined ? view : 'panel',
      heap_mb: Math.round(metric('JSHeapUsedSize') / 10_000) / 100,
      nodes: metric('Nodes'),
      listeners: metric('JSEventListeners'),
      turns,
      edits,
      complaints: page.complaints.length,
    }),
  )
  for (const words of page.complaints.splice(0)) console.error(words)
}
working = false
await done
await stage.stop()
