// Within reach: frames that the agent has left behind, bodies that really left, rules by their numbers, settings that wait
// for trust, and what is worth removing.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Stage, until } from './stage.mjs'

let stage
before(async () => (stage = await Stage.start()))
after(() => stage.stop())

const row = (page, id) => page.locator(`[id="row-${id}"]`)
const form = (page) => page.locator('form')

async function idOf(client) {
  const { conversations } = await stage.ctx('conversations')
  return conversations.find(({ session }) => session === client.session).id
}

/** The agent summarises its history and goes on. */
async function compact(client) {
  const summary = 'This session is being continued from a previous conversation that ran out of context.\nThe user wanted a parser.\n'
  client.messages = [{ role: 'user', content: [{ type: 'text', text: summary }, { type: 'text', text: 'Go on\nSAY:going on' }] }]
  const answer = await client.send()
  client.messages.push({ role: 'assistant', content: answer.content })
}

test('frames from before a compaction are listed, found, read and brought back', async () => {
  const client = stage.another()
  await client.say('first task: the parser\nSAY:fixed')
  await client.say('second task: the zebra\nSAY:striped')
  await compact(client)
  const id = await idOf(client)
  const page = await stage.open({ hash: `#/${id}/frames` })
  const left = page.getByRole('region', { name: 'Frames no longer sent' })
  await left.getByText(/2 frames from before a compaction/).click()
  await left.getByText(/second task/).click()
  const panel = page.getByRole('complementary')
  await panel.getByText('striped').first().waitFor()
  await panel.getByText('before compaction').first().waitFor()
  await page.getByLabel('Search conversations and text').fill('zebra')
  await page.getByRole('region', { name: 'In the text' }).getByText('before compaction').first().waitFor()
  await left.getByRole('checkbox').nth(1).click()
  await left.getByRole('button', { name: /^Restore .*…/ }).click()
  await form(page).getByTestId('price').waitFor()
  await form(page).getByRole('button', { name: /Import now/ }).click()
  await form(page).waitFor({ state: 'detached' })
  await client.say('more\nSAY:more')
  assert.ok(stage.sent().includes('striped'), 'the provider gets it again')
  assert.deepEqual(page.complaints, [])
  await page.context().close()
})

test('every request has its number, and the body that really left', async () => {
  const client = stage.another()
  await client.say('one\nSAY:first answer')
  await client.say('two\nSAY:second answer')
  const id = await idOf(client)
  await stage.ctx('edit', 't1#0', '--text', 'SAID OTHERWISE', '--conv', id)
  await client.say('three\nSAY:third answer')
  const sent = stage.received()
  const page = await stage.open({ hash: `#/${id}/history` })
  const runs = page.locator('[data-row=run][aria-expanded=false]')
  await page.getByRole('region', { name: 'History' }).waitFor()
  while ((await runs.count()) > 0) await runs.first().click()
  await page.getByRole('button', { name: 'r3', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: /Request r3/ })
  const body = dialog.getByRole('region', { name: 'Sent body' })
  await body.getByText('SAID OTHERWISE').first().waitFor()
  await dialog.getByText('edited', { exact: true }).waitFor()
  const shown = (await stage.api(`conversations/${id}/requests/r3/body`)).messages
  assert.deepEqual(shown, sent.messages)
  assert.deepEqual(page.complaints, [])
  await page.context().close()
})

test('a rule says what it means where it is named', async () => {
  const client = stage.another()
  for (const word of ['one', 'two', 'three']) await client.say(`${word}\nTHINK:let me ;; USE_TOOL:Bash:ls ;;THEN;; THINK:good ;; SAY:done`)
  const id = await idOf(client)
  await stage.ctx('edit', 't1#0', '--text', 'other words', '--conv', id)
  const page = await stage.open({ hash: `#/${id}/frames/t2` })
  const panel = page.getByRole('complementary')
  await panel.getByRole('button', { name: /^Not sent/ }).first().click()
  await panel.getByRole('button', { name: /^A\d+$/ }).first().click()
  const term = page.getByRole('dialog', { name: /^Rule A\d+/ })
  await term.getByText(/thinking/i).first().waitFor()
  assert.deepEqual(page.complaints, [])
  await page.context().close()
})

test('settings of a project that wait for trust are listed, with the command', async () => {
  const folder = join(stage.folder, 'project')
  mkdirSync(folder)
  writeFileSync(join(folder, 'ctx.toml'), '[context_editing]\nmode = "on"\n', { mode: 0o600 })
  const client = stage.another({ system: `You help.\nWorking directory: ${folder}\n` })
  await client.say('hello\nSAY:hi')
  const page = await stage.open({ hash: `#/${await idOf(client)}/frames` })
  const notice = page.getByRole('status', { name: 'Settings that need your trust' })
  await notice.getByText('context_editing.mode').waitFor()
  await notice.getByText(`ctx trust ${folder}`).waitFor()
  await notice.getByRole('button', { name: 'Dismiss' }).click()
  await notice.waitFor({ state: 'detached' })
  await page.context().close()
})

test('the first line on Frames says what is worth removing with its price, and a review opens the plan in the tray', async () => {
  const client = stage.another()
  const big = (words) => Array.from({ length: 400 }, (_, line) => `${words} line ${line} of a long file`).join('\n')
  for (const word of ['one', 'two', 'three']) await client.say(`${word}\nUSE_TOOL:Read:src/same.rs ;;THEN;; SAY:done`, { results: { Read: big(word) } })
  for (const word of ['four', 'five', 'six']) await client.say(`${word}\nUSE_TOOL:Bash:ls ;;THEN;; SAY:ok`)
  const page = await stage.open({ hash: `#/${await idOf(client)}/frames` })
  const line = page.getByRole('note', { name: 'Worth removing' })
  await line.getByText(/\d+\s?% of this context is stale or superseded: removing it saves [\d,]+ tokens per turn, costs/).waitFor()
  await line.getByRole('button', { name: 'Review' }).click()
  const tray = page.getByLabel('Staged operations')
  await tray.getByTestId('price').waitFor()
  await line.getByText('In the tray').waitFor()
  await tray.getByRole('button', { name: /^Apply/ }).click()
  await line.waitFor({ state: 'detached' })
  await client.say('more\nSAY:more')
  assert.ok(!stage.sent().includes('one line 10 of a long file'), 'what was read again later is gone')
  assert.deepEqual(page.complaints, [])
  await page.context().close()
})
