// What the page says about what happened: offers that still work, refusals about the page, and nothing covered.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, until } from './stage.mjs'

let stage
before(async () => (stage = await Stage.start()))
after(() => stage.stop())

const row = (page, id) => page.locator(`[id="row-${id}"]`)
const form = (page) => page.locator('form')
const tray = (page) => page.getByLabel('Staged operations')
const told = (page) => page.getByRole('log', { name: 'Notices' })

async function scene() {
  const client = stage.another()
  for (const word of ['first', 'second', 'third', 'fourth', 'fifth']) await client.say(`${word} task\nSAY:${word} answer`)
  const { conversations } = await stage.ctx('conversations')
  const { id } = conversations.find(({ session }) => session === client.session)
  const page = await stage.open({ hash: `#/${id}/frames` })
  await row(page, 't5').waitFor()
  return { page, id, client }
}

async function toTray(page, id, key) {
  await row(page, id).getByRole('checkbox').click()
  await page.keyboard.press(key)
  await form(page).getByTestId('price').waitFor()
  await form(page).getByRole('button', { name: 'Add to tray' }).click()
  await form(page).waitFor({ state: 'detached' })
}

test('“Add to tray” clears the selection: the next operation is about other rows', async () => {
  const { page } = await scene()
  await toTray(page, 't2', 'Delete')
  assert.equal(await page.locator('[role=treeitem][aria-selected=true]').count(), 0)
  await toTray(page, 't5', 'o')
  const items = await tray(page).getByRole('listitem').allInnerTexts()
  assert.match(items[0], /Delete\s+t2/)
  assert.match(items[1], /Offload\s+t5/)
  await tray(page).getByTestId('price').waitFor()
  await tray(page).getByRole('button', { name: /^Apply all/ }).click()
  await row(page, 't2').getByText('deleted', { exact: true }).waitFor()
  await row(page, 't5').getByText('offloaded', { exact: true }).waitFor()
  await page.context().close()
})

test('operations of the tray that are in each other’s way are told by number, without a command', async () => {
  const { page } = await scene()
  await toTray(page, 't2', 'Delete')
  await toTray(page, 't2', 'c')
  const alert = tray(page).getByRole('alert')
  await alert.waitFor()
  const words = await alert.innerText()
  assert.match(words, /Operations 1 \(Delete\) and 2 \(Compact\) both change t2/)
  assert.doesNotMatch(words, /ctx /)
  await page.context().close()
})

test('the offer to undo goes with the undo, whoever undoes', async () => {
  const { page, id } = await scene()
  const remove = async (frame) => {
    await row(page, frame).getByRole('checkbox').click()
    await page.keyboard.press('Delete')
    await form(page).getByTestId('price').waitFor()
    await page.keyboard.press('Control+Enter')
    await told(page).getByText(new RegExp(`Done: delete ${frame}`)).waitFor()
  }
  await remove('t2')
  await page.keyboard.press('Control+z')
  await told(page).getByText(/^Undone/).waitFor()
  assert.equal(await told(page).getByText(/^Done/).count(), 0)
  await page.getByRole('button', { name: 'Deselect all' }).click()
  await remove('t3')
  await stage.ctx('undo', '--conv', id)
  await until(async () => (await told(page).getByText(/^Done/).count()) === 0, 'the offer is gone')
  assert.deepEqual(page.complaints, [])
  await page.context().close()
})

test('an edit tells which requests left without it, and what it costs', async () => {
  const { page, client } = await scene()
  client.messages.push({ role: 'user', content: 'sixth task\nSAY:sixth answer' })
  const finish = client.upload()
  await until(async () => (await stage.api('status')).requests.in_flight > 0, 'the request is being uploaded')
  await row(page, 't2').getByRole('checkbox').click()
  await page.keyboard.press('Delete')
  await form(page).getByTestId('price').waitFor()
  await page.keyboard.press('Control+Enter')
  await told(page).getByText(/^Done: delete t2/).waitFor()
  await told(page).getByText('1 request was already sent without this edit; the next one includes it', { exact: true }).waitFor()
  await told(page).getByText(/^the provider re-reads [\d,]+ tokens once; the first change is in t[23]$/).waitFor()

  const answer = await finish()
  assert.ok(stage.sent().includes('second answer'), 'it left as it began')
  client.messages.push({ role: 'assistant', content: answer.content })
  await client.say('seventh task\nSAY:seventh answer')
  assert.ok(!stage.sent().includes('second answer'), 'the next one has the edit')
  assert.deepEqual(page.complaints, [])
  await page.context().close()
})

test('a notice covers neither the conversations nor the frames', async () => {
  const { page } = await scene()
  await row(page, 't1').getByRole('checkbox').click()
  await page.keyboard.press('p')
  const notice = told(page).getByText(/^Done/)
  await notice.waitFor()
  const { y: top } = await told(page).boundingBox()
  for (const part of [page.getByRole('navigation', { name: 'Conversations' }), page.getByRole('main')]) {
    const { y, height } = await part.boundingBox()
    assert.ok(y + height <= top + 1, 'it stands below')
  }
  await page.context().close()
})

test('a cancelled request is not a failure, and the footer says which requests ended how', async () => {
  const client = stage.another()
  await client.say('to be cancelled\nSAY:fine')
  client.messages.push({ role: 'user', content: 'DELAY:15 ;; SAY:never' })
  const leave = new AbortController()
  const request = client.send({ signal: leave.signal }).catch(() => undefined)
  await until(async () => (await stage.api('status')).requests.in_flight > 0, 'the request is under way')
  leave.abort()
  await request
  await until(async () => (await stage.api('status')).requests.cancelled === 1, 'it is counted as cancelled')
  const page = await stage.open()
  const footer = page.getByRole('contentinfo')
  await footer.getByText('1 cancelled').click()
  assert.equal(await footer.getByText(/failed/).count(), 0)
  const listed = page.getByRole('dialog', { name: 'Incomplete requests' })
  await listed.getByText('r2').waitFor()
  await listed.getByText('cancelled by the client').click()
  await until(() => page.url().includes('/history'), 'the history is shown')
  await page.context().close()
})
