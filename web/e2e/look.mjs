// Opens the page in a real browser and says what it shows, as one JSON object. Driven by
// crates/cli/tests/clients/page.rs: node look.mjs LINK CHROMIUM CONVERSATION_TITLE
import { chromium } from 'playwright-core'

const [link, executablePath, title] = process.argv.slice(2)
const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', ...quiet] })
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
  const complaints = []
  const hosts = new Set()
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => hosts.add(new URL(request.url()).host))
  await page.goto(link)
  await page.getByText(title).first().waitFor()
  await page.getByText('t1', { exact: true }).first().waitFor()
  const address = page.url()
  const frames = await page.getByText(/^(system|tools|t\d+)$/).allInnerTexts()
  await page.getByText(title).last().click()
  await page.getByText('t1#0', { exact: true }).first().waitFor()
  // Without the cookie the page is closed to everybody.
  const stranger = await browser.newContext()
  const locked = await (await stranger.newPage()).goto(address)
  console.log(JSON.stringify({ address, frames, complaints, hosts: [...hosts], stranger: locked.status() }))
} finally {
  await browser.close()
}
