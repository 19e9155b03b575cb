// The documentation site, as `cargo xtask site` built it, below a folder of a plain file server: pages, search and the
// player work, and no other host is asked.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const SITE = process.env.CTX_TEST_SITE ?? fileURLToPath(new URL('../../target/site/book', import.meta.url))
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.png': 'image/png', '.woff2': 'font/woff2' }

let server, browser, origin
before(async () => {
  assert.ok(existsSync(join(SITE, 'index.html')), '`cargo xtask site` builds the site first')
  server = createServer((request, response) => {
    const path = new URL(request.url, 'http://site').pathname.replace(/^\/deep\/place/, '')
    const file = join(SITE, path.endsWith('/') ? `${path}index.html` : path)
    if (!existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'text/plain' }).end(readFileSync(file))
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  origin = `http://127.0.0.1:${server.address().port}`
  browser = await chromium.launch({ executablePath: process.env.CTX_TEST_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
})
after(async () => {
  await browser?.close()
  server?.close()
})

/** A tab on a page of the site that collects errors and requests for other hosts. */
async function open(path) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  page.complaints = []
  page.on('console', (message) => message.type() === 'error' && page.complaints.push(message.text()))
  page.on('pageerror', (error) => page.complaints.push(error.message))
  page.on('response', (response) => response.status() >= 400 && page.complaints.push(`${response.status()} ${response.url()}`))
  page.on('request', (request) => /^https?:/.test(request.url()) && !request.url().startsWith(`${origin}/deep/place/`) && page.complaints.push(`asked ${request.url()}`))
  await page.goto(`${origin}/deep/place/${path}`)
  return page
}

test('the first page is the README, and its links and pictures work', async () => {
  const page = await open('index.html')
  await page.getByRole('heading', { level: 1, name: 'Context Composer' }).last().waitFor()
  const widths = await page.locator('main img').evaluateAll((images) => images.map((image) => image.naturalWidth))
  assert.ok(widths.length > 0 && widths.every((width) => width === 1280), `${widths}`)
  await page.locator('main').getByRole('link', { name: 'Recipes', exact: true }).click()
  await page.getByRole('heading', { name: 'My session is refused' }).waitFor()
  await page.locator('#mdbook-sidebar').getByRole('link', { name: 'Guide', exact: true }).waitFor()
  assert.deepEqual(page.complaints, [])
})

test('the search finds a heading of another page', async () => {
  const page = await open('docs/decisions/index.html')
  await page.keyboard.press('s')
  await page.keyboard.type('remove a tangent')
  await page.locator('#mdbook-searchresults a').filter({ hasText: 'Remove a tangent' }).first().click()
  await page.waitForURL(/recipes\.html.*#remove-a-tangent/)
  assert.deepEqual(page.complaints, [])
})

test('the recorded walk-through plays', async () => {
  const page = await open('docs/walkthrough.html')
  await page.locator('.ap-overlay-start').click()
  await page.locator('.ap-term-text, .ap-terminal, .ap-term').getByText('Where do the tokens of this conversation go?').first().waitFor()
  assert.deepEqual(page.complaints, [])
})
