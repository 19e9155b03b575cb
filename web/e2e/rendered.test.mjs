// Markdown, code, diffs and JSON as they are meant to be read, in the chat and in the panel; the text itself one click away.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, until } from './stage.mjs'

let stage
before(async () => (stage = await Stage.start()))
after(() => stage.stop())

const MARKDOWN = [
  '# What I found',
  'The **parser** drops `last`:',
  '- one',
  '- two',
  '| file | line |\n|---|---|\n| a.rs | 12 |',
  '```rust\nfn main() { let x = "text"; }\n```',
  '<img src=x onerror="window.ran=1"><script>window.ran=1</script>',
  '![picture](https://evil.example/pixel.png) [bad](javascript:window.ran=1) [good](https://example.com/a)',
].join('\n\n')

const TOOLS = {
  Read: '     1\tfn main() {\n     2\t    let s = "x"; // note\n     3\t}\n',
  Bash: 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old line\n+new line\n',
  Grep: '{"found":[1,2],"more":false}',
}

async function scene(view) {
  const client = stage.another()
  await client.say(`${MARKDOWN}\nUSE_TOOL:Read:src/main.rs ;; USE_TOOL:Bash:git diff ;; USE_TOOL:Grep:x ;;THEN;; SAY:All seen.`, { results: TOOLS })
  const { conversations } = await stage.ctx('conversations')
  const { id } = conversations.find(({ session }) => session === client.session)
  const page = await stage.open({ hash: view === 'chat' ? `#/${id}/chat` : `#/${id}/frames/t1` })
  const root = view === 'chat' ? page.getByRole('log', { name: 'Messages' }) : page.getByRole('complementary')
  await root.getByText('What I found').first().waitFor()
  return { page, root }
}

for (const view of ['chat', 'panel']) {
  test(`${view}: Markdown is rendered, and nothing in it runs, loads or leads astray`, async () => {
    const { page, root } = await scene(view)
    await root.locator('[data-depth="1"]', { hasText: 'What I found' }).waitFor()
    await root.locator('strong', { hasText: 'parser' }).waitFor()
    await root.locator('li', { hasText: 'one' }).first().waitFor()
    await root.locator('td', { hasText: 'a.rs' }).waitFor()
    await root.locator('pre[data-language=rust] [data-kind=keyword]', { hasText: 'fn' }).first().waitFor()
    assert.equal(await root.locator('img, script').count(), 0)
    assert.equal(await page.evaluate(() => window.ran), undefined)
    const links = await root.locator('a').evaluateAll((all) => all.map(({ href, rel, target }) => ({ href, rel, target })))
    assert.deepEqual(links.filter(({ href }) => !href.includes('evil.example')), [{ href: 'https://example.com/a', rel: 'noopener noreferrer', target: '_blank' }])
    assert.deepEqual(page.complaints, [], 'no other host was asked')
    await page.context().close()
  })

  test(`${view}: files, diffs and JSON of tools are coloured`, async () => {
    const { page, root } = await scene(view)
    const folds = root.locator('button[aria-expanded=false]').filter({ hasText: /Read|Bash|Grep/ })
    const file = root.locator('pre[data-numbered]').first()
    // Blocks come one after another, and some of them folded.
    await until(async () => {
      while ((await folds.count()) > 0) await folds.first().click()
      return (await file.locator('[data-kind=comment]').count()) > 0
    }, 'the file is open')
    await file.locator('[data-kind=comment]', { hasText: '// note' }).waitFor()
    assert.doesNotMatch(await file.innerText(), /\b2\b/, 'numbers are not part of the code')
    await root.locator('[data-line=added]', { hasText: '+new line' }).first().waitFor()
    await root.locator('[data-line=removed]', { hasText: '-old line' }).first().waitFor()
    await root.locator('pre[data-language=json] [data-kind=propertyName]', { hasText: '"found"' }).first().waitFor()
    await page.context().close()
  })

  test(`${view}: the text itself is one click away, and the same to the letter`, async () => {
    const { page, root } = await scene(view)
    const plain = root.getByRole('button', { name: 'Plain text' }).first()
    await plain.click({ force: true })
    await until(async () => (await root.innerText()).includes('# What I found'), 'the text is plain')
    const text = await root.innerText()
    for (const line of ['The **parser** drops `last`:', '```rust', '| a.rs | 12 |', '![picture](https://evil.example/pixel.png)']) assert.ok(text.includes(line), line)
    await plain.click({ force: true })
    await root.locator('strong', { hasText: 'parser' }).waitFor()
    await page.context().close()
  })
}
