// Takes the pictures of the documentation from `ctx demo` into docs/pictures: `cargo xtask pictures`. With `--check` it
// takes them into a temporary folder and fails if one in docs/pictures looks different. Fails too if the page wrote an
// error to the console or asked another host. Environment as in e2e/stage.mjs.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Stage } from '../e2e/stage.mjs'

const check = process.argv.includes('--check')
const pictures = fileURLToPath(new URL('../../docs/pictures', import.meta.url))
const folder = check ? mkdtempSync(join(tmpdir(), 'ctx-pictures-')) : pictures
/** Waits until the page looks the same for half a second, or for ten seconds, and returns the last picture. */
async function settled(page) {
  let before
  let now = await page.screenshot()
  for (let tries = 0; tries < 20 && !before?.equals(now); tries += 1) {
    await page.waitForTimeout(500)
    before = now
    now = await page.screenshot()
  }
  return now
}

/** The share of pixels that may differ: ids and times are never the same. */
const TOLERANCE = 0.02

const clickOn = (name) => (page) => page.getByText(name, { exact: true }).first().click()
const VIEWS = [
  { name: 'chat', view: 'chat', then: [clickOn('Side by side'), (page) => page.getByLabel('Previous change').click()] },
  { name: 'frames', view: 'frames', then: [(page) => page.getByRole('button', { name: /steps of t4/i }).first().click()] },
  { name: 'details', view: 'frames', open: 't4', then: [clickOn('Compare')] },
  { name: 'map', view: 'map' },
  { name: 'history', view: 'history', then: [(page) => page.locator('[data-commit]').filter({ hasText: 'compact t2' }).first().click()] },
]

/** Edits of every kind that the pictures show. */
async function edit(ctx) {
  await ctx('drop-results', 't4')
  await ctx('compact', 't2', '--text', 'The new test test_the_last_boat_arrives_after_midnight fails, as it should.')
  await ctx('tag', 'lean')
  await ctx('branch', 'trial')
  await ctx('offload', 't8')
  await ctx('checkout', 'main')
  await ctx('delete', 't6')
  await ctx('retitle', 't1', '--title', 'Why the last boat is missing')
  await ctx('pin', 't9')
  await ctx('drop-results', 't15', '--when', 'cold')
}

/** The share of pixels that differ visibly between two pictures. */
function difference(page, one, other) {
  const address = (path) => `data:image/png;base64,${readFileSync(path).toString('base64')}`
  return page.evaluate(
    async (addresses) => {
      const pixels = async (address) => {
        const image = new Image()
        image.src = address
        await image.decode()
        const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d')
        canvas.drawImage(image, 0, 0)
        return canvas.getImageData(0, 0, image.width, image.height).data
      }
      const [one, other] = await Promise.all(addresses.map(pixels))
      if (one.length !== other.length) return 1
      let differing = 0
      for (let at = 0; at < one.length; at += 4) {
        if ([0, 1, 2].some((colour) => Math.abs(one[at + colour] - other[at + colour]) > 40)) differing += 1
      }
      return differing / (one.length / 4)
    },
    [one, other].map(address),
  )
}

const stage = await Stage.demo()
const faults = []
try {
  await edit((...args) => stage.ctx(...args))
  const { id } = (await stage.ctx('conversations')).conversations[0]
  for (const { name, view, open, then } of VIEWS) {
    const page = await stage.open({ hash: `#/${id}/${view}${open === undefined ? '' : `/${open}`}`, width: 1280, height: 800 })
    for (const step of then ?? []) {
      await settled(page)
      await step(page)
    }
    await page.mouse.move(0, 0)
    writeFileSync(join(folder, `${name}.png`), await settled(page))
    faults.push(...page.complaints.map((words) => `${name}: ${words}`))
    await page.context().close()
  }
  const blank = await (await stage.browser()).newPage()
  for (const { name } of check ? VIEWS : []) {
    const share = await difference(blank, join(folder, `${name}.png`), join(pictures, `${name}.png`))
    console.log(`${name}.png: ${(share * 100).toFixed(2)} % differ`)
    if (share > TOLERANCE) faults.push(`docs/pictures/${name}.png is not what the page looks like now; \`cargo xtask pictures\` takes it anew`)
  }
} finally {
  await stage.stop()
  if (check) rmSync(folder, { recursive: true })
}
if (faults.length > 0) {
  console.error([...new Set(faults)].join('\n'))
  process.exit(1)
}
console.log(`${VIEWS.length} pictures are ${check ? 'as the page looks now' : `in ${folder}`}`)
