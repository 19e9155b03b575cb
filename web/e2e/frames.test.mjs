// The workbench: every operation through the page, judged by what the provider receives.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { Stage, until } from './stage.mjs'

let stage
before(async () => (stage = await Stage.start()))
after(() => stage.stop())

const WORK =
  'Find out why it is slow\nTHINK:Let me look ;; USE_TOOL:Read:src/slow.rs ;; USE_TOOL:Grep:clone ;;THEN;; USE_TOOL:Bash:cargo bench ;;THEN;; SAY:It copies too much.'

/** A conversation of four turns, and the page on it. */
async function scene(options = {}) {
  const client = stage.another()
  await client.say('SAY:first answer')
  await client.say(WORK)
  await client.say('SAY:third answer')
  await client.say('SAY:fourth answer')
  const { conversations } = await stage.ctx('conversations')
  const { id } = conversations.find(({ session }) => session === client.session)
  const page = await stage.open({ hash: `#/${id}/frames`, ...options })
  await row(page, 't4').waitFor()
  /** What the provider gets with the next turn. */
  const next = async () => {
    await client.say('SAY:more')
    return stage.received()
  }
  return { client, id, page, next }
}

const row = (page, id) => page.locator(`[id="row-${id}"]`)
const title = (page, id) => row(page, id).locator('bdi').first()
const form = (page) => page.locator('form')
const tray = (page) => page.getByLabel('Staged operations')
const texts = (body) => body.messages.flatMap(({ content }) => content).flatMap((block) => block.text ?? [])
const words = (body) => JSON.stringify(body.messages)

async function choose(page, ...ids) {
  for (const id of ids) await row(page, id).getByLabel(`Select ${id}`).click()
}

async function make(page) {
  await form(page).getByTestId('price').waitFor()
  await form(page).getByRole('button', { name: / now/ }).click()
  await form(page).waitFor({ state: 'detached' })
}

async function byMenu(page, id, name) {
  await title(page, id).click({ button: 'right' })
  await page.getByRole('menuitem', { name: new RegExp(`^${name}`) }).click()
  await form(page).waitFor()
}

async function unharmed(page) {
  assert.deepEqual(page.complaints, [], 'nothing was written as an error, nothing broke the policy')
  await page.context().close()
}

test('delete by key: the frame is gone, and its price was told before', async () => {
  const { page, next } = await scene()
  await choose(page, 't1', 't3')
  await page.keyboard.press('Delete')
  assert.match(await form(page).getByTestId('price').innerText(), /per turn/)
  await make(page)
  await row(page, 't1').getByText('deleted', { exact: true }).waitFor()
  const body = await next()
  assert.ok(!words(body).includes('first answer') && !words(body).includes('third answer'))
  assert.ok(words(body).includes('fourth answer'))
  await unharmed(page)
})

test('edit: another text, and messages as JSON', async () => {
  const { page, next } = await scene()
  await byMenu(page, 't3', 'Edit')
  const field = form(page).getByLabel('New text of t3')
  await field.waitFor()
  assert.match(await field.inputValue(), /third answer/, 'it begins with what is there')
  await field.fill('Said otherwise.')
  await make(page)
  await byMenu(page, 't1', 'Edit')
  await form(page).getByText('JSON', { exact: true }).click()
  const editor = form(page).locator('.cm-content')
  await editor.click()
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Delete')
  await page.keyboard.insertText('[{"role":"user","content":"asked in JSON"},{"role":"assistant","content":"told in JSON"}]')
  await make(page)
  const body = await next()
  assert.ok(texts(body).some((text) => text.includes('Said otherwise.')))
  assert.ok(words(body).includes('asked in JSON') && words(body).includes('told in JSON'))
  assert.ok(!words(body).includes('third answer') && !words(body).includes('first answer'))
  await unharmed(page)
})

test('compact: a summary to begin from stands in the form, and takes the place of the frame', async () => {
  const { page, next } = await scene()
  await choose(page, 't2')
  await page.keyboard.press('c')
  const field = form(page).getByLabel('Summary', { exact: true })
  await until(async () => (await field.inputValue()).includes('It copies too much'), 'a default summary is there')
  await field.fill(`${await field.inputValue()}\nRemember the benchmark.`)
  await make(page)
  const body = await next()
  assert.ok(words(body).includes('Remember the benchmark.'))
  assert.ok(!words(body).includes('tool_use'))
  await unharmed(page)
})

test('offload and restore: the file holds it, the note names the file, and it comes back', async () => {
  const { page, next } = await scene()
  await byMenu(page, 't2', 'Offload')
  const field = form(page).getByLabel('Summary in the note')
  await until(async () => (await field.inputValue()).length > 20, 'a default summary is there')
  await make(page)
  await row(page, 't2').getByText('offloaded', { exact: true }).waitFor()
  const note = texts(await next()).find((text) => text.startsWith('[Offloaded'))
  const file = note.match(/\/\S+\.md/)[0]
  assert.ok(existsSync(file) && readFileSync(file, 'utf8').includes('src/slow.rs'))
  assert.ok(note.includes('It copies too much'), 'the summary is in the note')
  await byMenu(page, 't2', 'Restore')
  await make(page)
  assert.ok(words(await next()).includes('content of src/slow.rs'))
  await unharmed(page)
})

test('drop results: only those that are checked', async () => {
  const { page, next } = await scene()
  await choose(page, 't2')
  await page.keyboard.press('d')
  await form(page).getByLabel(/^Result t2#/).nth(2).waitFor()
  await form(page).getByLabel(/^Result t2#/).nth(1).uncheck()
  await make(page)
  const results = (await next()).messages.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_result')
  const dropped = results.map((result) => JSON.stringify(result.content).includes('Cleared to save'))
  assert.deepEqual(dropped, [true, false, true])
  await unharmed(page)
})

test('drop results of one step', async () => {
  const { page, next } = await scene()
  await page.getByLabel('Steps of t2').click()
  await choose(page, 't2/2')
  await page.getByRole('button', { name: 'Drop results' }).click()
  await make(page)
  const body = words(await next())
  assert.ok(body.includes('content of src/slow.rs') && !body.includes('parser::works'))
  await unharmed(page)
})

test('summarize results: words to begin from, changed by hand', async () => {
  const { page, next } = await scene()
  await choose(page, 't2')
  await page.keyboard.press('Shift+D')
  const field = form(page).getByRole('textbox').first()
  await until(async () => /src\/slow\.rs/.test(await field.inputValue()), 'the first summary is open')
  await field.fill('Sixty lines, all alike.')
  await make(page)
  const body = words(await next())
  assert.ok(body.includes('Sixty lines, all alike.') && !body.includes('content of src/slow.rs'))
  await unharmed(page)
})

test('move by the list of places', async () => {
  const { page, next } = await scene()
  await choose(page, 't4')
  await page.keyboard.press('m')
  await form(page).getByRole('radio', { name: /t1/ }).click()
  await make(page)
  const body = words(await next())
  assert.ok(body.indexOf('fourth answer') > body.indexOf('first answer'))
  assert.ok(body.indexOf('fourth answer') < body.indexOf('Find out why'))
  await unharmed(page)
})

test('drag: a drop waits in the tray with its price, and is made from there', async () => {
  const { page, next } = await scene()
  const [from, to] = [await title(page, 't3').boundingBox(), await title(page, 't1').boundingBox()]
  await page.mouse.move(from.x + 20, from.y + 5)
  await page.mouse.down()
  await page.mouse.move(from.x + 20, from.y - 20, { steps: 4 })
  await page.mouse.move(to.x + 20, to.y - 2, { steps: 8 })
  await page.mouse.up()
  await tray(page).getByText('Move').waitFor()
  assert.match(await tray(page).getByTestId('price').innerText(), /re-read once|same size/)
  await tray(page).getByRole('button', { name: /^Apply/ }).click()
  await tray(page).waitFor({ state: 'detached' })
  const body = words(await next())
  assert.ok(body.indexOf('third answer') < body.indexOf('first answer'))
  await unharmed(page)
})

test('keys alone: choose, move down by one, make it', async () => {
  const { page, next } = await scene()
  await page.keyboard.press('Home')
  for (let times = 0; times < 2; times += 1) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Alt+ArrowDown')
  await tray(page).getByText('Move').waitFor()
  await page.keyboard.press('Control+Enter')
  await tray(page).waitFor({ state: 'detached' })
  const body = words(await next())
  assert.ok(body.indexOf('first answer') > body.indexOf('It copies too much'))
  await unharmed(page)
})

test('add: words of our own at the place that was chosen', async () => {
  const { page, next } = await scene()
  await choose(page, 't1')
  await page.keyboard.press('a')
  await form(page).getByLabel('Text', { exact: true }).fill('Be brief from now on.')
  await form(page).getByLabel('Title', { exact: true }).fill('A rule')
  await make(page)
  await row(page, 'a1').getByText('A rule').waitFor()
  const body = words(await next())
  assert.ok(body.indexOf('Be brief') > body.indexOf('first answer') && body.indexOf('Be brief') < body.indexOf('Find out'))
  await unharmed(page)
})

test('combine and split: cut marks between the messages', async () => {
  const { page, next } = await scene()
  const before = words(await next())
  await choose(page, 't2', 't3')
  await page.keyboard.press('g')
  await make(page)
  await row(page, 't3').waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await byMenu(page, 't2', 'Split')
  await form(page).getByLabel('Split before message 3').click()
  await make(page)
  await row(page, 't2.2').waitFor()
  await row(page, 't2.1').click()
  await page.keyboard.press('Delete')
  await make(page)
  const body = words(await next())
  assert.ok(before.includes('src/slow.rs'))
  assert.ok(!body.includes('src/slow.rs') && body.includes('cargo bench'), 'only the first part went')
  await unharmed(page)
})

test('retitle and pin change what is shown and nothing that is sent', async () => {
  const { page, next, id } = await scene()
  await next()
  await choose(page, 't2')
  await page.keyboard.press('t')
  const field = form(page).getByLabel('Title', { exact: true })
  await until(async () => (await field.inputValue()) !== '', 'the present title is there')
  await field.fill('The slow part')
  await make(page)
  await row(page, 't2').getByText('The slow part').waitFor()
  await page.keyboard.press('p')
  await row(page, 't2').getByLabel('pinned').waitFor()
  await page.keyboard.press('Shift+P')
  await row(page, 't2').getByLabel('pinned').waitFor({ state: 'detached' })
  const { untouched } = await stage.ctx('compose', '--explain', '--conv', id)
  assert.equal(untouched, true)
  await unharmed(page)
})

test('import: a frame of another conversation', async () => {
  const other = stage.another()
  await other.say('SAY:a secret of the other one')
  const { conversations } = await stage.ctx('conversations')
  const from = conversations.find(({ session }) => session === other.session).id
  const { page, next } = await scene()
  await choose(page, 't1')
  await page.keyboard.press('i')
  await form(page).getByLabel('From').selectOption(from)
  await form(page).getByLabel('Frame t1').check()
  await make(page)
  const body = words(await next())
  assert.ok(body.includes('a secret of the other one'))
  await unharmed(page)
})

test('the tray: three operations, one commit, one price', async () => {
  const { page, next, id } = await scene()
  for (const one of ['t1', 't3']) {
    await choose(page, one)
    await page.keyboard.press('Delete')
    await form(page).getByRole('button', { name: 'Add to tray' }).click()
    await page.keyboard.press('Escape')
  }
  await choose(page, 't2')
  await page.keyboard.press('d')
  await form(page).getByRole('button', { name: 'Add to tray' }).click()
  await row(page, 't3').getByText('delete staged').waitFor()
  await page.reload()
  await tray(page).getByText('3 operations').waitFor()
  assert.match(await tray(page).getByTestId('price').innerText(), /−[\d.]+k? per turn/)
  await page.keyboard.press('Control+Enter')
  await tray(page).waitFor({ state: 'detached' })
  const { commits } = await stage.ctx('history', '--conv', id)
  assert.deepEqual(commits.map(({ operations, author }) => [operations.length, author]), [[3, 'ui']])
  const body = words(await next())
  assert.ok(!body.includes('first answer') && !body.includes('third answer') && !body.includes('parser::works'))
  await unharmed(page)
})

test('choosing by rule: what was read again later, what is large', async () => {
  const { page, client, next } = await scene()
  // The second step reads something else besides, which nothing reads again.
  await client.say('USE_TOOL:Read:src/slow.rs ;;THEN;; USE_TOOL:Read:src/slow.rs ;; USE_TOOL:Read:src/other.rs ;;THEN;; USE_TOOL:Read:src/slow.rs ;;THEN;; SAY:read thrice')
  await row(page, 't5').waitFor()
  await page.getByRole('button', { name: 'Select', exact: true }).click()
  await page.getByRole('button', { name: /^Read again or changed later/ }).click()
  await page.getByRole('status').filter({ hasText: '1 row' }).waitFor()
  await page.keyboard.press('d')
  await make(page)
  const body = words(await next())
  assert.equal(body.match(/Cleared to save/g)?.length, 1)
  await page.getByRole('button', { name: 'Select', exact: true }).click()
  await page.getByRole('button', { name: /^Read [\d.]+k? tokens/ }).click()
  await page.getByRole('status').filter({ hasText: '4 rows' }).waitFor()
  await unharmed(page)
})

test('an edit on the command line is seen at once, and so is a new turn', async () => {
  const { page, client, id } = await scene()
  await stage.ctx('delete', 't3', '--conv', id)
  await row(page, 't3').getByText('deleted', { exact: true }).waitFor()
  await client.say('SAY:a fifth one')
  await row(page, 't5').waitFor()
  await unharmed(page)
})

test('two tabs: the second is told what the first did, and overwrites nothing', async () => {
  const { page, id, next } = await scene()
  const second = await stage.open({ tab: page, hash: `#/${id}/frames` })
  await row(second, 't2').waitFor()
  await choose(second, 't2')
  await second.keyboard.press('e')
  await form(second).getByLabel('New text of t2').fill('from the second tab')
  await form(second).getByTestId('price').waitFor()
  await choose(page, 't2')
  await page.keyboard.press('Delete')
  await make(page)
  const told = form(second).getByRole('alert')
  await told.getByText('This conversation has changed since you started.').waitFor()
  assert.match(await told.innerText(), /by ui: delete t2/)
  assert.ok(await form(second).getByRole('button', { name: 'Edit now' }).isDisabled())
  assert.ok(!words(await next()).includes('from the second tab'))
  assert.equal((await stage.ctx('history', '--conv', id)).commits.length, 1)
  await told.getByRole('button', { name: 'Review with the new price' }).click()
  await until(async () => (await told.filter({ hasText: 'has changed since you started' }).count()) === 0, 'the new state is taken')
  await told.filter({ hasText: 't2' }).waitFor()
  assert.match(await told.innerText(), /t2 was already removed/)
  assert.equal(await form(second).getByLabel('New text of t2').inputValue(), 'from the second tab', 'the words are still there')
  await unharmed(page)
})

test('a reload in the middle of a form loses nothing', async () => {
  const { page, next } = await scene()
  await choose(page, 't2')
  await page.keyboard.press('c')
  const field = form(page).getByLabel('Summary', { exact: true })
  await until(async () => (await field.inputValue()) !== '', 'a default summary is there')
  await field.fill('Written before the reload.')
  await page.reload()
  await field.waitFor()
  assert.equal(await field.inputValue(), 'Written before the reload.')
  await make(page)
  assert.ok(words(await next()).includes('Written before the reload.'))
  await unharmed(page)
})

test('a form that was written in and closed can be brought back', async () => {
  const { page } = await scene()
  await choose(page, 't1')
  await page.keyboard.press('a')
  await form(page).getByLabel('Text', { exact: true }).fill('Half a thought')
  await page.keyboard.press('Escape')
  await form(page).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Reopen' }).click()
  assert.equal(await form(page).getByLabel('Text', { exact: true }).inputValue(), 'Half a thought')
  await unharmed(page)
})

test('where there are no rows, operations are done to the frame in the panel, and the form stands below', async () => {
  const { page, next, id } = await scene()
  await page.goto(`${stage.origin}/ui/#/${id}/chat/t2`)
  await page.getByRole('button', { name: 'Change t2' }).waitFor()
  await page.keyboard.press('Delete')
  await make(page)
  assert.ok(!words(await next()).includes('src/slow.rs'))
  await page.goto(`${stage.origin}/ui/#/${id}/history/t3`)
  await page.getByRole('button', { name: 'Change t3' }).click()
  await page.getByRole('menuitem', { name: /^Delete/ }).click()
  await make(page)
  assert.ok(!words(await next()).includes('third answer'))
  await unharmed(page)
})

test('on a narrow screen the form is not hidden by the panel', async () => {
  const { page, next } = await scene({ width: 480, height: 860 })
  await title(page, 't2').click()
  await page.getByRole('complementary').waitFor()
  await page.keyboard.press('o')
  await page.getByRole('complementary').waitFor({ state: 'detached' })
  await make(page)
  assert.ok(!words(await next()).includes('content of src/slow.rs'))
  await unharmed(page)
})

test('the frames of the past can be looked at, not changed', async () => {
  const { page, id } = await scene()
  const { commit } = await stage.ctx('delete', 't1', '--conv', id)
  await stage.ctx('delete', 't3', '--conv', id)
  await page.goto(`${stage.origin}/ui/#/${id}/frames?at=${commit}`)
  await page.getByText(`as they were at ${commit}`).waitFor()
  await row(page, 't1').getByText('deleted', { exact: true }).waitFor()
  assert.equal(await row(page, 't3').getByText('deleted', { exact: true }).count(), 0)
  await choose(page, 't3')
  await page.keyboard.press('Delete')
  assert.equal(await form(page).count(), 0)
  await page.getByRole('button', { name: 'Back to now' }).click()
  await row(page, 't3').getByText('deleted', { exact: true }).waitFor()
  await unharmed(page)
})

test('a refusal says why, where the price would stand', async () => {
  const { page } = await scene()
  await choose(page, 't1')
  await page.keyboard.press('m')
  await form(page).getByRole('radio', { name: /t4/ }).click()
  await make(page)
  await page.keyboard.press('Escape')
  await choose(page, 'tools')
  await page.keyboard.press('c')
  await page.getByText('Compact is not possible here.').waitFor()
  await unharmed(page)
})

test('live updates leave nothing behind in memory', async (t) => {
  const { page, id } = await scene()
  const devtools = await page.context().newCDPSession(page)
  const heap = async () => {
    for (let times = 0; times < 2; times += 1) await devtools.send('HeapProfiler.collectGarbage')
    return (await devtools.send('Runtime.getHeapUsage')).usedSize / 1e6
  }
  const update = async (times) => {
    for (let time = 0; time < times; time += 1) {
      const op = time % 2 === 0 ? 'pin' : 'unpin'
      await stage.api(`conversations/${id}/operations`, { author: 'api', operations: [{ op, ids: ['t1'] }] })
      await new Promise((done) => setTimeout(done, 120))
    }
    return heap()
  }
  // The first updates fill what is filled once.
  const before = await update(20)
  const after = await update(60)
  t.diagnostic(`${before.toFixed(1)} MB, after 60 more updates ${after.toFixed(1)} MB`)
  assert.ok(after < before + 3, `${before} MB became ${after} MB`)
  await unharmed(page)
})
