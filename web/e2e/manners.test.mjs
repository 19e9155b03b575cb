// How the page behaves: keys and palette, two tabs, a daemon that goes and comes back, words for every state, and
// nothing serious that axe finds in any view.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { complaintsOf, Stage, until } from './stage.mjs'

let stage
let page

before(async () => {
  stage = await Stage.start()
  await stage.say('THINK: hm ;; SAY: Let me look. ;; USE_TOOL:Read:src/parser.rs ;; THEN ;; USE_TOOL:Bash:cargo test ;; THEN ;; SAY: It ends too early.')
  await stage.say('SAY: the WALRUS sleeps')
  await stage.say('SAY: three')
  await stage.another().say('SAY: Here is a plan for the harvest.')
  await stage.say('SAY: four')
  await stage.ctx('delete', 't3')
  await stage.ctx('compact', 't1', '--text', 'It ends too early.', '--when', 'near-limit')
  await stage.ctx('tag', 'good')
  await stage.ctx('branch', 'trial')
  await stage.ctx('checkout', 'main')
  page = await stage.open({ view: 'frames' })
})

after(() => stage.stop())

for (const colorScheme of ['light', 'dark']) {
  for (const view of ['chat', 'frames', 'map', 'history']) {
    test(`axe finds nothing serious in ${view}, ${colorScheme}`, async () => {
      const tab = await stage.open({ view, colorScheme, open: view === 'frames' ? 't1' : null })
      await tab.waitForTimeout(400)
      if (view === 'history') await tab.locator('[data-commit]').first().click()
      await tab.waitForTimeout(200)
      assert.deepEqual(await complaintsOf(tab), [])
      await tab.context().close()
    })
  }
}

test('axe finds nothing serious in the palette, the keys and a narrow window', async () => {
  const tab = await stage.open({ view: 'frames', width: 480 })
  await tab.keyboard.press('Control+k')
  await tab.getByRole('combobox', { name: 'Command palette' }).waitFor()
  assert.deepEqual(await complaintsOf(tab), [])
  await tab.keyboard.press('Escape')
  await tab.keyboard.press('?')
  await tab.getByRole('dialog', { name: 'Keys' }).waitFor()
  assert.deepEqual(await complaintsOf(tab), [])
  await tab.context().close()
})

test('axe finds nothing serious in what tells how full the context is', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const tab = await stage.open({ view: 'frames', width: 480, colorScheme })
    await tab.locator('button[data-gauge]').click()
    await tab.getByRole('dialog', { name: 'Context usage' }).waitFor()
    await tab.waitForTimeout(300)
    assert.deepEqual(await complaintsOf(tab), [])
    await tab.context().close()
  }
})

test('axe finds nothing serious in the forms, the tray and the panel', async () => {
  const tab = await stage.open({ view: 'frames', open: 't1' })
  for (const name of ['Compact', 'Edit', 'Move', 'Split', 'Drop results', 'Retitle', 'Add', 'Delete']) {
    // An editor keeps its keys.
    await tab.getByRole('heading', { level: 2 }).first().click()
    await tab.keyboard.press('Control+k')
    await tab.getByRole('combobox', { name: 'Command palette' }).fill(name)
    await tab.getByRole('option', { name: new RegExp(`^${name}`) }).first().waitFor()
    await tab.keyboard.press('Enter')
    await tab.getByRole('button', { name: /^(Stage|Add to tray)/ }).first().waitFor()
    await tab.waitForTimeout(300)
    assert.deepEqual(await complaintsOf(tab), [], name)
  }
  await tab.getByRole('button', { name: /^(Stage|Add to tray)/ }).first().click()
  await tab.waitForTimeout(500)
  assert.deepEqual(await complaintsOf(tab), [], 'tray')
  await tab.context().close()
})

test('the palette does an operation by keys alone', async () => {
  await page.goto(`${page.url().split('#')[0]}#/active/history/t2`)
  await page.getByRole('region', { name: 'History' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Command palette' }).waitFor()
  await page.keyboard.type('pin')
  await page.getByRole('option', { name: /^Pin/ }).waitFor()
  await page.keyboard.press('Enter')
  await until(async () => (await stage.ctx('list')).frames.find(({ id }) => id === 't2').pinned, 't2 is pinned')
})

test('the palette opens the form of an operation, a view, a frame and a conversation', async () => {
  const ask = async (words) => {
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Command palette' })
    await field.waitFor()
    await field.fill(words)
    await page.getByRole('listbox', { name: 'Matches' }).getByRole('option').first().waitFor()
    await page.keyboard.press('Enter')
    await field.waitFor({ state: 'detached' })
  }
  await ask('show the map')
  await until(() => /\/map/.test(page.url()), 'the map is shown')
  await ask('t1 SAY')
  await until(() => /\/t1$/.test(page.url()), 't1 is open')
  await ask('harvest')
  await page.getByRole('heading', { level: 2, name: /harvest/ }).waitFor()
  await page.goBack()
  await page.getByRole('heading', { level: 2, name: /parser/ }).waitFor()
})

test('words in the text of any conversation lead to their place', async () => {
  await page.keyboard.press('/')
  await page.keyboard.type('walrus')
  const hit = page.getByRole('region', { name: 'In the text' }).getByRole('button').first()
  await hit.waitFor()
  await hit.click()
  await page.getByRole('complementary', { name: /t2/ }).waitFor()
  await page.keyboard.press('Escape')
})

test('a conversation is found and chosen by keys alone', async () => {
  const tab = await stage.open()
  await tab.keyboard.press('/')
  await tab.keyboard.type('harvest')
  await tab.waitForTimeout(100)
  await tab.keyboard.press('ArrowDown')
  await tab.keyboard.press('Enter')
  await tab.getByRole('heading', { level: 2, name: /harvest/ }).waitFor()
  await tab.context().close()
})

test('views and conversations are a key away, and ? shows the keys', async () => {
  const tab = await stage.open({ view: 'frames' })
  await tab.keyboard.press('4')
  await until(() => /history/.test(tab.url()), 'the history is shown')
  await tab.keyboard.press('1')
  await until(() => /chat/.test(tab.url()), 'the chat is shown')
  const title = await tab.getByRole('heading', { level: 2 }).first().innerText()
  await tab.keyboard.press(']')
  await until(async () => (await tab.getByRole('heading', { level: 2 }).first().innerText()) !== title, 'another conversation is shown')
  await tab.keyboard.press('?')
  await tab.getByRole('dialog', { name: 'Keys' }).getByText('Undo the newest change').waitFor()
  await tab.keyboard.press('2')
  await tab.waitForTimeout(200)
  assert.match(tab.url(), /chat/, 'keys do nothing behind an open dialog')
  await tab.context().close()
})

test('what is done in one tab is seen in the other at once', async () => {
  const one = await stage.open({ view: 'history' })
  const other = await stage.open({ view: 'history', tab: one })
  const rows = (tab) => tab.locator('[data-commit]')
  for (const tab of [one, other]) await rows(tab).first().waitFor()
  const before = await rows(other).count()
  await one.keyboard.press('Control+z')
  await until(async () => (await rows(other).count()) === before + 1, 'the other tab shows the undo')
  await stage.ctx('delete', 't1')
  for (const tab of [one, other]) await until(async () => (await rows(tab).count()) === before + 2, 'both show what the CLI did')
  await stage.ctx('undo')
  await one.context().close()
})

test('a lost daemon is told, and the page goes on by itself when it is back', async () => {
  const tab = await stage.open({ view: 'history' })
  await tab.getByText('Live', { exact: true }).waitFor()
  await tab.locator('[data-commit]').first().waitFor()
  await stage.stopDaemon()
  await tab.getByText('Reconnecting').waitFor()
  await tab.getByText('The daemon does not respond.').first().waitFor()
  assert.ok(await tab.locator('[data-commit]').first().isVisible(), 'what was known stays on the screen')
  await stage.startDaemon()
  await tab.getByText('Live', { exact: true }).waitFor()
  await tab.getByText('The daemon does not respond.').first().waitFor({ state: 'detached' })
  const before = await tab.locator('[data-commit]').count()
  await stage.ctx('delete', 't4')
  await until(async () => (await tab.locator('[data-commit]').count()) === before + 1, 'changes come in again')
  await stage.ctx('undo')
  await tab.context().close()
})

test('without a conversation the page says what to do first, with the command', async () => {
  const empty = await Stage.start()
  const tab = await empty.open()
  await tab.getByRole('heading', { name: 'No conversation yet' }).waitFor()
  await tab.getByText('ctx run -- claude', { exact: true }).waitFor()
  assert.deepEqual(await complaintsOf(tab), [])
  // The first request brings the page to life.
  await empty.say('SAY: hello')
  await tab.getByRole('heading', { level: 2, name: /hello/ }).waitFor()
  await empty.stop()
})

test('sub-agents stand under their parent', async () => {
  const { session } = stage.client
  await stage.another({ session, headers: { 'x-claude-code-agent-id': 'a1', 'x-claude-code-request-class': 'subagent' } }).say('SAY: I am the HELPER')
  const tab = await stage.open()
  const entry = tab.getByRole('navigation', { name: 'Conversations' }).getByRole('button', { name: /HELPER/ })
  await entry.waitFor()
  assert.equal(await entry.getAttribute('data-depth'), '1')
  await tab.context().close()
})

test('side traffic is counted, hidden until somebody wants to see it, and adds no conversation', async () => {
  const { session } = stage.client
  const aside = stage.another({ session, headers: { 'x-claude-code-request-class': 'auxiliary' } })
  await aside.say('SAY: A title')
  await aside.say('SAY: Another title')
  const tab = await stage.open()
  const list = tab.getByRole('navigation', { name: 'Conversations' })
  const toggle = list.getByRole('button', { name: 'Show side traffic (2 requests)' })
  await toggle.waitFor()
  assert.equal(await list.getByText(/titles, suggestions/).count(), 0)
  await toggle.click()
  await list.getByText(/titles, suggestions/).waitFor()
  await list.getByRole('button', { name: /2 requests, [\d.]+k? tokens/ }).click()
  await tab.getByRole('region', { name: 'History' }).waitFor()
  assert.ok(!(await list.innerText()).includes('A title'))
  await tab.context().close()
})

test('at 480 pixels nothing is wider than the window', async () => {
  for (const view of ['chat', 'frames', 'map', 'history']) {
    const tab = await stage.open({ view, width: 480 })
    await tab.waitForTimeout(300)
    assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), view)
    await tab.context().close()
  }
})
