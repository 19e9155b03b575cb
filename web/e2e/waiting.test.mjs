// Changes that wait for their moment: deferred, seen, made and taken back through the page; judged by what the provider
// receives.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Stage, until } from './stage.mjs'

const SECONDS = 15

const settings = mkdtempSync(join(tmpdir(), 'ctx-e2e-settings-'))
let stage
before(async () => {
  const config = join(settings, 'ctx.toml')
  writeFileSync(config, `[edits]\nnear_limit_percent = 5\ncache_seconds = ${SECONDS}\n`)
  stage = await Stage.start({ ctx: ['--config', config] })
})
after(async () => {
  await stage.stop()
  rmSync(settings, { recursive: true })
})

/** A conversation of three turns or more, and the page on it. */
async function scene(turns = ['SAY:first answer', 'SAY:second answer', 'SAY:third answer']) {
  const client = stage.another()
  for (const turn of turns) await client.say(turn)
  const { id } = await until(async () => (await stage.ctx('conversations')).conversations.find(({ session }) => session === client.session), 'it is listed')
  const page = await stage.open({ hash: `#/${id}/frames` })
  await row(page, 't3').waitFor()
  /** What the provider gets with the next turn. */
  const next = async (words = 'SAY:more') => {
    await client.say(words)
    return JSON.stringify(stage.received().messages)
  }
  return { client, id, page, next }
}

const row = (page, id) => page.locator(`[id="row-${id}"]`)
const form = (page) => page.locator('form')
const waiting = (page) => page.getByLabel('Deferred edits')
const choose = (page, id) => row(page, id).getByLabel(`Select ${id}`).click()

async function unharmed(page) {
  assert.deepEqual(page.complaints, [])
  await page.context().close()
}

test('a change waits until the cache is cold, and is made by itself then', async () => {
  const { page, next } = await scene()
  await choose(page, 't1')
  // The cache is warm for some seconds from here on.
  await next()
  await page.keyboard.press('Delete')
  await form(page).getByLabel('When to apply it').selectOption('cold')
  await form(page).getByTestId('price').getByText('no extra re-read').waitFor()
  await form(page).getByRole('button', { name: 'Delete later' }).click()
  await form(page).waitFor({ state: 'detached' })
  await waiting(page).getByText('1 deferred edit').waitFor()
  assert.match(await waiting(page).innerText(), /Delete t1[\s\S]*Waits until the cache is cold/)
  await row(page, 't1').getByText('delete when cold').waitFor()
  assert.ok((await next()).includes('first answer'), 'nothing has changed yet')

  await row(page, 't1').getByText('deleted', { exact: true }).waitFor({ timeout: (SECONDS + 20) * 1000 })
  await waiting(page).waitFor({ state: 'detached' })
  const body = await next()
  assert.ok(!body.includes('first answer') && body.includes('second answer'))
  await unharmed(page)
})

test('the tray waits for the limit, over a reload; the request that nears it has the changes', async () => {
  const { page, next } = await scene()
  for (const id of ['t1', 't2']) {
    await choose(page, id)
    await page.keyboard.press('Delete')
    await form(page).getByRole('button', { name: 'Add to tray' }).click()
  }
  const tray = page.getByLabel('Staged operations')
  await tray.getByLabel('When to apply it').selectOption('near-limit')
  await page.reload()
  assert.equal(await tray.getByLabel('When to apply it').inputValue(), 'near-limit')
  await tray.getByRole('button', { name: /Apply all later/ }).click()
  await tray.waitFor({ state: 'detached' })
  assert.match(await waiting(page).innerText(), /Delete t1[\s\S]*Delete t2[\s\S]*nears the limit/)

  const before = await next()
  assert.ok(before.includes('first answer') && before.includes('second answer'))
  const near = await next(`SAY:much read ${'and so much more of it '.repeat(15_000)}`)
  assert.ok(!near.includes('first answer') && !near.includes('second answer') && near.includes('third answer'))
  await row(page, 't2').getByText('deleted', { exact: true }).waitFor()
  await waiting(page).waitFor({ state: 'detached' })
  await unharmed(page)
})

test('what waits is seen live, in the history too, and can be taken back there and here', async () => {
  const { id, page, next } = await scene()
  const other = await stage.open({ hash: `#/${id}/history` })
  await stage.ctx('delete', 't1', '--when', 'near-limit', '--conv', id)
  await stage.ctx('delete', 't2', '--when', 'near-limit', '--conv', id)
  await waiting(page).getByText('2 deferred edits').waitFor()

  await waiting(page).getByRole('button', { name: 'Cancel w1' }).click()
  await waiting(page).getByText('1 deferred edit').waitFor()
  const history = other.getByLabel('History', { exact: true })
  await history.getByText('cancelled', { exact: true }).waitFor()
  await history.getByRole('button', { name: 'Cancel w2' }).click()
  await waiting(page).waitFor({ state: 'detached' })
  await until(async () => (await history.getByText('cancelled', { exact: true }).count()) === 2, 'both are told to be cancelled')

  const near = await next(`SAY:much read ${'and so much more of it '.repeat(15_000)}`)
  assert.ok(near.includes('first answer') && near.includes('second answer'), 'nothing was made')
  for (const one of [page, other]) await unharmed(one)
})

test('a change that does not fit any more says why, and is put away', async () => {
  const { client, id, page, next } = await scene()
  await stage.ctx('delete', 't2', '--when', 'near-limit', '--conv', id)
  await waiting(page).getByText('1 deferred edit').waitFor()
  // The agent goes another way: what was named is not there any more.
  client.messages.splice(2)
  await next('SAY:another way')
  await next(`SAY:much read ${'and so much more of it '.repeat(15_000)}`)
  await waiting(page).getByText(/Not applied: /).waitFor()
  await waiting(page).getByRole('button', { name: 'Dismiss w1' }).click()
  await waiting(page).waitFor({ state: 'detached' })
  await unharmed(page)
})

/** Four turns and three proposals: two clear what was read, one by another author deletes. */
async function proposed() {
  const reads = ['first', 'second'].map((name) => `USE_TOOL:Read:${name}.rs ;; THEN ;; SAY:${name} answer`)
  const shown = await scene([...reads, 'SAY:third answer', 'SAY:fourth answer'])
  const propose = (operation, author = 'policy', note = null) =>
    stage.api(`conversations/${shown.id}/operations`, { operations: [operation], author, note, when: 'accepted' })
  await propose({ op: 'summarize-results', ids: ['t1'], text: 'the first file is short' })
  await propose({ op: 'summarize-results', ids: ['t2'], text: 'the second file is short' })
  await waiting(shown.page).getByText(/^2 proposals of the automatic editor/).waitFor()
  await propose({ op: 'delete', ids: ['t3'] }, 'agent', 'not needed any more')
  await waiting(shown.page).getByText(/^3 proposals(?! of)/).waitFor()
  const commits = async () => (await stage.ctx('history', '--conv', shown.id)).commits
  return { ...shown, propose, commits }
}

const ALL = ['content of first.rs', 'content of second.rs', 'third answer', 'fourth answer']
const found = (body, words) => words.filter((word) => body.includes(word))

test('“Accept all” makes every proposal a commit, and the next edit of this page is not a stale one', async () => {
  const { page, next, commits } = await proposed()
  const words = await waiting(page).innerText()
  assert.match(words, /Clear 1 result\s+t1/)
  assert.match(words, /Clear 1 result\s+t2/)
  assert.match(words, /Delete\s+t3[\s\S]*agent[\s\S]*not needed any more/i)
  assert.deepEqual(found(await next(), ALL), ALL, 'nothing has changed yet')

  await choose(page, 't4')
  // The frames on the screen stay as they are for a while, as they do on a slow machine.
  let release
  const held = new Promise((done) => (release = done))
  await page.route(/\/frames(\?|$)/, (route) => held.then(() => route.continue()))
  await waiting(page).getByRole('button', { name: 'Accept all' }).click()
  await page.getByText('Accepted 3 proposals', { exact: true }).waitFor()
  assert.equal((await commits()).length, 3)
  assert.ok((await commits()).every(({ note }) => note.endsWith('accepted by ui')))
  await page.keyboard.press('p')
  await page.getByText(/^Done: pin t4/).waitFor()
  release()

  await waiting(page).waitFor({ state: 'detached' })
  await row(page, 't3').getByText('deleted', { exact: true }).waitFor()
  const body = await next()
  assert.deepEqual(found(body, ALL), ['fourth answer'])
  assert.deepEqual(found(body, ['the first file is short', 'the second file is short']).length, 2)
  await unharmed(page)
})

test('“Accept all” says which proposal does not fit any more, and makes the others', async () => {
  const { page, next, propose, commits } = await proposed()
  await propose({ op: 'delete', ids: ['t3'] }, 'agent')
  await waiting(page).getByText(/^4 proposals/).waitFor()
  await waiting(page).getByRole('button', { name: 'Accept all' }).click()
  await page.getByText('Accepted 3 proposals', { exact: true }).waitFor()
  await page.getByText(/^w4 is unchanged: /).waitFor()
  await waiting(page).getByText(/^1 proposal$/).waitFor()
  assert.equal((await commits()).length, 3)
  assert.deepEqual(found(await next(), ALL), ['fourth answer'])
  await unharmed(page)
})

test('“Decline all” changes nothing', async () => {
  const { page, next, commits } = await proposed()
  await waiting(page).getByRole('button', { name: 'Decline all' }).click()
  await page.getByText('Declined 3 proposals', { exact: true }).waitFor()
  await waiting(page).waitFor({ state: 'detached' })
  assert.deepEqual(await commits(), [])
  assert.deepEqual(found(await next(), ALL), ALL)
  await unharmed(page)
})
