// Finding things: the palette and the search field.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage } from './stage.mjs'

let stage, id
before(async () => {
  stage = await Stage.start()
  const stat = 'src/lexer.rs and many other files, 2 files changed, 46 insertions(+), 31 deletions(-)'
  for (let number = 1; number <= 12; number += 1) await stage.say(`Task ${number}\nUSE_TOOL:Bash:git diff --stat ;;THEN;; SAY:done ${number}`, { results: { Bash: stat } })
  id = (await stage.ctx('conversations')).conversations[0].id
})
after(() => stage.stop())

const palette = (page) => page.getByRole('dialog', { name: 'Command palette' })

test('with nothing selected the palette finds Delete, and says what to do first', async () => {
  const page = await stage.open({ hash: `#/${id}/history` })
  await page.keyboard.press('Control+k')
  await palette(page).waitFor()
  await page.keyboard.type('dele')
  const option = palette(page).getByRole('option').filter({ hasText: /^Delete/ })
  await option.getByText('Select a frame first.').waitFor()
  await option.click()
  await page.getByRole('log', { name: 'Notices' }).getByText(/Select a frame first.*press Del/).waitFor()
  assert.match(page.url(), /\/frames/)
  await page.context().close()
})

test('hits in the text begin shortly before the match, and mark it', async () => {
  const page = await stage.open({ hash: `#/${id}/frames` })
  await page.keyboard.press('Control+k')
  await palette(page).waitFor()
  await page.keyboard.type('deletions')
  const mark = palette(page).locator('mark', { hasText: 'deletions' }).first()
  await mark.waitFor()
  const [hit, list] = [await mark.boundingBox(), await palette(page).getByRole('listbox').boundingBox()]
  assert.ok(hit.x + hit.width < list.x + list.width, 'the match is in sight')
  await palette(page).getByText(/\d of 12 matches in the text/).waitFor()
  await page.context().close()
})

test('the search field says how many places it shows, and shows all of them when asked', async () => {
  const page = await stage.open({ hash: `#/${id}/frames` })
  await page.getByLabel('Search conversations and text').fill('deletions')
  const found = page.getByRole('region', { name: 'In the text' })
  await found.getByText(/12 places, \d+ shown/).waitFor()
  await found.getByRole('button', { name: 'Show all 12' }).click()
  await found.getByRole('button', { name: 'Show all 12' }).waitFor({ state: 'detached' })
  assert.equal(await found.getByRole('listitem').count(), 12)
  await page.context().close()
})

test('what is typed before the palette is there goes into it', async () => {
  const page = await stage.open({ hash: `#/${id}/frames` })
  await page.route('**/PaletteDialog*.js', async (route) => {
    await new Promise((done) => setTimeout(done, 500))
    await route.continue()
  })
  await page.locator('[id="row-t3"]').getByRole('checkbox').click()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('compact docx')
  await page.keyboard.press('Backspace')
  await palette(page).waitFor()
  await page.keyboard.type('s')
  assert.equal(await palette(page).getByRole('combobox').inputValue(), 'compact docs')
  assert.equal(await page.locator('form').count(), 0, 'no letter was taken for a key')
  await page.keyboard.press('Escape')
  await palette(page).waitFor({ state: 'detached' })
  await page.context().close()
})
