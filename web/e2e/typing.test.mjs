// Typing into forms: a form takes the keyboard as soon as it is open, and no single key does anything else until it closes.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, until } from './stage.mjs'

let stage, page, client
const TEXT = 'done: read the file 1 2 x?'

before(async () => {
  stage = await Stage.start()
  client = stage.client
  await client.say('SAY:first answer')
  await client.say('Find out why\nTHINK:Let me look ;; USE_TOOL:Read:src/slow.rs ;; USE_TOOL:Grep:clone ;;THEN;; SAY:It copies too much.')
  await client.say('SAY:third answer')
  page = await stage.open({ view: 'frames' })
})
after(() => stage.stop())

const row = (id) => page.locator(`[id="row-${id}"]`)
const form = () => page.locator('form')
const select = async (...ids) => {
  const clear = page.getByRole('button', { name: 'Deselect all' })
  if ((await clear.count()) > 0) await clear.click()
  for (const id of ids) await row(id).getByRole('checkbox').click()
}

/** Every operation with a form: its key, and what it is done to. */
const FORMS = [
  { label: 'Compact', key: 'c', ids: ['t2'], types: true },
  { label: 'Offload', key: 'o', ids: ['t2'], types: true },
  { label: 'Edit', key: 'e', ids: ['t2'], types: true },
  { label: 'Add', key: 'a', ids: ['t2'], types: true },
  { label: 'Retitle', key: 't', ids: ['t2'], types: true },
  { label: 'Summarize results', key: 'Shift+D', ids: ['t2'], types: true },
  { label: 'Delete', key: 'Delete', ids: ['t2'] },
  { label: 'Drop results', key: 'd', ids: ['t2'] },
  { label: 'Move', key: 'm', ids: ['t2'] },
  { label: 'Combine', key: 'g', ids: ['t2', 't3'] },
  { label: 'Split', key: 's', ids: ['t2'] },
  { label: 'Import', key: 'i', ids: ['t2'] },
]

const focused = () =>
  page.evaluate(() => {
    const { activeElement } = document
    return { tag: activeElement.tagName, inForm: activeElement.closest('form') !== null, value: activeElement.value ?? null }
  })

/** A person waits until the fields are there, and types. */
async function types({ label, types: hasText = false }) {
  await form().waitFor()
  await until(async () => (await focused()).inForm, `the form of ${label} has the keyboard`, 6000)
  if (hasText) {
    await until(async () => ['TEXTAREA', 'INPUT'].includes((await focused()).tag), `a field of ${label} has the keyboard`, 6000)
    // Words to begin from may come a moment later.
    await page.waitForTimeout(300)
    await page.keyboard.press('Control+a')
  }
  await page.keyboard.type(TEXT)
  await page.waitForTimeout(100)
  const heading = await form().getAttribute('aria-label')
  assert.ok(heading?.startsWith(label), `still the form of ${label}: ${heading}`)
  assert.equal(await form().count(), 1)
  if (hasText) assert.equal((await focused()).value, TEXT)
  assert.match(page.url(), /\/frames/, 'no digit has changed the view')
  assert.equal(await page.getByRole('dialog').count(), 0, 'no sign has opened a dialog')
  await page.keyboard.press('Escape')
  await form().waitFor({ state: 'detached' })
}

for (const one of FORMS) {
  test(`${one.label}: by key, what is typed is in its form, and nothing else happens`, async () => {
    await select(...one.ids)
    await page.keyboard.press(one.key)
    await types(one)
  })

  test(`${one.label}: by its button or menu`, async () => {
    await select(...one.ids)
    const button = page.getByRole('toolbar').getByRole('button', { name: one.label, exact: true })
    if ((await button.count()) > 0) await button.click()
    else {
      await page.getByRole('button', { name: 'All operations' }).click()
      await page.getByRole('menuitem', { name: new RegExp(`^${one.label}`) }).click()
    }
    await types(one)
  })

  test(`${one.label}: by the context menu`, async () => {
    await select(...one.ids)
    await row(one.ids[0]).locator('bdi').first().click({ button: 'right' })
    await page.getByRole('menuitem', { name: new RegExp(`^${one.label}`) }).click()
    await types(one)
  })
}

test('a form that becomes another one takes the keyboard again', async () => {
  await select('t2')
  await page.keyboard.press('c')
  await until(async () => (await focused()).tag === 'TEXTAREA', 'the summary has the keyboard')
  await page.getByRole('toolbar').getByRole('button', { name: 'Edit', exact: true }).click()
  await types({ label: 'Edit', types: true })
})

test('with the focus elsewhere no single key does anything to the frames while a form is open', async () => {
  await select('t2')
  await page.keyboard.press('c')
  await until(async () => (await focused()).tag === 'TEXTAREA', 'the summary has the keyboard')
  await page.getByRole('tree').focus()
  await page.keyboard.type('dotapxe12?')
  await page.keyboard.press('Delete')
  await page.waitForTimeout(100)
  assert.match(await form().getAttribute('aria-label'), /^Compact/)
  assert.equal(await page.getByRole('log', { name: 'Notices' }).getByText('not possible').count(), 0)
  assert.equal(await page.getByRole('dialog').count(), 0)
  assert.match(page.url(), /\/frames/)
  await page.keyboard.press('Escape')
  await form().waitFor({ state: 'detached' })
  await page.keyboard.press('o')
  await types({ label: 'Offload', types: true })
  assert.deepEqual(page.complaints, [])
})
