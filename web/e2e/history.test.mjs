// The history through the page: revert, branch, rollback, names, diff, undo by key; judged by what the provider gets.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, until } from './stage.mjs'

let stage
let page

before(async () => {
  stage = await Stage.start()
  await stage.say('SAY: one ;; FIRST')
  await stage.say('SAY: two ;; SECOND')
  await stage.say('SAY: three ;; THIRD')
  await stage.say('SAY: four ;; FOURTH')
  await stage.ctx('delete', 't2')
  await stage.ctx('delete', 't3')
  page = await stage.open({ view: 'history' })
})

after(async () => {
  // One refusal was asked for: that of the commit that others stand on.
  assert.deepEqual(page?.complaints.filter((words) => !/status of 422/.test(words)), [])
  assert.ok(page.complaints.length <= 1, page.complaints.join())
  await stage.stop()
})

const commit = (words) => page.locator('[data-commit]').filter({ has: page.getByText(new RegExp(`^${words}`)) }).first()
const details = () => page.getByRole('region', { name: 'History' })

/** The next request of the agent, as the provider gets it. */
async function nextBody() {
  await stage.say(`SAY: ok`)
  return stage.sent()
}

async function open(words) {
  const row = commit(words)
  if ((await row.getAttribute('aria-expanded')) !== 'true') await row.click()
}

test('commits and requests stand in one list, the newest first', async () => {
  await commit('delete t3').waitFor()
  const rows = await page.locator('[data-commit]').allInnerTexts()
  assert.equal(rows.length, 2)
  assert.match(rows[0], /delete t3[\s\S]*now/)
  assert.match(rows[1], /delete t2/)
  await page.getByRole('button', { name: /4 requests/ }).waitFor()
})

test('an opened commit shows what it changed', async () => {
  await open('delete t3')
  const diff = page.getByRole('region', { name: 't3: removed' })
  await diff.getByLabel('Changes of t3').getByText('SAY: three ;; THIRD').waitFor()
})

test('a revert says what it would do, and the provider gets the frame again', async () => {
  await open('delete t3')
  const button = details().getByRole('button', { name: 'Revert', exact: true })
  await button.hover()
  await page.getByText(/→ .* tokens/).first().waitFor()
  await button.click()
  await page.getByText(/^Reverted: delete t3/).waitFor()
  await page.locator('[data-off]').filter({ hasText: 'delete t3' }).getByText('reverted', { exact: true }).waitFor()
  const body = await nextBody()
  assert.ok(body.includes('THIRD') && !body.includes('SECOND'))
})

test('ctrl-z takes the newest change back, ctrl-shift-z brings it again', async () => {
  await page.locator('body').click({ position: { x: 700, y: 20 } })
  await page.keyboard.press('Control+z')
  await page.getByText(/^Undone: /).waitFor()
  assert.ok(!(await nextBody()).includes('THIRD'))
  await page.keyboard.press('Control+Shift+z')
  await page.getByText(/^Redone: /).waitFor()
  assert.ok((await nextBody()).includes('THIRD'))
})

test('ctrl-z in a field stays in the field', async () => {
  const { commits } = await stage.ctx('history')
  const field = page.getByRole('textbox', { name: 'Search conversations and text' })
  await field.fill('abc')
  await field.press('Control+z')
  await page.waitForTimeout(300)
  assert.equal((await stage.ctx('history')).commits.length, commits.length)
  await field.fill('')
})

test('going back to a commit switches off what came after', async () => {
  await stage.ctx('delete', 't4')
  await commit('delete t4').waitFor()
  await open('delete t2')
  await details().getByRole('button', { name: 'Roll back to here' }).last().click()
  await page.getByText(/^Rolled back to /).waitFor()
  const body = await nextBody()
  assert.ok(!body.includes('SECOND') && body.includes('THIRD') && body.includes('FOURTH'))
})

test('a commit gets a name', async () => {
  const row = page.locator('li').filter({ has: commit('delete t2') })
  await row.getByRole('button', { name: 'Tag' }).click()
  await page.getByRole('textbox', { name: 'Name of this commit' }).fill('good')
  await page.keyboard.press('Enter')
  await commit('delete t2').getByText('good').waitFor()
  assert.deepEqual((await stage.ctx('tag')).tags.map(({ name }) => name), ['good'])
})

test('a branch from a commit, another edit there, and back again', async () => {
  const row = page.locator('li').filter({ has: commit('delete t2') })
  await row.getByRole('button', { name: 'Branch from here' }).click()
  await page.getByRole('textbox', { name: 'Name of the new branch' }).fill('trial')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: /^branch.trial$/ }).waitFor()
  await stage.ctx('delete', 't1')
  await commit('delete t1').waitFor()
  assert.ok(!(await nextBody()).includes('FIRST'))

  await page.getByRole('button', { name: /^branch.trial$/ }).click()
  await page.getByRole('menuitem', { name: /^main/ }).click()
  await page.getByRole('button', { name: /^branch.main$/ }).waitFor()
  assert.ok((await nextBody()).includes('FIRST'))
  // What was done on the other branch is still in the picture, and leads there.
  await open('delete t1')
  await page.getByRole('button', { name: 'Go to branch trial' }).waitFor()
})

test('a commit that others stand on names them, and takes them along when told to', async () => {
  await stage.ctx('add', '--text', 'ADDED words', '--end')
  const { frames } = await stage.ctx('list')
  const added = frames.at(-1).id
  await stage.ctx('edit', added, '--text', 'CHANGED words')
  await commit(`edit ${added}`).waitFor()
  assert.ok((await nextBody()).includes('CHANGED'))
  await commit('add').click()
  const row = page.locator('li').filter({ has: commit('add') })
  await row.getByRole('button', { name: 'Revert', exact: true }).click()
  const refusal = row.getByRole('alert')
  await refusal.getByText(/Later commits depend on this one: .*edit/).waitFor()
  await refusal.getByRole('button', { name: 'Revert them too' }).click()
  await page.locator('[data-off]').filter({ hasText: `edit ${added}` }).waitFor()
  const body = await nextBody()
  assert.ok(!body.includes('CHANGED') && !body.includes('ADDED'))
})

test('filters by frame, kind and author', async () => {
  const rows = () => page.locator('[data-commit]').allInnerTexts()
  const requests = () => page.locator('li[data-kind=exchange], li[data-kind=run]').count()
  const all = await requests()
  await page.getByLabel('Frame', { exact: true }).selectOption('t4')
  await until(async () => (await rows()).every((row) => /t4|Went|roll/.test(row)), 'only commits of t4 are shown')
  assert.equal(await requests(), 1, 'the request that t4 was asked with stands among them')
  await page.getByText('Requests', { exact: true }).click()
  await until(async () => (await rows()).length === 0, 'only requests are shown')
  assert.equal(await requests(), 1)
  await page.getByText('Everything', { exact: true }).click()
  assert.ok(all > 1)
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.getByLabel('Kind').selectOption('rollback')
  await until(async () => (await rows()).length === 1, 'only the rollback is shown')
  await page.getByLabel('Kind').selectOption('')
  await page.getByLabel('Author').selectOption('ui')
  await until(async () => (await rows()).every((row) => /\bui\b/.test(row)), 'only the commits of the page are shown')
  await page.getByLabel('Author').selectOption('')
})

test('what a policy did is marked as such', async () => {
  await stage.api('conversations/active/operations', { author: 'policy', note: 'large results', operations: [{ op: 'pin', ids: ['t1'] }] })
  const row = page.locator('[data-commit]').filter({ hasText: 'pin t1' })
  await row.getByText('policy', { exact: true }).first().waitFor()
  assert.equal(await row.getByText('policy', { exact: true }).count(), 2, 'a mark, and the author')
  await row.getByText('large results').waitFor()
  await page.getByLabel('Author').selectOption('policy')
  await until(async () => (await page.locator('[data-commit]').count()) === 1, 'only that one is shown')
  await page.getByLabel('Author').selectOption('')
  await stage.ctx('undo')
})

test('the list holds the beginning of a long edit only; opened, a commit shows all of it', async () => {
  const answers = []
  const told = async (response) => {
    if (/\/(history|timeline)\?/.test(response.url())) answers.push(await response.text().catch(() => ''))
  }
  page.on('response', told)
  await stage.ctx('edit', 't1#0', '--text', `BEGINNING ${'words and words '.repeat(2000)} THE-END`)
  await commit('edit t1#0').waitFor()
  await until(() => answers.filter((text) => text.includes('BEGINNING')).length >= 2, 'both were asked again')
  page.off('response', told)
  assert.ok(answers.every((text) => !text.includes('THE-END')))
  await open('edit t1#0')
  await page.getByRole('region', { name: /^t1/ }).getByText('BEGINNING').first().waitFor()
  await stage.ctx('undo')
})

test('a failed request is told in words', async () => {
  await stage.say('FAIL:529:1:Overloaded').catch(() => undefined)
  await page.getByText('overloaded_error: Overloaded').waitFor()
})

test('rows are reached and opened by keys alone', async () => {
  await page.locator('body').click({ position: { x: 700, y: 20 } })
  await page.keyboard.press('Home')
  const first = page.locator('[data-row]').first()
  await until(() => first.evaluate((row) => row === document.activeElement), 'the first row has the focus')
  await page.keyboard.press('ArrowDown')
  assert.ok(!(await first.evaluate((row) => row === document.activeElement)))
})
