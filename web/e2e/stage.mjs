// The stage of the browser tests: client ─► ctx ─► fake provider, all for real, and a browser that looks at it.
//
//   const stage = await Stage.start()
//   await stage.say('SAY:words')            a turn; answers and tool results are played until the model has done
//   stage.received()                        the last body that the provider got
//   await stage.ctx('delete', 't2')         the CLI, its JSON
//   const page = await stage.open({ view: 'frames' })
//   await stage.stop()
//
// Environment: CTX_BIN and TESTKIT_BIN (else those of `cargo build`), CTX_TEST_CHROMIUM, and CTX_TEST_PAGE: a folder
// with a built page that is shown instead of the one in the binary.

import { execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'

const target = fileURLToPath(new URL('../../target/debug/', import.meta.url))
const CTX = process.env.CTX_BIN ?? join(target, 'ctx')
const TESTKIT = process.env.TESTKIT_BIN ?? join(target, 'testkit')
const PAGE = process.env.CTX_TEST_PAGE
const FONTS = fileURLToPath(new URL('fonts.conf', import.meta.url))
const BROWSER = {
  env: { ...process.env, FONTCONFIG_FILE: FONTS },
  executablePath: process.env.CTX_TEST_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
}
/** A busy machine is slow, not wrong: what has a limit that matters says it itself (`numbers.test.mjs`). */
const PATIENCE = 60_000
const run = promisify(execFile)

/** Tools of the made-up client, with what they give back. */
export const TOOLS = {
  Read: { input: 'file_path', run: ({ file_path }) => `1\tcontent of ${file_path}\n${'2\tpub fn line(bytes: &[u8]) -> Span {\n'.repeat(60)}` },
  Bash: { input: 'command', run: ({ command }) => `$ ${command}\n${'test parser::works ... ok\n'.repeat(30)}` },
  Grep: { input: 'pattern', run: ({ pattern }) => `src/lib.rs:12: ${pattern}\n`.repeat(12) },
  Edit: { input: 'file_path', run: ({ file_path }) => `${file_path} has been updated.` },
}

const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }

export class Stage {
  #children = []
  #contexts = []

  /** `ctx`, `provider`: more arguments for each. `identity`: further settings of `[team.oidc]`, for a stage with an identity provider. */
  static async start(options) {
    const stage = new Stage()
    try {
      await stage.#start(options)
    } catch (error) {
      const words = stage.#children.map(({ words }) => words).join('')
      await stage.stop()
      throw new Error(`the stage cannot be set: ${error.message}\n${words}`)
    }
    return stage
  }

  /** A stage with the conversation of `ctx demo`, which brings its own provider. */
  static async demo() {
    const stage = new Stage()
    stage.folder = mkdtempSync(join(tmpdir(), 'ctx-e2e-'))
    stage.env = { PATH: process.env.PATH, HOME: stage.folder, TMPDIR: stage.folder }
    stage.daemon = stage.#run(CTX, ['demo'])
    const greeting = await until(() => /export CTX_HOME=(.*)/.exec(stage.daemon.words), 'the demo is up')
    stage.home = greeting[1].trim()
    stage.origin = `http://${JSON.parse(readFileSync(join(stage.home, 'daemon.json'), 'utf8')).listen}`
    stage.port = new URL(stage.origin).port
    return stage
  }

  async #start({ ctx = [], provider = [], env = {}, identity } = {}) {
    this.folder = mkdtempSync(join(tmpdir(), 'ctx-e2e-'))
    this.home = join(this.folder, 'home')
    this.records = join(this.folder, 'records')
    mkdirSync(this.records)
    this.env = { PATH: process.env.PATH, HOME: this.folder, ...env }
    const portFile = join(this.folder, 'port')
    this.#run(TESTKIT, ['fake-provider', '--strict', '--bind-thinking', '--record', this.records, '--record-raw', '--port', '0', '--port-file', portFile, ...provider])
    await until(() => existsSync(portFile) && readFileSync(portFile, 'utf8').trim() !== '', 'the fake provider listens')
    this.upstream = `http://127.0.0.1:${readFileSync(portFile, 'utf8').trim()}`
    this.port = await freePort()
    this.origin = `http://127.0.0.1:${this.port}`
    this.arguments = ctx
    if (identity !== undefined) await this.#identify(identity)
    await this.startDaemon()
    this.client = new Client(this.origin)
  }

  /** An identity provider, and the settings of a daemon that trusts it. */
  async #identify(settings) {
    const portFile = join(this.folder, 'identity-port')
    this.#run(TESTKIT, ['identity-provider', '--port', '0', '--port-file', portFile, '--redirect', `${this.origin}/ui/sign-in/oidc/return`])
    await until(() => existsSync(portFile) && readFileSync(portFile, 'utf8').trim() !== '', 'the identity provider listens')
    this.issuer = `http://127.0.0.1:${readFileSync(portFile, 'utf8').trim()}`
    this.env.CTX_TEST_SECRET = 'secret'
    mkdirSync(this.home, { mode: 0o700 })
    writeFileSync(
      join(this.home, 'ctx.toml'),
      `[listen]\npublic_url = "${this.origin}"\n[team.oidc]\nissuer = "${this.issuer}"\nclient_id = "ctx"\nclient_secret_env = "CTX_TEST_SECRET"\n${settings}\n`,
    )
  }

  /** Who the browser belongs to at the identity provider. */
  async becomes(claims) {
    await fetch(`${this.issuer}/_fake/user`, { method: 'POST', body: JSON.stringify(claims) })
  }

  async startDaemon() {
    this.daemon = this.#run(CTX, ['up', '--listen', `127.0.0.1:${this.port}`, '--home', this.home, '--upstream', this.upstream, ...this.arguments])
    await until(() => fetch(`${this.origin}/control/v1/status`).then(() => true, () => false), 'the daemon listens')
  }

  async stopDaemon() {
    await ended(this.daemon)
  }

  #run(program, args) {
    const child = spawn(program, args, { env: this.env, cwd: this.folder, stdio: ['ignore', 'pipe', 'pipe'] })
    child.words = ''
    for (const output of [child.stdout, child.stderr]) output.on('data', (chunk) => (child.words = (child.words + chunk).slice(-4000)))
    child.on('error', (error) => (child.words += error))
    // Whatever becomes of the test, nothing is left running.
    const end = () => child.kill('SIGKILL')
    process.on('exit', end)
    child.on('exit', () => process.off('exit', end))
    this.#children.push(child)
    return child
  }

  /** A turn of the conversation; see Client.say. */
  say(text, options) {
    return this.client.say(text, options)
  }

  /** Another client, with a session of its own. */
  another(options) {
    return new Client(this.origin, options)
  }

  /** The bodies that the provider got, oldest first. */
  bodies() {
    const names = readdirSync(this.records).filter((name) => /_POST_v1_messages\.json$/.test(name)).sort()
    return names.map((name) => JSON.parse(readFileSync(join(this.records, name), 'utf8')).body)
  }

  received() {
    return this.bodies().at(-1)
  }

  /** All words of the last body, for `includes`. */
  sent() {
    return JSON.stringify(this.received())
  }

  /** Runs the CLI and returns its JSON. */
  async ctx(...args) {
    const { stdout } = await run(CTX, [...args, '--json', '--home', this.home, '--listen', `127.0.0.1:${this.port}`], { env: this.env, cwd: this.folder, maxBuffer: 1 << 28 })
    return JSON.parse(stdout)
  }

  /** The control API, for checks. */
  async api(path, body) {
    const response = await fetch(`${this.origin}/control/v1/${path}`, {
      headers: { authorization: `Bearer ${this.token()}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
    return response.json()
  }

  token() {
    return readFileSync(join(this.home, 'token'), 'utf8').trim()
  }

  /** What `ctx ui` prints. */
  link() {
    return `${this.origin}/ui/?token=${this.token()}`
  }

  async browser() {
    this.chromium ??= await chromium.launch(BROWSER)
    return this.chromium
  }

  /**
   * A new tab on the page. `link`: with the operator's session. `tab`: another tab of the same browser window (they share storage as tabs do); `complaints`
   * of the answer collects what the page wrote as an error, and every other host that it asked.
   */
  async open({ view = 'frames', open = null, hash, width = 1400, height = 900, colorScheme = 'light', tab, dist = PAGE, wait = true, link = true } = {}) {
    let context = tab?.context()
    /** The page's half of its session, which the link hands over once. */
    let key = ''
    if (context === undefined) {
      context = await (await this.browser()).newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' })
      context.setDefaultTimeout(PATIENCE)
      this.#contexts.push(context)
      const entered = await context.request.get(link ? this.link() : `${this.origin}/ui/`)
      key = new URL(entered.url()).search
      if (dist !== undefined) await serve(context, dist, entered.headers()['content-security-policy'])
    }
    const page = await context.newPage()
    page.complaints = []
    // Refusals of the daemon are answers like others; the browser calls each one an error.
    const refused = /status of (409|422)/
    page.on('console', (message) => message.type() === 'error' && !refused.test(message.text()) && page.complaints.push(message.text()))
    page.on('pageerror', (error) => page.complaints.push(error.message))
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url())
      if (!['data:', 'blob:'].includes(protocol) && origin !== this.origin) page.complaints.push(`asked ${origin}`)
    })
    const address = hash ?? `#/active/${view}${open === null ? '' : `/${encodeURIComponent(open)}`}`
    await page.goto(`${this.origin}/ui/${key}${address}`)
    if (wait) await page.getByRole('heading', { level: 2 }).first().waitFor()
    return page
  }

  /** What pages that a test left open show: where it failed, this says more than the line that waited. */
  async #tell() {
    for (const page of this.#contexts.flatMap((context) => context.pages())) {
      const words = await page.locator('body').innerText({ timeout: 2000 }).catch(String)
      console.log(`left open: ${page.url()}\n${words.slice(0, 3000)}`)
    }
  }

  async stop() {
    if (process.env.CTX_E2E_TELL !== undefined) await this.#tell()
    await this.chromium?.close()
    await Promise.all(this.#children.map(ended))
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Plays a coding agent: a growing conversation, sent whole with every request. */
export class Client {
  constructor(origin, { session = randomUUID(), model = 'claude-sonnet-4-5', system, headers = {}, tools = TOOLS, body = {} } = {}) {
    this.origin = origin
    this.session = session
    this.headers = headers
    this.tools = tools
    this.messages = []
    this.body = {
      model,
      max_tokens: 4096,
      system: [{ type: 'text', text: system ?? `You are an agent that helps with software work.\n${'Read before you write.\n'.repeat(40)}`, cache_control: { type: 'ephemeral' } }],
      tools: Object.entries(tools).map(([name, { input }]) => ({
        name,
        description: `${name} does what its name says. ${'It is quick. '.repeat(20)}`,
        input_schema: { type: 'object', properties: { [input]: { type: 'string' } }, required: [input] },
      })),
      ...body,
    }
  }

  /**
   * Says something (with the directives of the fake provider: `SAY:x`, `THINK:x`, `USE_TOOL:Read:a.rs`, `;;` between
   * them, `;;THEN;;` between answers) and plays tools until the model has done. `results`: content for tool results by
   * tool name, a text or a function of the input. `content`: blocks instead of the text.
   */
  async say(text, { results = {}, content, stream = false } = {}) {
    this.messages.push({ role: 'user', content: content ?? [{ type: 'text', text }] })
    for (;;) {
      const answer = await this.send({ stream })
      if (answer.type === 'error') {
        this.messages.pop()
        throw new Error(JSON.stringify(answer.error))
      }
      this.messages.push({ role: 'assistant', content: answer.content })
      const calls = answer.content.filter(({ type }) => type === 'tool_use')
      if (calls.length === 0) return answer
      this.messages.push({ role: 'user', content: calls.map((call) => this.#result(call, results)) })
    }
  }

  #result({ id, name, input }, results) {
    const made = results[name] ?? this.tools[name]?.run ?? 'done'
    const content = typeof made === 'function' ? made(input) : made
    return { type: 'tool_result', tool_use_id: id, content }
  }

  /** The conversation as it stands, with the cache mark where agents put it. */
  async send({ stream = false, signal } = {}) {
    const response = await fetch(`${this.origin}/v1/messages`, { method: 'POST', signal, ...this.#request(stream) })
    return stream && response.ok ? streamed(response) : response.json()
  }

  /** Sends the first half of it. The function that is returned sends the rest and waits for the answer. */
  upload() {
    const { headers, body } = this.#request(false)
    const bytes = Buffer.from(body)
    const half = bytes.length >> 1
    const sending = request(`${this.origin}/v1/messages`, { method: 'POST', headers: { ...headers, 'content-length': bytes.length } })
    const answered = new Promise((done, failed) => sending.on('response', done).on('error', failed))
    sending.write(bytes.subarray(0, half))
    return async () => {
      sending.end(bytes.subarray(half))
      return json(await answered)
    }
  }

  #request(stream) {
    const messages = this.messages.map((message, index) => (index === this.messages.length - 1 ? marked(message) : message))
    return {
      headers: {
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
        'x-api-key': 'none',
        'user-agent': 'claude-cli/2.1.325 (external, cli)',
        'x-claude-code-session-id': this.session,
        'x-claude-code-request-class': 'main',
        ...this.headers,
      },
      body: JSON.stringify({ ...this.body, messages, stream }),
    }
  }
}

function marked(message) {
  const content = Array.isArray(message.content) ? message.content : [{ type: 'text', text: message.content }]
  return { ...message, content: content.map((block, index) => (index === content.length - 1 ? { ...block, cache_control: { type: 'ephemeral' } } : block)) }
}

/** The message that a stream of events makes. */
async function streamed(response) {
  let message
  for (const line of (await response.text()).split('\n')) {
    if (!line.startsWith('data:')) continue
    const event = JSON.parse(line.slice(5))
    if (event.type === 'error') return event
    if (event.type === 'message_start') message = { ...event.message, content: [] }
    if (event.type === 'content_block_start') message.content[event.index] = { ...event.content_block }
    if (event.type === 'content_block_delta') grow(message.content[event.index], event.delta)
    if (event.type === 'message_delta') Object.assign(message, event.delta)
  }
  for (const block of message.content) {
    if (block.json !== undefined) block.input = JSON.parse(block.json || '{}')
    delete block.json
  }
  return message
}

function grow(block, delta) {
  if (delta.type === 'text_delta') block.text += delta.text
  if (delta.type === 'thinking_delta') block.thinking += delta.thinking
  if (delta.type === 'signature_delta') block.signature = delta.signature
  if (delta.type === 'input_json_delta') block.json = (block.json ?? '') + delta.partial_json
}

/** Lets a folder stand in for the page in the binary, under the daemon's own policy. */
async function serve(context, dist, policy) {
  await context.route('**/ui/**', (route) => {
    const { pathname } = new URL(route.request().url())
    // Signing in and out is the daemon's own.
    if (route.request().method() === 'POST' || pathname.startsWith('/ui/sign-in/')) return route.continue()
    const name = pathname.replace(/^\/ui\/?/, '') || 'index.html'
    const file = join(dist, name)
    // A redirect is not caught, and leads to the page in the binary with files of its own.
    if (!existsSync(file)) return route.continue()
    return route.fulfill({
      body: readFileSync(file),
      headers: { 'content-type': TYPES[extname(name)] ?? 'application/octet-stream', 'content-security-policy': policy },
    })
  })
}

/** What axe finds that is serious. It knows nothing of the page's policy: it is brought in from outside, for this look only. */
export async function complaintsOf(at) {
  await at.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  const { violations } = await at.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join('\n')}`)
}

/** Waits until something is true, and says what was waited for when it never is. */
export async function until(check, what, patience = PATIENCE) {
  const end = Date.now() + patience
  for (;;) {
    const found = await check()
    if (found) return found
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((done) => setTimeout(done, 40))
  }
}

function freePort() {
  return new Promise((done, failed) => {
    const server = createServer()
    server.on('error', failed)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => done(port))
    })
  })
}

async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const gone = new Promise((done) => child.once('exit', done))
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), 5000)
  await gone
  clearTimeout(late)
}
