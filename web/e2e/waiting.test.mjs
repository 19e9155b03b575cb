// Changes that wait for their moment: wished, seen, made and taken back through the page; judged by what the provider
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

/** A conversation of three turns, and the page on it. */
async function scene() {
  const client = stage.another()
  await client.say('SAY:first answer')
  await client.say('SAY:second answer')
  await client.say('SAY:third answer')
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
const waiting = (page) => page.getByLabel('Waiting changes')
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
  await form(page).getByLabel('When it is made').selectOption('cold')
  await form(page).getByTestId('price').getByText('nothing re-read for it').waitFor()
  await form(page).getByRole('button', { name: 'Delete later' }).click()
  await form(page).waitFor({ state: 'detached' })
  await waiting(page).getByText('1 change waiting').waitFor()
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
  await tray.getByLabel('When it is made').selectOption('near-limit')
  await page.reload()
  assert.equal(await tray.getByLabel('When it is made').inputValue(), 'near-limit')
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
  await waiting(page).getByText('2 changes waiting').waitFor()

  await waiting(page).getByRole('button', { name: 'Cancel w1' }).click()
  await waiting(page).getByText('1 change waiting').waitFor()
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
  await waiting(page).getByText('1 change waiting').waitFor()
  // The agent goes another way: what was named is not there any more.
  client.messages.splice(2)
  await next('SAY:another way')
  await next(`SAY:much read ${'and so much more of it '.repeat(15_000)}`)
  await waiting(page).getByText(/Not applied: /).waitFor()
  await waiting(page).getByRole('button', { name: 'Dismiss w1' }).click()
  await waiting(page).waitFor({ state: 'detached' })
  await unharmed(page)
})
