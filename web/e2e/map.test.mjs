// The map through the page: a picture whose tiles lead to frames, and what is worth removing, judged by what the
// provider gets after it was staged and made.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, until } from './stage.mjs'

let stage
let page

before(async () => {
  stage = await Stage.start()
  await stage.say('USE_TOOL:Read:src/parser.rs ;; THEN ;; SAY: It ends too early.', { results: { Read: `OLD-CONTENT ${'line of the file\n'.repeat(600)}` } })
  await stage.say('USE_TOOL:Read:src/parser.rs ;; THEN ;; USE_TOOL:Bash:cargo test ;; THEN ;; SAY: Fixed.', { results: { Read: 'NEW-CONTENT', Bash: `TEST-OUTPUT ${'test ... ok\n'.repeat(900)}` } })
  await stage.say('USE_TOOL:Bash:git status ;; THEN ;; SAY: Clean.')
  await stage.say('SAY: Anything else?')
  page = await stage.open({ view: 'map' })
})

after(async () => {
  assert.deepEqual(page?.complaints ?? [], [])
  await stage.stop()
})

const tiles = () => page.getByRole('group', { name: /Composition of the context/ }).getByRole('button')

test('the picture has a tile for each part, and a tile opens its frame', async () => {
  const tile = tiles().filter({ hasText: 't1/1' }).first()
  await tile.click()
  assert.match(page.url(), /map\/t1%2F1/)
  await page.getByRole('complementary', { name: /t1\/1/ }).waitFor()
})

test('the list of kinds says the same in figures', async () => {
  const kinds = page.getByRole('list', { name: 'Kinds' }).getByRole('button')
  await until(async () => (await kinds.count()) >= 4, 'the kinds are listed')
  const texts = await kinds.allInnerTexts()
  assert.ok(texts.some((text) => /Read results/.test(text)), texts.join())
  assert.ok(texts.some((text) => /System prompt/.test(text)), texts.join())
})

test('arrow keys move between tiles', async () => {
  await tiles().first().focus()
  await page.keyboard.press('ArrowRight')
  assert.ok(await tiles().nth(1).evaluate((tile) => tile === document.activeElement))
})

test('what is out of date, large or unused is suggested', async () => {
  const waste = page.getByRole('region', { name: 'Worth removing' })
  await waste.getByText(/outdated/).first().waitFor()
  await waste.getByText('Bash cargo test').waitFor()
  await waste.getByText(/unused tool/).waitFor()
})

test('one click stages it, and made, the provider no longer gets it', async () => {
  const waste = page.getByRole('region', { name: 'Worth removing' })
  await waste.getByRole('button', { name: /^Stage: .*outdated/ }).click()
  await waste.getByRole('button', { name: /^Stage: .*outdated/ }).getByText('Staged').waitFor()
  await waste.getByRole('button', { name: /^Stage: .*unused/ }).click()
  assert.ok((await stage.ctx('history')).commits.length === 0, 'staging changes nothing')
  await page.keyboard.press('Control+Enter')
  await until(async () => (await stage.ctx('history')).commits.length === 1, 'the tray was committed')
  await stage.say('SAY: ok')
  const body = stage.sent()
  assert.ok(!body.includes('OLD-CONTENT'))
  assert.ok(body.includes('NEW-CONTENT') && body.includes('TEST-OUTPUT'))
  assert.ok(!stage.received().tools.some(({ name }) => name === 'Grep'))
})

test('the plot counts the requests', async () => {
  await page.getByRole('img', { name: /Context over \d+ requests/ }).waitFor()
})

test('what it cost, what the edit saved and what the cache missed is told, with the cause', async () => {
  const money = page.getByRole('region', { name: 'Costs and cache' })
  await money.getByText(/^\$0\.\d+$/).first().waitFor()
  await money.getByText(/^(saved by edits|cost of edits so far)$/).waitFor()
  const { misses } = await stage.api(`conversations/${(await stage.ctx('conversations')).conversations[0].id}/misses`)
  const { miss } = misses.find((one) => one.miss !== null && one.miss.cause !== 'first-request')
  await money.getByText(miss.words).first().waitFor()
  await page.getByText('cache missed').waitFor()
})

test('what the change cost is told in the history, with its cause and in money', async () => {
  await page.keyboard.press('4')
  await page.getByText(/tokens were read again because (of an edit|the tools changed)/).first().waitFor()
  await page.getByText(/\$0\.\d+/).first().waitFor()
})
