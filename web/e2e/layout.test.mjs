// Narrow screens and an open panel: titles stay readable, nothing lies over anything else.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage } from './stage.mjs'

let stage, id
before(async () => {
  stage = await Stage.start()
  const { client } = stage
  for (const words of ['Look at the parser and tell me why it is slow', 'Push the branch', 'Update the changelog', 'Start the release', 'Check all readers', 'Write tests for each of them']) {
    await client.say(`${words}\nTHINK:let me see ;; USE_TOOL:Bash:cargo test ;;THEN;; THINK:good ;; SAY:${words}: done.`)
  }
  await stage.ctx('compact', 't1', '--text', 'The parser copies too much.')
  await client.say('One more thing\nTHINK:what ;; SAY:fine')
  await stage.ctx('edit', 't7#0', '--text', 'One more thing, in other words')
  await stage.ctx('delete', 't3', '--when', 'cold')
  id = (await stage.ctx('conversations')).conversations[0].id
})
after(() => stage.stop())

/** Of every row: how wide the title is drawn, whether it is cut, and where marks and tokens are. */
const rows = (page) =>
  page.locator('[role=treeitem]').evaluateAll((all) =>
    all.map((row) => {
      const box = (element) => element?.getBoundingClientRect()
      const title = row.querySelector('bdi')
      const weight = [...row.querySelectorAll('span')].find((span) => / tokens/.test(span.title) && !span.querySelector('bdi'))
      const tree = box(row.parentElement)
      return {
        id: row.id,
        title: box(title).width,
        right: box(title).right,
        marks: [...row.querySelectorAll('[class*=mark_], [class*=_mark]')].map((mark) => box(mark).right),
        weight: box(weight).left,
        end: Math.max(...[...row.querySelectorAll('span')].filter((span) => box(span).width > 0).map((span) => box(span).right)),
        tree: tree.right,
      }
    }),
  )

const SCREENS = [
  { name: '1440 px with the panel', width: 1440, height: 900, hash: '/t2', least: 150 },
  { name: '1280 px with the panel', width: 1280, height: 800, hash: '/t2', least: 110 },
  { name: '1024 px', width: 1024, height: 768, hash: '', least: 150 },
  { name: '390 px', width: 390, height: 844, hash: '', least: 110 },
]

for (const { name, width, height, hash, least } of SCREENS) {
  test(`${name}: every frame has its title, and marks end before the tokens`, async () => {
    const page = await stage.open({ hash: `#/${id}/frames${hash}`, width, height })
    await page.locator('[id="row-t7"]').waitFor()
    await page.waitForTimeout(300)
    const found = await rows(page)
    assert.equal(found.length, 9)
    for (const { id: row, title, right, marks, weight, end, tree } of found) {
      assert.ok(title >= Math.min(least, 60), `${row} has a title: ${title}`)
      for (const mark of marks) assert.ok(mark <= weight + 1, `${row}: a mark ends at ${mark}, the tokens begin at ${weight}`)
      assert.ok(right <= weight, `${row}: the title ends before the tokens`)
      assert.ok(end <= tree + 1, `${row}: nothing is cut at the edge`)
    }
    assert.ok(found.filter(({ title }) => title >= least).length >= 6, `titles can be read: ${found.map(({ title }) => Math.round(title))}`)
    await page.context().close()
  })
}

test('thinking that is left out of many frames is one line above the list, and selects them', async () => {
  const page = await stage.open({ hash: `#/${id}/frames` })
  const note = page.getByRole('note')
  await note.getByText(/Thinking is no longer sent in \d frames/).waitFor()
  assert.equal(await page.getByRole('tree').getByText('thinking dropped').count(), 0)
  await note.getByRole('button', { name: 'Select them' }).click()
  assert.ok((await page.locator('[role=treeitem][aria-selected=true]').count()) >= 3)
  await page.context().close()
})

test('on a phone the header is small, and nothing speaks of keys', async () => {
  const page = await stage.open({ hash: `#/${id}/frames`, width: 390, height: 844 })
  await page.locator('[id="row-t1"]').waitFor()
  const { y } = await page.getByRole('radiogroup', { name: 'View' }).boundingBox()
  assert.ok(y < 844 / 6, `the views begin at ${y}`)
  assert.equal(await page.getByRole('contentinfo').getByText('Ctrl').isVisible(), false)
  await page.context().close()
})

test('numbers beside calls and messages say what they count, and the strip has a legend', async () => {
  const page = await stage.open({ hash: `#/${id}/chat` })
  const messages = page.getByRole('log', { name: 'Messages' })
  const call = messages.getByRole('button', { name: /^Bash/ }).first()
  await call.waitFor()
  assert.match(await call.innerText(), /\d+ B[\s\S]*\d+ tokens/)
  const legend = await page.getByRole('list', { name: 'Legend' }).innerText()
  assert.match(legend, /system prompt/)
  assert.match(legend, /7 frames, one segment each/)
  assert.match(legend, /free/)
  await page.context().close()
})
