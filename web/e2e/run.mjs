// Runs the browser tests, two files at a time, and then those that measure time, alone. A file that fails is tried once
// more at the end, alone and on a new stage: a test that a busy machine broke passes then, and the summary names it; a
// defect fails twice. Only files named in the arguments, if there are any.

import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const named = process.argv.slice(2).map((path) => basename(path))
const files = readdirSync(here).filter((name) => name.endsWith('.test.mjs') && (named.length === 0 || named.includes(name)))

const measuring = files.filter((file) => file === 'numbers.test.mjs')
const failed = []
await inLanes(files.filter((file) => !measuring.includes(file)), 2)
await inLanes(measuring, 1)

const broken = []
for (const file of failed) {
  const { passed, words } = await run(file)
  process.stdout.write(words)
  if (!passed) broken.push(file)
}
const once = failed.filter((file) => !broken.includes(file))
console.log(`browser tests: ${files.length - failed.length} files passed, ${once.length} at the second try${list(once)}, ${broken.length} failed${list(broken)}`)
process.exitCode = files.length === 0 || broken.length > 0 ? 1 : 0

async function inLanes(files, lanes) {
  const queue = [...files]
  const lane = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const { passed, words } = await run(file)
      if (!passed) failed.push(file)
      // What fails for good is told as a failure by the second try.
      process.stdout.write(passed ? words : words.replace(/^(\s*)not ok/gm, '$1first try failed:'))
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

function list(names) {
  return names.length === 0 ? '' : ` (${names.join(', ')})`
}

function run(file) {
  return new Promise((done) => {
    const child = spawn(process.execPath, ['--test', '--test-reporter=tap', here + file], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, CTX_E2E_TELL: '1' } })
    let words = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk) => (words += chunk))
    child.on('close', (code) => done({ passed: code === 0, words }))
  })
}
