// A made-up agent at work, for pictures: a scripted model, a client that plays it through the real daemon, and a few
// edits. Nothing of it is real, everything passes through `ctx` as a real conversation would.

import { createServer } from 'node:http'
import { until } from '../e2e/stage.mjs'

const LINES = 'abcdefghij'

/** Text that looks like a file, of so many lines. */
function source(name, lines) {
  const body = Array.from({ length: lines }, (_, at) => {
    const word = `${LINES[at % 10]}${at}`
    return at % 9 === 0 ? `pub fn ${name}_${word}(input: &str) -> Result<Span, Error> {` : `    let ${word} = lexer.next_token(${at})?; // ${name} ${at}`
  })
  return body.map((line, at) => `${String(at + 1).padStart(5)}\t${line}`).join('\n')
}

const testRun = (passed, failed) =>
  [
    'running 312 tests',
    ...Array.from({ length: passed }, (_, at) => `test parser::tests::case_${at} ... ok`),
    ...Array.from({ length: failed }, (_, at) => `test parser::tests::last_token_${at} ... FAILED`),
    `test result: ${failed > 0 ? 'FAILED' : 'ok'}. ${passed} passed; ${failed} failed`,
  ].join('\n')

const read = (file) => ({ name: 'Read', input: { file_path: file } })
const bash = (command) => ({ name: 'Bash', input: { command } })
const grep = (pattern) => ({ name: 'Grep', input: { pattern } })
const edit = (file) => ({ name: 'Edit', input: { file_path: file, old_string: 'while self.at + 1 < self.end', new_string: 'while self.at < self.end' } })

/** What the user says, what the model does in each step, and what the tools give back. */
const STORY = [
  {
    user: 'The parser drops the last token of a file without a trailing newline. Find out why.',
    steps: [
      { think: 'The lexer yields tokens lazily. If the loop ends before the final flush, the last one is lost.', text: 'I will look at the parser and at how the lexer ends.', call: read('src/parser.rs'), result: source('parse', 420) },
      { call: grep('next_token'), result: Array.from({ length: 40 }, (_, at) => `src/parser.rs:${at * 7 + 12}: let token = self.next_token()?;`).join('\n') },
      { call: read('src/lexer.rs'), result: source('lex', 510) },
      { call: bash('cargo test parser'), result: testRun(180, 2) },
      { text: 'The loop in `Parser::tokens` stops one token before the end: it compares `at + 1` with `end`, so the last token is only seen when a newline follows it. Two tests show it.' },
    ],
  },
  {
    user: 'Fix it and run the tests.',
    steps: [
      { call: edit('src/parser.rs'), result: 'The file src/parser.rs has been updated.' },
      { call: read('src/parser.rs'), result: source('parse', 420) },
      { call: bash('cargo test'), result: testRun(312, 0) },
      { text: 'Fixed. All 312 tests pass, with two new ones for files without a trailing newline.' },
    ],
  },
  {
    user: 'Add a line to the changelog.',
    steps: [
      { call: read('CHANGELOG.md'), result: source('entry', 90) },
      { call: edit('CHANGELOG.md'), result: 'The file CHANGELOG.md has been updated.' },
      { text: 'Added under “Fixed”: the last token of a file without a trailing newline is no longer lost.' },
    ],
  },
  {
    user: 'Does the same mistake exist anywhere else? Check all the readers.',
    steps: [
      { think: 'The readers share no base loop, so each has to be looked at.', call: grep('self.at + 1 <'), result: Array.from({ length: 6 }, (_, at) => `src/readers/r${at}.rs:${40 + at}: while self.at + 1 < self.end {`).join('\n') },
      { call: read('src/readers/csv.rs'), result: source('csv', 260) },
      { call: read('src/readers/toml.rs'), result: source('toml', 330) },
      { call: bash('git log --stat -n 20'), result: source('commit', 140) },
      { text: 'Two of six readers have the same loop: `csv.rs` and `toml.rs`. The others end their loops differently.' },
    ],
  },
  {
    user: 'Fix those two as well.',
    steps: [
      { call: edit('src/readers/csv.rs'), result: 'The file src/readers/csv.rs has been updated.' },
      { call: edit('src/readers/toml.rs'), result: 'The file src/readers/toml.rs has been updated.' },
      { call: bash('cargo test readers'), result: testRun(96, 0) },
      { text: 'Both are fixed; 96 reader tests pass.' },
    ],
  },
  { user: 'Thanks! What is left before we can release?', steps: [{ text: 'Three things: bump the version, update the guide for the new error words, and tag the release.' }] },
]

const TOOLS = {
  Read: 'Reads a file from the local filesystem and returns it with line numbers. ',
  Bash: 'Runs a command in a shell and returns what it printed. ',
  Grep: 'Searches the contents of files with a regular expression. ',
  Edit: 'Replaces one exact string in a file by another. ',
  WebFetch: 'Fetches a page and answers a question about it. ',
  NotebookEdit: 'Replaces the source of one cell of a notebook. ',
}

const SYSTEM = `You are a coding agent. You help with software work in a terminal.\n\n# Environment\nWorking directory: /home/mara/code/tidemark\nPlatform: linux\n\n${'Prefer small changes. Read before you write. Run the tests. '.repeat(30)}`

/** Answers the requests of the story; counts tokens and what of them was cached as the provider would. */
export function model() {
  const prefixes = []
  let next = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      const asked = JSON.parse(body || '{}')
      const pieces = [JSON.stringify(asked.tools), JSON.stringify(asked.system), ...(asked.messages ?? []).map((message) => JSON.stringify(message).replace(/,?"cache_control":\{[^}]*\}/g, ''))]
      const sizes = pieces.map((piece) => Math.round((piece ?? '').length / 3.6))
      let common = 0
      for (const known of prefixes) {
        let at = 0
        while (at < known.length && at < pieces.length && known[at] === pieces[at]) at += 1
        common = Math.max(common, at)
      }
      prefixes.push(pieces)
      const sum = (list) => list.reduce((total, size) => total + size, 0)
      const content = next.shift() ?? [{ type: 'text', text: 'Done.' }]
      const tool = content.some(({ type }) => type === 'tool_use')
      const usage = { input_tokens: 3, cache_read_input_tokens: sum(sizes.slice(0, common)), cache_creation_input_tokens: sum(sizes.slice(common)), output_tokens: Math.round(JSON.stringify(content).length / 3.6) }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ id: `msg_${prefixes.length}`, type: 'message', role: 'assistant', model: asked.model, content, stop_reason: tool ? 'tool_use' : 'end_turn', stop_sequence: null, usage }))
    })
  })
  return {
    listen: () => new Promise((done) => server.listen(0, '127.0.0.1', () => done(`http://127.0.0.1:${server.address().port}`))),
    close: () => server.close(),
    script: (answers) => (next = answers),
  }
}

let calls = 0

/** Plays turns with a client of the stage, as far as the story goes. */
async function play(client, script, story) {
  for (const { user, steps } of story) {
    const results = []
    script(
      steps.map(({ think, text, call, result }) => {
        const content = []
        if (think !== undefined) content.push({ type: 'thinking', thinking: think, signature: Buffer.from(think).toString('base64') })
        if (text !== undefined) content.push({ type: 'text', text })
        if (call !== undefined) {
          calls += 1
          content.push({ type: 'tool_use', id: `toolu_${String(calls).padStart(20, '0')}`, ...call })
          results.push(result)
        }
        return content
      }),
    )
    const given = () => results.shift()
    await client.say(user, { results: { Read: given, Bash: given, Grep: given, Edit: given } })
  }
}

/** Sets the stage: conversations, a sub-agent, edits, a branch, a name and a change that waits. Returns the id of the main conversation. */
export async function setScene(stage) {
  const scripted = model()
  const upstream = await scripted.listen()
  await stage.stopDaemon()
  stage.upstream = upstream
  await stage.startDaemon()
  const tools = Object.fromEntries(Object.entries(TOOLS).map(([name, words]) => [name, { input: 'input', words, run: () => '' }]))
  const body = {
    tools: Object.entries(TOOLS).map(([name, words]) => ({ name, description: words.repeat(9), input_schema: { type: 'object', properties: { input: { type: 'string' } } } })),
  }
  const client = (more = {}) => stage.another({ tools, system: SYSTEM, body, ...more })

  await play(client(), scripted.script, [{ user: 'Plan the release of version 2.0', steps: [{ text: 'Here is a plan in four steps.' }] }])
  const main = client()
  await play(main, scripted.script, STORY.slice(0, 4))
  const helper = client({ session: main.session, headers: { 'x-claude-code-agent-id': 'a83c1f', 'x-claude-code-request-class': 'subagent' } })
  await play(helper, scripted.script, [
    { user: 'Look for loops that end one element too early in all readers', steps: [{ call: grep('+ 1 <'), result: source('hit', 60) }, { text: 'Six candidates, two of them real.' }] },
  ])
  await play(main, scripted.script, STORY.slice(4))
  // What has passed is written down a moment later.
  const { id } = await until(async () => (await stage.ctx('conversations')).conversations.find(({ session, agent }) => session === main.session && agent === null), 'the conversation is listed')
  const ctx = (...args) => stage.ctx(...args, '--conv', id)
  await ctx('drop-results', 't1/1', 't1/3')
  await ctx('compact', 't3', '--text', 'The changelog has an entry for the parser fix.')
  await ctx('tag', 'lean')
  await ctx('branch', 'trial')
  await ctx('delete', 't4')
  await ctx('checkout', 'main')
  await ctx('retitle', 't1', '--title', 'Why the last token is lost')
  await ctx('pin', 't6')
  await play(main, scripted.script, [{ user: 'Bump the version to 2.0.0.', steps: [{ call: edit('Cargo.toml'), result: 'The file Cargo.toml has been updated.' }, { text: 'The version is 2.0.0 now.' }] }])
  await ctx('drop-results', 't5', '--when', 'cold')
  return { id, close: scripted.close }
}
