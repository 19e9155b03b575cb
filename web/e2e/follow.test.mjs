// The page stays with the conversation that is being worked in; following the active one is a switch.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, until } from './stage.mjs'

let stage
before(async () => (stage = await Stage.start()))
after(() => stage.stop())

const heading = (page) => page.getByRole('heading', { level: 2 }).first()
const follow = (page) => page.getByRole('button', { name: /^Follow(ing)? the active conversation$/ })
const isFollowing = async (page) => (await follow(page).getAttribute('aria-pressed')) === 'true'
const row = (page, id) => page.locator(`[id="row-${id}"]`)

let number = 0
/** A conversation of its own that becomes the active one. */
async function agent(words) {
  number += 1
  const client = stage.another()
  await client.say(`${words} ${number}\nSAY:fine`)
  return { client, title: `${words} ${number}` }
}

async function shows(page, title) {
  await until(async () => (await heading(page).innerText()).includes(title), `the page shows ${title}`)
}

test('a page that is only looked at follows the active conversation, and says so', async () => {
  const one = await agent('first project')
  const page = await stage.open()
  await shows(page, one.title)
  assert.equal(await isFollowing(page), true)
  await page.getByText('Following the active conversation').waitFor()
  const two = await agent('second project')
  await shows(page, two.title)
  await page.context().close()
})

const WAYS = {
  'a click': (page) => page.getByText('Title', { exact: true }).click(),
  'a selection by key': (page) => page.keyboard.press('j'),
  'a form by key': (page) => page.keyboard.press('a'),
  'an open frame': (page) => page.evaluate(() => (location.hash += '/t1')),
}

for (const [way, act] of Object.entries(WAYS)) {
  test(`after ${way} the page stays, and tells quietly that another conversation is active`, async () => {
    const mine = await agent('my work')
    const page = await stage.open()
    await shows(page, mine.title)
    await row(page, 't1').waitFor()
    await act(page)
    await until(async () => !(await isFollowing(page)), 'it follows no longer')
    const other = await agent('other work')
    const notice = page.getByRole('status').filter({ hasText: `Now active: ${other.title}` })
    await notice.waitFor()
    await shows(page, mine.title)
    await notice.getByRole('button', { name: 'Dismiss' }).click()
    await notice.waitFor({ state: 'detached' })
    const third = await agent('third work')
    await page.getByRole('status').filter({ hasText: third.title }).getByRole('button', { name: 'Show' }).click()
    await shows(page, third.title)
    assert.deepEqual(page.complaints, [])
    await page.context().close()
  })
}

test('a half-written summary survives another agent at work', async () => {
  const mine = await agent('summary work')
  const page = await stage.open()
  await shows(page, mine.title)
  await row(page, 't1').getByRole('checkbox').click()
  await page.keyboard.press('c')
  const field = page.locator('form').getByLabel('Summary', { exact: true })
  await until(async () => (await field.inputValue()) !== '', 'a summary to begin from')
  await field.fill('MY HALF-WRITTEN')
  await agent('noise')
  await page.getByText(/Now active: noise/).waitFor()
  await page.keyboard.type(' SUMMARY')
  assert.equal(await field.inputValue(), 'MY HALF-WRITTEN SUMMARY')
  await page.context().close()
})

test('following can be switched off and on again', async () => {
  const one = await agent('switch one')
  const page = await stage.open()
  await shows(page, one.title)
  await follow(page).click()
  assert.equal(await isFollowing(page), false)
  const two = await agent('switch two')
  await page.getByText(`Now active: ${two.title}`).waitFor()
  await shows(page, one.title)
  await follow(page).click()
  await shows(page, two.title)
  assert.equal(await isFollowing(page), true)
  await page.context().close()
})
