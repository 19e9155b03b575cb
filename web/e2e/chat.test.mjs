// The chat: what the model sees, what the agent believes, both side by side; live, and quick when it is long.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, until } from './stage.mjs'

let stage
before(async () => {
  stage = await Stage.start()
  await stage.say('', { content: [{ type: 'text', text: '<system-reminder>\nUse tabs.\n</system-reminder>' }, { type: 'text', text: 'First question\nTHINK:Let me think;;SAY:I look.;;USE_TOOL:Read:src/a.rs;;THEN;;USE_TOOL:Bash:cargo test;;THEN;;SAY:First answer' }] })
  await stage.say('Second question\nSAY:Second answer')
  await stage.say('Third question\nUSE_TOOL:Grep:needle;;THEN;;SAY:Third answer')
  await stage.say('Fourth question\nSAY:Fourth answer')
})
after(() => stage.stop())

const messages = (page) => page.getByRole('log', { name: 'Messages' })
const words = async (page) => (await messages(page).innerText()).replaceAll('\n', ' ')
const top = (page) => messages(page).evaluate((list) => (list.scrollTop = 0))

test('the chat shows what is sent: words, thinking, calls with the size of their results, reminders', async () => {
  const page = await stage.open({ view: 'chat' })
  await messages(page).getByText('Fourth answer', { exact: true }).waitFor()
  await top(page)
  await messages(page).getByText('First answer', { exact: true }).waitFor()
  const shown = await words(page)
  for (const part of ['Injected reminder Use tabs.', 'Thinking Let me think', 'I look.', 'Read src/a.rs', 'Bash cargo test']) {
    assert.ok(shown.includes(part), `${part} is not in ${shown}`)
  }
  assert.match(shown, /Read src\/a\.rs 2\.\d KB/)
  assert.ok(!shown.includes('content of src/a.rs'), 'a result is folded')
  await messages(page).getByRole('button', { name: /Read src\/a\.rs/ }).click()
  await messages(page).getByText('content of src/a.rs').waitFor()
  // Folded and unfolded stays as it was left, also when it was out of sight.
  await page.getByRole('button', { name: 'Jump to the newest' }).click()
  await messages(page).getByText('Fourth answer', { exact: true }).waitFor()
  await top(page)
  await messages(page).getByText('content of src/a.rs').waitFor()
  assert.deepEqual(page.complaints, [])
  await page.close()
})

test('a click opens the frame or the step in the panel, and the address knows it', async () => {
  const page = await stage.open({ view: 'chat' })
  await messages(page).getByText('Second answer', { exact: true }).click()
  await page.getByRole('complementary').getByText('t2#1').waitFor()
  assert.match(page.url(), /chat\/t2%2F1$/)
  await messages(page).getByRole('button', { name: 'Open t3' }).click()
  await page.getByRole('complementary').getByText('t3#0').waitFor()
  await page.close()
})

test('edits are marked where they are, and the other side is one click away', async () => {
  await stage.ctx('edit', 't2#0', '--text', 'Another second question')
  await stage.ctx('delete', 't4')
  await stage.ctx('drop-results', 't3/1')
  await stage.ctx('add', '--text', 'An added remark', '--after', 't1')
  await stage.ctx('compact', 't1/1..2', '--text', 'Read and tested.')
  const page = await stage.open({ view: 'chat' })
  await messages(page).getByText('Third answer', { exact: true }).waitFor()
  await top(page)
  await messages(page).getByText('Another second question').waitFor()
  const shown = await words(page)
  assert.match(shown, /t1 compacted/)
  assert.match(shown, /Read and tested\./)
  assert.match(shown, /a1 added/)
  assert.match(shown, /An added remark/)
  assert.match(shown, /Replaced 1 block: Second question/)
  assert.match(shown, /Grep result replaced needle/)
  assert.match(shown, /t4 Fourth question.* deleted/)
  assert.equal(await messages(page).getByText('Fourth answer', { exact: true }).count(), 0, 'what is deleted is a line only')

  await page.getByText('As the agent sees it').click()
  await messages(page).getByText('Fourth answer', { exact: true }).waitFor()
  await top(page)
  await messages(page).getByText('Second question', { exact: false }).first().waitFor()
  const believed = await words(page)
  assert.ok(!believed.includes('An added remark') && !believed.includes('Another second question'), believed)

  await page.getByText('Side by side').click()
  const row = messages(page).locator('[data-index]', { hasText: 'Another second question' })
  await row.getByText('Second question', { exact: false }).last().waitFor()
  const [left, right] = await Promise.all(
    [row.getByText('Another second question'), row.getByText(/^Second question/)].map((one) => one.boundingBox()),
  )
  assert.ok(left.x + left.width <= right.x + 1 && Math.abs(left.y - right.y) < 60, 'they stand beside each other')
  await top(page)
  await messages(page).getByText('added; not in the agent’s version').waitFor()
  assert.deepEqual(page.complaints, [])
  await page.close()
  await stage.ctx('rollback', 'source')
})

test('a moved frame stands at both of its places', async () => {
  await stage.ctx('move', 't3', '--after', 't1')
  const page = await stage.open({ view: 'chat' })
  await page.getByText('Side by side').click()
  await messages(page).getByText('t3', { exact: true }).first().waitFor()
  assert.equal(await messages(page).getByRole('button', { name: 'Open t3' }).count(), 2)
  await page.close()
  await stage.ctx('undo')
})

test('an operation begins with a right click or a key, and reaches the provider', async () => {
  const page = await stage.open({ view: 'chat' })
  await messages(page).getByText('Second answer', { exact: true }).click({ button: 'right' })
  await page.getByRole('menuitem', { name: /^Delete/ }).click()
  await page.getByRole('button', { name: 'Delete now' }).click()
  await messages(page).getByText('t2/1').waitFor()
  await stage.say('After the delete\nSAY:Yes')
  assert.ok(!stage.received().messages.some(({ content }) => JSON.stringify(content).includes('"Second answer"')))

  await messages(page).getByRole('button', { name: 'Open t3' }).click()
  await page.getByRole('complementary').getByText('t3#0').waitFor()
  await page.keyboard.press('Delete')
  await page.getByRole('button', { name: 'Delete now' }).click()
  await messages(page).getByRole('button', { name: 'Unfold t3' }).waitFor()
  await stage.say('After another\nSAY:Yes')
  assert.ok(!stage.sent().includes('Third question'))

  // As it was before the second: that is told, and cannot be mistaken for now.
  const [, first] = (await stage.ctx('history')).commits
  await page.evaluate((at) => (location.hash = `#/active/chat/t3?at=${at}`), first.id)
  await page.getByText('As sent after').waitFor()
  await messages(page).getByText('Third answer', { exact: true }).waitFor()
  assert.equal(await page.getByRole('complementary').getByRole('button', { name: 'Edit t3#0' }).count(), 0)
  await page.getByRole('button', { name: 'Back to now' }).click()
  await messages(page).getByText('Third answer', { exact: true }).waitFor({ state: 'detached' })
  assert.deepEqual(page.complaints, [])
  await page.close()
  await stage.ctx('rollback', 'source')
})

test('a new turn and an edit from elsewhere appear at the end without a reload', async () => {
  const page = await stage.open({ view: 'chat' })
  await messages(page).getByText('Fourth answer', { exact: true }).waitFor()
  await stage.say('A late question\nSAY:A late answer')
  await messages(page).getByText('A late answer', { exact: true }).waitFor()
  await until(() => messages(page).evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight < 4), 'the end is in sight')
  const late = (await stage.ctx('list')).frames.at(-1).id
  await stage.ctx('edit', `${late}#0`, '--text', 'Changed by somebody else')
  await messages(page).getByText('Changed by somebody else').waitFor()

  await top(page)
  await messages(page).getByText('First question', { exact: false }).first().waitFor()
  await stage.say('Sixth question\nSAY:Sixth answer')
  await page.waitForTimeout(600)
  assert.ok((await messages(page).evaluate((list) => list.scrollTop)) < 40, 'whoever reads above is left in peace')
  await page.getByRole('button', { name: 'New messages below' }).click()
  await messages(page).getByText('Sixth answer', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'New messages below' }).waitFor({ state: 'detached' })
  await page.close()
})

test('a reply is shown while it is written, and the message takes its place', async () => {
  const page = await stage.open({ view: 'chat' })
  await messages(page).waitFor()
  const growing = page.getByRole('group', { name: 'Reply being written' })
  const words = Array.from({ length: 40 }, (_, index) => `word${index}`).join(' ')
  const said = stage.say(`A slow question\nSLOW:0.25;;THINK:Let me think slowly;;SAY:${words}`, { stream: true })
  await growing.waitFor()
  const lengths = new Set()
  await until(async () => {
    if ((await growing.count()) > 0) lengths.add((await growing.innerText().catch(() => '')).length)
    return lengths.size > 3
  }, 'it has grown a few times')
  assert.ok(!(await growing.innerText().catch(() => '')).includes('Not all of it'), 'nothing is missing')
  await said
  await messages(page).getByText(words, { exact: true }).waitFor()
  await growing.waitFor({ state: 'detached' })
  assert.equal(await messages(page).getByText(words, { exact: true }).count(), 1)
  assert.deepEqual(page.complaints, [])
  await page.close()
})

test('whatever was done, the chat reads in the order in which it is sent', async () => {
  const client = stage.another()
  for (const name of ['One', 'Two', 'Three', 'Four', 'Five', 'Six']) {
    await client.say(`Asked${name}\nSAY:Look${name};;USE_TOOL:Read:src/${name}.rs;;THEN;;SAY:More${name};;USE_TOOL:Bash:${name};;THEN;;SAY:Said${name}`)
  }
  // Long enough to be fetched in pieces.
  const steps = Array.from('abcdefghijklmnopqrstuvwxyz', (letter) => `SAY:LookL${letter};;USE_TOOL:Read:${letter}`)
  await client.say(`AskedLong\n${steps.join(';;THEN;;')};;THEN;;SAY:SaidLong`)
  const { conversations } = await stage.ctx('conversations')
  const { id } = conversations.find(({ session }) => session === client.session)
  const make = (...args) => stage.ctx(...args, '--conv', id)
  await make('split', 't1', '--at-step', '2')
  await make('combine', 't2', 't3')
  await make('move', 't6', '--after', 't1.1')
  await make('compact', 't4/1..2', '--text', 'MadeFour')
  await make('edit', 't2#3', '--text', 'MadeTwo')
  await make('add', '--text', 'MadeNew', '--after', 't4')
  await make('delete', 't5/1')
  await make('compact', 't7/5..8', '--text', 'MadeLong')
  await make('delete', 't7/14')
  await make('edit', 't7#0', '--text', 'MadeLongest')
  await make('offload', 't7/20..22', '--summary', 'MadeLonger')
  await client.say('AskedLast\nSAY:SaidLast')
  const page = await stage.open({ hash: `#/${id}/chat`, height: 4000 })
  await messages(page).getByText('SaidLast', { exact: true }).waitFor()
  await page.waitForTimeout(300)
  const expected = stage.received().messages.flatMap(({ content }) => content).flatMap(({ text }) => /(?:Asked|Look|More|Said|Made)[A-Z][a-z]+/.exec(text ?? '')?.[0] ?? [])
  assert.ok(expected.length > 30, expected.join(' '))
  // The words of each block, by what they begin with; folded lines are no words.
  const shown = (await messages(page).locator('[dir=auto]').allInnerTexts()).map((text) => /(?:Asked|Look|More|Said|Made)[A-Z][a-z]+/.exec(text)?.[0]).filter(Boolean)
  assert.deepEqual(shown.slice(0, expected.length), expected)
  await page.close()
})
