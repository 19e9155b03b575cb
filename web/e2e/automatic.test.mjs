// The automatic editor on the page: how full the context is, clearing by hand, proposals, and what the history tells of it
// and of what the provider edits by itself. Judged by what the provider receives.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Stage, until } from './stage.mjs'

const settings = mkdtempSync(join(tmpdir(), 'ctx-e2e-automatic-'))
after(() => rmSync(settings, { recursive: true }))

const SMALL = '[models."claude-sonnet-4-5"]\nwindow = 12_000\nmax_output = 4_000\n'
const EDITS = '[context_editing.provider]\nenabled = true\nclear_tool_uses = { trigger = 4000, keep = 2, clear_at_least = 500 }\n'

/** A daemon with such a configuration, for one test. */
async function staged(t, name, words, options = {}) {
  const config = join(settings, `${name}.toml`)
  writeFileSync(config, words)
  const stage = await Stage.start({ ctx: ['--config', config], ...options })
  t.after(() => stage.stop())
  return stage
}

/** A conversation, the way to let it read files, and the page on it. */
async function scene(stage, view = 'frames') {
  const client = stage.another()
  let file = 0
  const read = async (times) => {
    for (let time = 0; time < times; time += 1) {
      file += 1
      await client.say(`USE_TOOL:Read:src/f${file}.rs ;; THEN ;; SAY: read ${file}`)
    }
  }
  await read(1)
  const { id } = await until(async () => (await stage.ctx('conversations')).conversations.find(({ session }) => session === client.session), 'it is listed')
  const page = await stage.open({ hash: `#/${id}/${view}` })
  return { client, id, page, read, sent: () => JSON.stringify(stage.received().messages) }
}

const FULL = 13
const gauge = (page) => page.locator('button[data-gauge]')
const about = (page) => page.getByRole('dialog', { name: 'Context usage' })
const waiting = (page) => page.getByLabel('Deferred edits')
const history = (page) => page.getByRole('region', { name: 'History' })
const reads = (body) => body.match(/content of src/g)?.length ?? 0

async function unharmed(...pages) {
  for (const page of pages) {
    assert.deepEqual(page.complaints, [])
    await page.context().close()
  }
}

test('how full the context is is seen as it fills; what may go is cleared by hand, with a reason', async (t) => {
  const stage = await staged(t, 'off', SMALL)
  const { id, page, read, sent } = await scene(stage)
  await gauge(page).getByText('NORMAL', { exact: true }).waitFor()
  assert.match(await gauge(page).innerText(), /of 12k tokens · \d+%/)
  await gauge(page).click()
  await about(page).getByText('Nothing to clear.').waitFor()
  await page.keyboard.press('Escape')
  await about(page).waitFor({ state: 'detached' })

  await read(FULL)
  await gauge(page).getByText('NEAR LIMIT', { exact: true }).waitFor()
  await gauge(page).click()
  const words = await about(page).innerText()
  assert.match(words, /Used\s+[\d,]+ of 12,000 tokens, 8\d%/)
  assert.match(words, /Status\s+NEAR LIMIT; threshold 80%/)
  assert.match(words, /Automatic editing\s+off/)
  assert.match(words, /Preserved\s+1,[\d,]+ tokens/)
  assert.match(words, /Clearable\s+[\d,]+ tokens, in this order\s+old results: [\d,]+\s+finished tool loops: [\d,]+/)
  assert.match(words, /Saved\s+0 tokens/)
  assert.match(words, /Cache\s+warm: [\d,]+ tokens, for \d more minutes/)
  const before = reads(sent())

  await about(page).getByLabel('Reason').fill('too much of it')
  await about(page).getByRole('button', { name: /^Clear now −/ }).click()
  await about(page).waitFor({ state: 'detached' })
  await gauge(page).getByText('NORMAL', { exact: true }).waitFor()
  await read(1)
  assert.ok(reads(sent()) < before - 5, 'the provider does not get it any more')
  const { commits } = await stage.ctx('history', '--conv', id)
  assert.match(commits[0].note, /too much of it \(ui\)/)

  await gauge(page).click()
  await about(page).getByText(/tokens per request, [1-9][\d,]* by automatic editing/).waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('History', { exact: true }).click()
  await history(page).getByText('cleared', { exact: true }).waitFor()
  assert.match(await history(page).innerText(), /cleared\s+[\d,]+ → [\d,]+ tokens, \d+ pieces cleared/)
  await unharmed(page)
})

test('a proposal comes by itself, says what goes and why, and is accepted', async (t) => {
  const stage = await staged(t, 'ask', `${SMALL}[context_editing]\nmode = "ask"\n`)
  const { page, read, sent } = await scene(stage)
  await gauge(page).getByText('auto ask').waitFor()
  await read(FULL)
  await waiting(page).getByText('1 proposal of the automatic editor').waitFor()
  assert.match(await waiting(page).innerText(), /Clear \d results\s*t1 … t\d[\s\S]*old results/)
  await waiting(page).getByRole('button', { name: /^Clear \d results/ }).click()
  await waiting(page).getByTestId('price').getByText(/^−[\d.]+k per turn$/).waitFor()
  await waiting(page).getByRole('button', { name: 't3', exact: true }).waitFor()
  const before = reads(sent())
  assert.ok(before > FULL, 'nothing is changed before somebody says yes')

  await waiting(page).getByRole('button', { name: 'Accept w1' }).click()
  await waiting(page).waitFor({ state: 'detached' })
  await page.getByText(/^Accepted: /).waitFor()
  await read(1)
  assert.ok(reads(sent()) < before - 4, 'the provider does not get it any more')
  assert.ok(sent().includes('offload'), 'the agent is told where it is')

  // Undone from the notice: all of it is sent again.
  await page.getByRole('button', { name: 'Undo', exact: true }).first().click()
  await page.getByText(/^Undone: /).waitFor()
  await read(1)
  assert.ok(reads(sent()) > before)
  await unharmed(page)

  await t.test('and another is declined in the history, which tells it', async () => {
    const { page: frames, id, read: more, sent: got } = await scene(stage)
    const other = await stage.open({ hash: `#/${id}/history` })
    await more(FULL)
    await history(other).getByText('near the limit', { exact: true }).waitFor()
    await history(other).getByText('proposed', { exact: true }).waitFor()
    await waiting(frames).getByText('1 proposal of the automatic editor').waitFor()
    await history(other).getByRole('button', { name: 'Decline w1' }).click()
    await waiting(frames).waitFor({ state: 'detached' })
    await history(other).getByText('declined', { exact: true }).waitFor()
    await more(1)
    assert.equal(reads(got()), FULL + 2, 'nothing was cleared')
    await unharmed(frames, other)
  })
})

test('observed only: the history tells what would have been cleared, and phases as they begin and end', async (t) => {
  const stage = await staged(t, 'observe', `${SMALL}[context_editing]\nmode = "observe"\n`)
  const { id, page, read, sent } = await scene(stage, 'history')
  await stage.ctx('phase', 'begin', 'looking around', '--conv', id)
  await history(page).getByText('looking around begins').waitFor()
  await gauge(page).click()
  await about(page).getByText('looking around', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await stage.ctx('phase', 'end', 'looking around', '--conv', id)
  await history(page).getByText('looking around ends').waitFor()

  await read(FULL)
  await history(page).getByText('observed', { exact: true }).first().waitFor()
  assert.match(await history(page).innerText(), /observed\s+Results of t1 … t\d+ \(\d+ frames\) would have been cleared, [\d,]+ → [\d,]+ tokens/)
  assert.match(await history(page).innerText(), /near the limit\s+[\d,]+ of 12,000 tokens/)
  await gauge(page).click()
  await about(page).getByText(/^[\d,]+ more tokens in mode “on”$/).waitFor()
  assert.equal(reads(sent()), FULL + 1, 'nothing was changed')
  await unharmed(page)
})

test('what the provider cleared is told, from which step to which', async (t) => {
  const stage = await staged(t, 'provider', EDITS, { provider: ['--context-editing'] })
  const { page, read } = await scene(stage, 'history')
  await read(8)
  const told = history(page).getByText(/^The provider itself cleared content: \d+ tool results?, [\d.k]+ tokens, from t1\/1 to t\d\/1\.$/)
  await told.first().waitFor()
  await gauge(page).click()
  await about(page).getByText(/provider editing is on too/).waitFor()
  await unharmed(page)
})

test('what the provider refused of ours is told, and the conversation goes on', async (t) => {
  const stage = await staged(t, 'refused', EDITS)
  const real = stage.upstream
  // A provider that knows nothing of it.
  const strict = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    response.setHeader('content-type', 'application/json')
    if (body.includes('"context_management"')) {
      const message = 'context_management: Extra inputs are not permitted'
      return response.writeHead(400).end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }))
    }
    const answer = await fetch(`${real}${request.url}`, { method: request.method, body, headers: { 'content-type': 'application/json', 'x-api-key': 'none', 'anthropic-version': '2023-06-01' } })
    response.writeHead(answer.status).end(await answer.text())
  })
  await new Promise((done) => strict.listen(0, '127.0.0.1', done))
  try {
    await stage.stopDaemon()
    stage.upstream = `http://127.0.0.1:${strict.address().port}`
    await stage.startDaemon()
    const { page, read } = await scene(stage, 'history')
    await read(1)
    await history(page).getByText(/The provider refuses to .*clear tool results.* for claude-sonnet-4-5: .*Extra inputs are not permitted/).waitFor()
    await unharmed(page)
  } finally {
    strict.closeAllConnections()
    strict.close()
  }
})
