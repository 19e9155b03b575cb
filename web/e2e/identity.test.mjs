// A daemon whose people sign in at an identity provider.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { complaintsOf, Stage } from './stage.mjs'

let stage
before(async () => {
  stage = await Stage.start({ ctx: ['--team'], identity: 'label = "Example Login"\ngroups_claim = "groups"\nadmin_groups = ["platform"]' })
  await stage.ctx('people', 'add', 'anna')
})
after(() => stage.stop())

const button = (page) => page.getByRole('link', { name: 'Sign in with Example Login' })

/** Complaints of the browser about anything but the refusal before the sign-in, and the way over the provider. */
const complaints = (page) => page.complaints.filter((words) => !/status of 401/.test(words) && words !== `asked ${stage.issuer}`)

test('a person signs in at the identity provider, stays signed in, and signs out', async () => {
  await stage.becomes({ sub: 'a-1', preferred_username: 'anna', groups: ['platform'] })
  const page = await stage.open({ link: false, wait: false })
  await button(page).waitFor()
  assert.deepEqual(await complaintsOf(page), [], 'axe')
  await button(page).click()
  await page.getByRole('button', { name: 'Signed in as anna' }).waitFor()
  assert.doesNotMatch(page.url(), /key=|code=|state=/)
  const cookies = await page.context().cookies(`${stage.origin}/ui/sign-in/oidc/return`)
  assert.ok(cookies.length > 0 && cookies.every(({ httpOnly, sameSite }) => httpOnly && sameSite === 'Strict'), JSON.stringify(cookies))
  await page.reload()
  await page.getByRole('button', { name: 'Signed in as anna' }).click()
  await page.getByText('admin · platform').waitFor()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await button(page).waitFor()
  assert.deepEqual(complaints(page), [])
  await page.context().close()
})

test('a person whom the team does not know reads why, and finds the way back', async () => {
  await stage.becomes({ sub: 'z-9', preferred_username: 'zoe', groups: [] })
  const page = await stage.open({ link: false, wait: false })
  await button(page).click()
  await page.getByText(/No person of this team is called zoe/).waitFor()
  await page.getByRole('link', { name: 'Back to the page' }).click()
  await button(page).waitFor()
  await page.context().close()
})
