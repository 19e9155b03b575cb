// The panel: titles, words of messages, comparing, JSON, provenance and the helper, judged by what the provider gets.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Stage, until } from './stage.mjs'

let stage
before(async () => {
  stage = await Stage.start()
  await stage.say('First question\nTHINK:Let me think;;SAY:I look.;;USE_TOOL:Read:src/a.rs;;THEN;;SAY:First answer')
  await stage.say('Second question\nSAY:Second answer')
  await stage.say('Third question\nSAY:Third answer')
})
after(() => stage.stop())

const panel = (page) => page.getByRole('complementary')
const editor = (page) => panel(page).locator('.cm-content')

/** What is written in the editor, replaced. */
async function write(page, text) {
  await editor(page).click()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}

/** The next turn, so that the provider gets the conversation as it stands. */
async function next() {
  await stage.say('And on\nSAY:On')
  return stage.sent()
}

test('a title and a summary are changed where they stand, and nothing else is', async () => {
  const sent = await next()
  const page = await stage.open({ open: 't2' })
  await panel(page).getByRole('button', { name: 'Change the title' }).click()
  await page.keyboard.insertText('A better title')
  await page.keyboard.press('Enter')
  await panel(page).getByRole('heading', { name: 'A better title' }).waitFor()
  await panel(page).getByRole('button', { name: 'Change the summary' }).click()
  await page.keyboard.insertText('What it was about')
  await page.keyboard.press('Enter')
  // Not the field, which says the same before it is kept.
  await panel(page).locator('p', { hasText: 'What it was about' }).waitFor()
  const { frames } = await stage.ctx('list')
  assert.deepEqual([frames[3].title, frames[3].summary], ['A better title', 'What it was about'])
  assert.ok((await next()).startsWith(sent.slice(0, 2000)), 'what is sent is the same')

  await panel(page).getByRole('button', { name: 'Change the title' }).click()
  await page.keyboard.insertText('Never mind')
  await page.keyboard.press('Escape')
  await panel(page).getByRole('heading', { name: 'A better title' }).waitFor()
  assert.deepEqual(page.complaints, [])
  await page.close()
})

test('without a helper no button asks one', async () => {
  const page = await stage.open({ open: 't2' })
  await panel(page).getByRole('button', { name: 'Change the title' }).waitFor()
  assert.equal(await panel(page).getByRole('button', { name: /^Ask/ }).count(), 0)
  await page.close()
})

test('the words of a message are edited with their price before them, and reach the provider', async () => {
  const page = await stage.open({ open: 't2' })
  await panel(page).getByRole('button', { name: 'Edit t2#0' }).click()
  await editor(page).waitFor()
  assert.match(await editor(page).innerText(), /Second question/)
  await write(page, 'Second question, edited in the page')
  await panel(page).getByTestId('price').waitFor()
  await page.keyboard.press('Control+Enter')
  await panel(page).getByRole('form').waitFor({ state: 'detached' })
  await panel(page).getByText('Second question, edited in the page').waitFor()
  await panel(page).getByText('edited', { exact: true }).first().waitFor()
  const sent = await next()
  assert.ok(sent.includes('Second question, edited in the page') && !sent.includes('Second question\\n'), sent)
  assert.deepEqual(page.complaints, [])

  // Which commit made it so, and who.
  await panel(page).getByText(/edit t2.* ui,/).waitFor()

  // Both sides are compared.
  await panel(page).getByText('Compare', { exact: true }).click()
  await panel(page).locator('.cm-deletedChunk, .cm-merge-a').first().waitFor()
  const compared = await panel(page).locator('.cm-scroller').allInnerTexts()
  assert.match(compared.join('\n'), /edited in the page/)
  assert.match(compared.join('\n'), /Second question/)
  assert.deepEqual(page.complaints, [], 'an editor does not break the policy')
  await panel(page).getByRole('button', { name: 'Wide' }).click()
  await panel(page).locator('.cm-merge-b').waitFor()
  const [left, right] = await Promise.all(['.cm-merge-a', '.cm-merge-b'].map((side) => panel(page).locator(side).boundingBox()))
  assert.ok(left.width > 300 && left.x + left.width <= right.x + 1, 'they stand beside each other')
  await page.close()
})

test('a tool result is edited; its call stays', async () => {
  const page = await stage.open({ open: 't1' })
  await panel(page).getByRole('button', { name: 'Edit t1#2' }).click()
  await write(page, 'A short result')
  await panel(page).getByRole('button', { name: 'Save' }).click()
  await panel(page).getByRole('form').waitFor({ state: 'detached' })
  const body = (await next(), stage.received())
  const results = body.messages.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_result')
  assert.equal(JSON.stringify(results[0].content).includes('A short result'), true)
  assert.ok(JSON.stringify(body).includes('"name":"Read"'))
  await page.close()
})

test('JSON that is none is told where it is wrong, and cannot be saved', async () => {
  const page = await stage.open({ open: 't3' })
  await panel(page).getByText('JSON', { exact: true }).click()
  await panel(page).getByRole('button', { name: 'Edit', exact: true }).click()
  await editor(page).waitFor()
  await write(page, '[\n  {"role": "user", "content": "Third, as JSON"},\n  {"role": "assistant" "content": "So be it"}\n]')
  await panel(page).getByText('Line 3, column 24: Expected a comma or }').waitFor()
  assert.equal(await panel(page).getByRole('button', { name: 'Save' }).isDisabled(), true)
  await write(page, '[\n  {"role": "user", "content": "Third, as JSON"},\n  {"role": "assistant", "content": "So be it"}\n]')
  await panel(page).getByText(/Expected/).waitFor({ state: 'detached' })
  await panel(page).getByRole('button', { name: 'Save' }).click()
  await panel(page).getByRole('form').waitFor({ state: 'detached' })
  const sent = await next()
  assert.ok(sent.includes('Third, as JSON') && sent.includes('So be it') && !sent.includes('Third answer'))
  await page.close()
})

test('what the daemon refuses is told in words, and what was written is not lost', async () => {
  const page = await stage.open({ open: 't3' })
  await panel(page).getByText('JSON', { exact: true }).click()
  await panel(page).getByRole('button', { name: 'Edit', exact: true }).click()
  await write(page, '[{"role": "wizard", "content": "x"}]')
  await panel(page).getByRole('alert').waitFor()
  assert.match(await panel(page).getByRole('alert').innerText(), /wizard|role/)
  assert.match(await editor(page).innerText(), /wizard/)
  await page.close()
})

test('a reload in the middle of writing loses nothing', async () => {
  const page = await stage.open({ open: 't2' })
  await panel(page).getByRole('button', { name: 'Edit t2#1' }).click()
  await write(page, 'Half a thou')
  await page.reload()
  await editor(page).waitFor()
  assert.match(await editor(page).innerText(), /Half a thou/)
  await editor(page).click()
  await page.keyboard.press('Control+End')
  await page.keyboard.insertText('ght')
  await page.keyboard.press('Control+Enter')
  await panel(page).getByRole('form').waitFor({ state: 'detached' })
  assert.ok((await next()).includes('Half a thought'))
  await page.close()
})

test("somebody else's commit meanwhile is told, and nothing is overwritten", async () => {
  const page = await stage.open({ open: 't2' })
  await panel(page).getByRole('button', { name: 'Edit t2#0' }).click()
  await write(page, 'Written by me')
  await panel(page).getByTestId('price').waitFor()
  await stage.ctx('edit', 't2#0', '--text', 'Written by somebody else')
  await panel(page).getByText('This conversation has changed since you started.').waitFor()
  assert.ok(!(await next()).includes('Written by me'))
  await panel(page).getByRole('button', { name: 'Review with the new price' }).click()
  await panel(page).getByTestId('price').waitFor()
  await panel(page).getByRole('button', { name: 'Save' }).click()
  await panel(page).getByRole('form').waitFor({ state: 'detached' })
  assert.ok((await next()).includes('Written by me'))
  await page.close()
})

test('the system prompt and a tool are edited', async () => {
  const page = await stage.open({ open: 'system' })
  await panel(page).getByRole('button', { name: 'Edit system' }).click()
  await write(page, 'You are a careful agent.')
  await panel(page).getByRole('button', { name: 'Save' }).click()
  await panel(page).getByRole('form').waitFor({ state: 'detached' })
  assert.ok(JSON.stringify((await next(), stage.received()).system).includes('You are a careful agent.'))

  await page.evaluate(() => (location.hash = '#/active/frames/tools%2FGrep'))
  await panel(page).getByRole('button', { name: 'Edit tools/Grep' }).click()
  await editor(page).waitFor()
  const definition = { name: 'Grep', description: 'Finds words.', input_schema: { type: 'object', properties: { pattern: { type: 'string' } } } }
  await write(page, JSON.stringify(definition, null, 2))
  await panel(page).getByRole('button', { name: 'Save' }).click()
  await panel(page).getByRole('form').waitFor({ state: 'detached' })
  const { tools } = (await next(), stage.received())
  assert.deepEqual(tools.find(({ name }) => name === 'Grep'), definition)
  await page.close()
})

test('the file of an offloaded frame is told and can be copied; so can ids, words and JSON', async () => {
  await stage.ctx('offload', 't1')
  const page = await stage.open({ open: 't1' })
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText())
  await panel(page).getByRole('button', { name: 'Copy file' }).click()
  await until(async () => (await clipboard()).endsWith('.md'), 'the path is copied')
  await panel(page).getByRole('button', { name: 'Copy the id' }).click()
  await until(async () => (await clipboard()) === 't1', 'the id is copied')
  await panel(page).getByRole('button', { name: 'Copy the sent content' }).click()
  await until(async () => (await clipboard()).includes('Offloaded to a file'), 'the words are copied')
  await panel(page).getByText('JSON', { exact: true }).click()
  await panel(page).getByText('The agent’s version', { exact: true }).click()
  await panel(page).getByRole('button', { name: 'Copy the JSON' }).click()
  await until(async () => JSON.parse(await clipboard())[0]?.role === 'user', 'the JSON is copied')
  await panel(page).getByText('All fields').click()
  await panel(page).getByText('Conversation', { exact: true }).waitFor()
  await page.close()
})

test('a helper finds a title and a summary, can be stopped, and never takes a title that somebody gave', async () => {
  let slow = false
  const helper = createServer((request, response) => {
    request.resume()
    const answer = () => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ choices: [{ message: { content: 'The parser was fixed.' } }], usage: { total_tokens: 9 } }))
    }
    request.on('end', () => setTimeout(answer, slow ? 20_000 : 300))
  })
  await new Promise((done) => helper.listen(0, '127.0.0.1', done))
  const other = await Stage.start({ ctx: ['--config', configOf(helper.address().port)] })
  try {
    await other.say('Fix the parser in src/parse.rs, it loses the last byte of everything that it reads from a file.\nSAY:It is fixed: the last byte is kept now, and there is a test for it in tests/last_byte.rs as well.')
    const page = await other.open({ open: 't1' })
    const ask = panel(page).getByRole('button', { name: 'Ask small for a title' })
    await ask.click()
    await panel(page).getByRole('heading', { name: 'The parser was fixed' }).waitFor()
    assert.equal((await other.ctx('list')).frames.at(-1).title.replace(/\.$/, ''), 'The parser was fixed')

    const before = await other.ctx('list')
    await panel(page).getByRole('button', { name: 'Ask small for a summary' }).click()
    await until(async () => (await other.ctx('list')).frames.at(-1).summary === 'The parser was fixed.', 'a summary')
    assert.equal((await other.ctx('list')).tokens, before.tokens, 'nothing of it is sent')

    slow = true
    await ask.click()
    await panel(page).getByText(/Asking .*small/).waitFor()
    await panel(page).getByRole('button', { name: 'Cancel the request' }).click()
    await panel(page).getByText(/Asking/).waitFor({ state: 'detached' })

    // A title that the user gave stays, and that is told.
    await panel(page).getByRole('button', { name: 'Change the title' }).click()
    await page.keyboard.insertText('My own title')
    await page.keyboard.press('Enter')
    await panel(page).getByRole('heading', { name: 'My own title' }).waitFor()
    await ask.click()
    await page.getByText(/A person wrote the title/).waitFor()
    // The refusal itself is in the console of the browser.
    assert.deepEqual(page.complaints.filter((words) => !words.includes('422')), [])
  } finally {
    await other.stop()
    helper.close()
    helper.closeAllConnections()
  }
})

function configOf(port) {
  const folder = join(stage.folder, 'settings')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'ctx.toml')
  writeFileSync(file, `[helper]\nprovider = "openai"\nurl = "http://127.0.0.1:${port}"\nmodel = "small"\n`)
  return file
}
