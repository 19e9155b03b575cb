// Content that wants to harm: scripts, markup, text that turns itself around, gigantic lines, ten megabytes at once.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage } from './stage.mjs'

const SCRIPT = '<script>window.harmed = 1</script><img src=x onerror="window.harmed=1"><svg onload="window.harmed=1"><a href="javascript:window.harmed=1">click</a><iframe src="https://example.org"></iframe><style>*{display:none}</style>'
const LINE = 'x'.repeat(2_000_000)
const BIDI = 'if (level != "user\u202E \u2066// only for admins\u2069 \u2066") {'
const HUGE = 'A line of a log that says little and is there a hundred thousand times.\n'.repeat(140_000)

let stage
let page
before(async () => {
  stage = await Stage.start()
  await stage.say(`${SCRIPT}\nTHINK:${SCRIPT};;SAY:${SCRIPT};;USE_TOOL:Read:${SCRIPT};;THEN;;SAY:Done one`, { results: { Read: SCRIPT } })
  await stage.say(`${BIDI} שלום עולם مرحبا\nUSE_TOOL:Read:bidi;;THEN;;SAY:Done two`, { results: { Read: `${BIDI}\n\u001b[31mred\u001b[0m\nשלום` } })
  await stage.say('A long line\nUSE_TOOL:Read:line;;THEN;;SAY:Done three', { results: { Read: LINE } })
  await stage.say('', { content: [{ type: 'text', text: 'A picture\nSAY:Done four' }, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FAAhKDveksOjmAAAAAElFTkSuQmCC' } }] })
  await stage.ctx('retitle', 't2', '--title', `${SCRIPT}\u202E title`, '--summary', `${SCRIPT} summary`)
  page = await stage.open({ view: 'chat' })
  page.on('dialog', (dialog) => page.complaints.push(`a dialog: ${dialog.message()}`))
})
after(() => stage.stop())

const messages = () => page.getByRole('log', { name: 'Messages' })
const panel = () => page.getByRole('complementary')
const tab = (name) => panel().getByRole('radiogroup', { name: 'View' }).getByText(name, { exact: true })
const top = () => messages().evaluate((list) => (list.scrollTop = 0))

async function unharmed() {
  assert.equal(await page.evaluate(() => window.harmed), undefined)
  assert.equal(await page.locator('iframe, [onerror], [onload], a[href^=javascript]').count(), 0)
  assert.deepEqual(page.complaints, [])
}

test('scripts and markup in messages, results, arguments and titles are words', async () => {
  await top()
  await messages().getByText('window.harmed = 1').first().waitFor()
  await messages().getByRole('button', { name: /^Read/ }).first().click()
  await messages().getByRole('button', { name: /^Thinking/ }).first().click()
  await messages().getByText('Result', { exact: true }).waitFor()
  assert.ok((await messages().getByText('<script>window.harmed = 1</script>', { exact: false }).count()) >= 3)
  await unharmed()
})

test('the same in the panel: words, comparing, JSON and the editor', async () => {
  await stage.ctx('edit', 't1#0', '--text', `${SCRIPT} edited`)
  for (const id of ['t1', 't2']) {
    await page.evaluate((hash) => (location.hash = hash), `#/active/chat/${id}`)
    await panel().getByText(`${id}#0`).first().waitFor()
    await tab('Compare').click()
    await panel().getByText(/The agent’s version|Sent unchanged/).first().waitFor()
    await tab('JSON').click()
    await panel().getByRole('region', { name: 'JSON' }).waitFor()
    await tab('Messages').click()
    await unharmed()
  }
  await panel().getByRole('button', { name: 'Edit t2#0' }).click()
  await panel().locator('.cm-content').waitFor()
  await panel().getByRole('button', { name: 'Cancel' }).click()
  await unharmed()
})

test('in every other view too', async () => {
  for (const view of ['frames', 'map', 'history']) {
    await page.evaluate((hash) => (location.hash = hash), `#/active/${view}`)
    await page.waitForTimeout(400)
    await unharmed()
  }
  await page.evaluate(() => (location.hash = '#/active/chat'))
  await messages().waitFor()
})

test('signs that turn text around are named, and turn nothing', async () => {
  await messages().getByRole('button', { name: 'Open t2' }).click()
  await messages().getByText('if (level != "user').first().waitFor()
  await panel().getByText('if (level != "user').first().waitFor()
  const shown = await panel().innerText()
  assert.ok(shown.includes('RLO'), shown)
  assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(shown), 'the signs themselves are nowhere')
  await panel().getByRole('button', { name: /^Read result/ }).click()
  await panel().getByText('ESC').first().waitFor()
  assert.ok(!(await panel().innerText()).includes('\u001b'))
  await unharmed()
})

test('a line of two million letters begins short and comes in steps', async () => {
  await messages().getByRole('button', { name: 'Open t3' }).click()
  const begun = Date.now()
  await panel().getByRole('button', { name: /^Read result/ }).click()
  const more = panel().getByRole('button', { name: /^Show 100,000 more of 1,996,000 characters/ })
  await more.waitFor()
  await more.click()
  await panel().getByRole('button', { name: /more of 1,896,000/ }).waitFor()
  assert.ok(Date.now() - begun < 5000, 'quickly')
  const box = await panel().boundingBox()
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1400, 'the page is not wider than the window')
  assert.ok(box.width < 900)
  await unharmed()
})

test('a result of ten megabytes is shown at once, a part of it, and the page goes on', async () => {
  await stage.say('Ten megabytes\nUSE_TOOL:Bash:cat log;;THEN;;SAY:Done five', { results: { Bash: HUGE } })
  await messages().getByText('Done five', { exact: true }).waitFor({ timeout: 20_000 })
  await messages().getByRole('button', { name: 'Open t5' }).click()
  const row = panel().getByRole('button', { name: /^Bash result/ })
  await row.waitFor({ timeout: 20_000 })
  assert.match(await row.innerText(), /(9\.\d|10(\.\d)?) MB/)
  const begun = Date.now()
  await row.click()
  await panel().getByRole('button', { name: /^Show 100,000 more of/ }).waitFor()
  const took = Date.now() - begun
  const late = await page.evaluate(
    () =>
      new Promise((done) => {
        const begin = performance.now()
        setTimeout(() => done(performance.now() - begin), 0)
      }),
  )
  console.log(`# ten megabytes: unfolded in ${took} ms`)
  assert.ok(took < 3000 && late < 500, `unfolded in ${took} ms, the page is ${late} ms late`)
  await tab('Compare').click()
  await panel().getByText('Sent unchanged.').waitFor({ timeout: 20_000 })
  await tab('JSON').click()
  await panel().getByRole('button', { name: /^Show 100,000 more of/ }).waitFor({ timeout: 20_000 })

  // Compared with something short, too.
  await stage.ctx('edit', 't5#2.0', '--text', 'Nothing in the log')
  await tab('Compare').click()
  const asked = Date.now()
  await panel().getByText('Nothing in the log').first().waitFor({ timeout: 20_000 })
  console.log(`# ten megabytes: compared in ${Date.now() - asked} ms`)
  assert.ok(Date.now() - asked < 10_000)
  await tab('Messages').click()
  await unharmed()
})

test('pictures of the conversation are drawn, and nothing is asked of another host', async () => {
  await messages().getByRole('button', { name: 'Open t4' }).click()
  const picture = panel().getByRole('img', { name: 'From the conversation' })
  await picture.waitFor()
  assert.ok(await picture.evaluate((image) => image.naturalWidth > 0))
  await unharmed()
})
