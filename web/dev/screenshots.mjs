// Takes a picture of every view, from the real daemon with a made-up agent at work: `npm run screenshots [-- FOLDER]`.
// Both colour schemes, wide and narrow. Ends with an error if the page broke its content policy, wrote an error to the
// console or asked any other host for anything. Environment as in e2e/stage.mjs.

import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Stage } from '../e2e/stage.mjs'
import { setScene } from './scene.mjs'

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'ctx-screenshots-'))
mkdirSync(folder, { recursive: true })

const press = (...keys) => async (page) => {
  for (const key of keys) await page.keyboard.press(key)
}

/** Opens the form of an operation at a row. */
async function onRow(page, operation) {
  await page.locator('[id="row-t2"] bdi').first().click({ button: 'right' })
  await page.getByRole('menuitem', { name: new RegExp(`^${operation}`) }).click()
}

const VIEWS = [
  { name: 'chat', view: 'chat' },
  { name: 'frames', view: 'frames' },
  { name: 'details', view: 'frames', open: 't2' },
  { name: 'compare', view: 'chat', then: (page) => page.getByText('Side by side', { exact: true }).first().click() },
  { name: 'form', view: 'frames', then: (page) => onRow(page, 'Compact') },
  { name: 'tray', view: 'frames', then: async (page) => (await onRow(page, 'Delete'), page.getByRole('button', { name: 'Add to tray' }).click()) },
  { name: 'map', view: 'map' },
  { name: 'money', view: 'map', then: (page) => page.getByLabel('Costs and cache').scrollIntoViewIfNeeded() },
  { name: 'history', view: 'history', then: (page) => page.locator('[data-commit]').filter({ hasText: 'compact t3' }).first().click() },
  { name: 'palette', view: 'frames', open: 't4', then: press('Control+k') },
  { name: 'keys', view: 'history', then: press('?') },
  { name: 'search', view: 'history', then: async (page) => (await press('/')(page), page.keyboard.type('last token')), wide: true },
]
const WIDTHS = [1400, 1280, 480]

const stage = await Stage.start()
const complaints = []
const names = []

async function shoot(name, page, then) {
  await page.waitForTimeout(500)
  await then?.(page)
  await page.waitForTimeout(600)
  await page.screenshot({ path: join(folder, `${name}.png`) })
  names.push(name)
  complaints.push(...page.complaints.map((words) => `${name}: ${words}`))
  await page.context().close()
}

async function everything() {
  for (const colorScheme of ['light', 'dark']) {
    await shoot(`empty-${colorScheme}`, await stage.open({ colorScheme, width: 1280 }))
  }
  const { id, close } = await setScene(stage)
  for (const colorScheme of ['light', 'dark']) {
    for (const width of WIDTHS) {
      for (const { name, view, open, then, wide } of VIEWS) {
        if (wide === true && width < 800) continue
        const hash = `#/${id}/${view}${open === undefined ? '' : `/${open}`}`
        const page = await stage.open({ hash, width, colorScheme })
        await shoot(`${name}-${colorScheme}${width === WIDTHS[0] ? '' : `-${width}`}`, page, then)
      }
    }
  }
  for (const colorScheme of ['light', 'dark']) {
    const page = await stage.open({ hash: `#/${id}/frames`, width: 1280, colorScheme })
    await page.waitForTimeout(500)
    await stage.stopDaemon()
    await page.getByText('Reconnecting').waitFor()
    await page.waitForTimeout(4000)
    // That the daemon is gone is what the browser complains about.
    page.complaints = { push: () => undefined, map: () => [] }
    await shoot(`lost-${colorScheme}`, page)
    await stage.startDaemon()
  }
  close()
}

try {
  await everything()
} finally {
  await stage.stop()
}
console.log(`${names.length} pictures are in ${folder}`)
if (complaints.length > 0) {
  console.error([...new Set(complaints)].join('\n'))
  process.exit(1)
}
