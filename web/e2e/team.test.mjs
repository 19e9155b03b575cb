// A daemon that serves a team: people sign in with their keys, see what is theirs, and admins manage the team.

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { complaintsOf, Stage, until } from './stage.mjs'

/** Screenshots go here, if it is set. */
const PICTURES = process.env.CTX_E2E_PICTURES

let stage
const keys = {}
before(async () => {
  stage = await Stage.start({ ctx: ['--team'] })
  for (const [name, role, group] of [['anna', 'member', 'core'], ['bob', 'member', 'core'], ['eve', 'auditor'], ['adam', 'admin']]) {
    await stage.ctx('people', 'add', name, '--role', role, ...(group === undefined ? [] : ['--group', group]))
    keys[name] = (await stage.ctx('keys', 'new', name, '--label', 'laptop')).key
  }
  for (const [name, text] of [['anna', 'plan the zebra release'], ['bob', 'count the herons']]) {
    const client = stage.another({ headers: { 'x-ctx-key': keys[name] } })
    await client.say(`${text}\nSAY:done with it`)
    await client.say('USE_TOOL:Read:src/main.rs ;;THEN;; SAY:read it')
  }
})
after(() => stage.stop())

async function signedIn(name, options = {}) {
  const page = await stage.open({ link: false, wait: false, ...options })
  await page.getByLabel('Key').fill(keys[name])
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: `Signed in as ${name}` }).waitFor()
  return page
}

const conversations = (page) => page.getByRole('list', { name: 'Conversations' })
const told = (page) => page.getByRole('log', { name: 'Notices' })

/** Complaints of the browser about anything but refusals before the sign-in. */
const complaints = (page) => page.complaints.filter((words) => !/status of 401/.test(words))

async function picture(page, name) {
  if (PICTURES === undefined) return
  mkdirSync(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `${name}.png`) })
}

async function account(page, item) {
  await page.getByRole('button', { name: /^Signed in as/ }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

test('a person signs in with their key, sees their own conversations, and signs out', async () => {
  const page = await stage.open({ link: false, wait: false })
  await page.getByRole('heading', { name: 'Sign in to Context Composer' }).waitFor()
  await picture(page, 'sign-in')
  await page.getByLabel('Key').fill('ctxk_wrong')
  await page.keyboard.press('Enter')
  await page.getByText(/unknown, expired or revoked/).waitFor()
  // Nothing draws the form anew while a person reads or types.
  await page.waitForTimeout(6000)
  await page.getByText(/unknown, expired or revoked/).waitFor()
  assert.equal(await page.getByLabel('Key').inputValue(), 'ctxk_wrong')
  await page.getByLabel('Key').fill(keys.anna)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Signed in as anna' }).waitFor()
  await conversations(page).getByText('plan the zebra release').waitFor()
  assert.equal(await conversations(page).getByText('herons').count(), 0)
  assert.doesNotMatch(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie + location.href), /ctxk_/)
  const cookies = await page.context().cookies()
  assert.ok(cookies.length > 0 && cookies.every(({ httpOnly, sameSite }) => httpOnly && sameSite === 'Strict'), JSON.stringify(cookies))
  await page.reload()
  await page.getByRole('button', { name: 'Signed in as anna' }).click()
  await page.getByText('member · core').waitFor()
  await picture(page, 'account')
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to Context Composer' }).waitFor()
  // The old halves of the session are worthless, even together.
  await page.context().addCookies(cookies)
  await page.reload()
  await page.getByRole('heading', { name: 'Sign in to Context Composer' }).waitFor()
  assert.deepEqual(complaints(page), [])
  await page.context().close()
})

test('a member shares a conversation, and the other person finds it under its owner', async () => {
  const anna = await signedIn('anna')
  await account(anna, 'What I share')
  await anna.getByText('Nothing is shared.').waitFor()
  await anna.getByLabel('Name').fill('bob')
  await anna.getByRole('button', { name: 'Share', exact: true }).click()
  await told(anna).getByText('Shared with bob').waitFor()
  await anna.getByRole('table', { name: 'Shares' }).getByText('look').waitFor()
  await picture(anna, 'shares')
  const bob = await signedIn('bob')
  await conversations(bob).getByText('from anna').click()
  await bob.getByText('owner anna').waitFor()
  await bob.locator('[id="row-t1"]').waitFor()
  await picture(bob, 'shared')
  await anna.getByRole('button', { name: 'End' }).click()
  await told(anna).getByText('No longer shared with bob').waitFor()
  await bob.reload()
  await until(async () => (await conversations(bob).getByText('from anna').count()) === 0, 'it is gone for bob')
  for (const page of [anna, bob]) {
    assert.deepEqual(complaints(page).filter((words) => !/status of 404/.test(words)), [])
    await page.context().close()
  }
})

test('an admin adds a person, makes a key that is shown once, and revokes it', async () => {
  const page = await signedIn('adam', { colorScheme: 'dark' })
  await account(page, 'Team')
  const people = page.getByRole('table', { name: 'People' })
  await people.getByRole('rowheader', { name: 'anna' }).waitFor()
  await page.getByLabel('Name', { exact: true }).fill('carl')
  await page.getByLabel('Groups', { exact: true }).fill('web')
  await page.getByRole('button', { name: 'Add person' }).click()
  await people.getByRole('rowheader', { name: 'carl' }).waitFor()
  await picture(page, 'people-dark')
  await people.getByLabel('Role of carl').selectOption('auditor')
  await told(page).getByText('carl is now auditor').waitFor()
  await people.getByLabel('Groups of carl').fill('web, core')
  await page.keyboard.press('Enter')
  await told(page).getByText('Changed the groups of carl').waitFor()
  const { people: stored } = await stage.ctx('people', 'list')
  const carl = stored.find(({ name }) => name === 'carl')
  assert.deepEqual([carl.role, carl.groups], ['auditor', ['core', 'web']])

  await page.getByRole('button', { name: 'Actions for carl' }).click()
  await page.getByRole('menuitem', { name: 'New key' }).click()
  const dialog = page.getByRole('dialog', { name: 'New key for carl' })
  const key = (await dialog.getByText(/^ctxk_[0-9a-f]{64}$/).innerText()).trim()
  await picture(page, 'new-key')
  keys.carl = key
  await dialog.getByRole('button', { name: 'Done' }).click()
  await dialog.waitFor({ state: 'detached' })
  assert.ok(!(await page.content()).includes(key), 'it is not shown again')
  const me = () => fetch(`${stage.origin}/control/v1/me`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal((await (await me()).json()).name, 'carl')

  await page.getByText('Keys', { exact: true }).first().click()
  const row = page.getByRole('table', { name: 'Keys' }).getByRole('row').filter({ hasText: key.slice(0, 11) })
  await picture(page, 'keys')
  await row.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await row.getByText('revoked').waitFor()
  assert.equal((await me()).status, 401)

  await page.getByText('Audit log', { exact: true }).click()
  const audit = page.getByRole('table', { name: 'Audit log' })
  await audit.getByText('key-revoked').waitFor()
  await audit.getByText('signed-in').first().waitFor()
  await picture(page, 'audit')
  await page.getByText('Daemons', { exact: true }).click()
  await page.getByRole('table', { name: 'Daemons' }).getByText('in service').waitFor()
  await picture(page, 'daemons')
  assert.deepEqual(complaints(page), [])
  await page.context().close()
})

test('an auditor sees figures without words, and opens a conversation for a reason that its owner reads', async () => {
  const page = await signedIn('eve')
  await account(page, 'Team')
  const people = page.getByRole('table', { name: 'People' })
  await people.getByRole('rowheader', { name: 'anna' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Add person' }).count(), 0)
  await page.getByRole('button', { name: 'Actions for anna' }).click()
  assert.equal(await page.getByRole('menuitem', { name: 'New key' }).count(), 0)
  await page.getByRole('menuitem', { name: 'Conversations (figures)' }).click()
  const dialog = page.getByRole('dialog', { name: 'Conversations of anna' })
  await dialog.getByText('claude-sonnet-4-5').waitFor()
  assert.doesNotMatch(await page.content(), /zebra/)
  await dialog.getByRole('button', { name: 'Open…' }).click()
  await dialog.getByLabel(/^Why do you open/).fill('incident 42: a leaked token')
  await picture(page, 'figures')
  await dialog.getByRole('button', { name: 'Open for an hour' }).click()
  await page.getByText('owner anna').waitFor()
  assert.deepEqual(complaints(page), [])
  await page.context().close()

  const anna = await signedIn('anna')
  await account(anna, 'Opened by others')
  await anna.getByText('incident 42: a leaked token').waitFor()
  await picture(anna, 'notices')
  await anna.context().close()
})

test('a person sees which machine asks to sign in, and only a click lets it', async () => {
  const post = async (path, body) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${stage.origin}/control/login${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return response.json()
  }
  const { code, secret } = await post('', { machine: 'annas <i>laptop</i>' })
  const page = await stage.open({ link: false, wait: false })
  await page.goto(`${stage.origin}/ui/#login/${code}`)
  await page.getByLabel('Key').fill(keys.anna)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Sign in a machine as anna?' }).waitFor()
  await page.getByText(code, { exact: true }).waitFor()
  await page.getByText('annas ilaptopi').waitFor()
  await picture(page, 'login')
  assert.deepEqual(await complaintsOf(page), [])
  await page.keyboard.press('Enter')
  await page.waitForTimeout(2000)
  assert.equal((await post('/key', { code, secret })).key, null, 'neither the link nor a key of the keyboard decides')
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('heading', { name: 'Approved' }).waitFor()
  await page.waitForTimeout(2000)
  const { key, person } = await post('/key', { code, secret })
  assert.equal(person, 'anna')
  const me = await fetch(`${stage.origin}/control/v1/me`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal((await me.json()).name, 'anna')

  await page.goto(`${stage.origin}/ui/#login`)
  await page.getByLabel('Code').fill(code.toLowerCase())
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('No login waits with this code.').waitFor()
  assert.deepEqual(complaints(page).filter((words) => !/status of 404/.test(words)), [])
  await page.context().close()
})

test('axe finds nothing serious in the sign-in and in any section of the team', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const page = await stage.open({ link: false, wait: false, colorScheme })
    await page.getByLabel('Key').waitFor()
    assert.deepEqual(await complaintsOf(page), [], 'sign-in')
    await page.context().close()
    const admin = await signedIn('adam', { colorScheme })
    for (const section of ['people', 'keys', 'shares', 'notices', 'audit', 'daemons']) {
      await admin.goto(`${stage.origin}/ui/#team/${section}`)
      await admin.getByRole('heading', { name: 'Team' }).waitFor()
      await admin.waitForTimeout(300)
      assert.deepEqual(await complaintsOf(admin), [], `${section}, ${colorScheme}`)
    }
    await admin.context().close()
  }
})
