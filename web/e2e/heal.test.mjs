// A conversation that the provider refuses is healed from the page.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, until } from './stage.mjs'

let stage

before(async () => {
  stage = await Stage.start()
  await stage.say('SAY: one')
  await stage.say('SAY: two')
})

after(() => stage.stop())

test('the page says what the provider refuses, and takes it out', async () => {
  const page = await stage.open({ view: 'frames' })
  await stage.say('FAIL:400:1:messages.2.content.0: Could not process image').catch(() => {})
  const notice = page.getByRole('alert').filter({ hasText: 'Could not process image' })
  await notice.getByText('t2', { exact: false }).waitFor()
  await notice.getByRole('button', { name: 'Remove it' }).click()
  await until(async () => (await stage.ctx('history')).commits.length === 1, 'a commit')
  assert.match((await stage.ctx('history')).commits[0].note, /Could not process image/)
  await stage.say('SAY: three')
  assert.ok(!stage.sent().includes('SAY: two'), 'what was refused is not sent any more')
  await until(async () => (await page.getByRole('alert').count()) === 0, 'the notice goes')
  assert.deepEqual(page.complaints, [])
})
