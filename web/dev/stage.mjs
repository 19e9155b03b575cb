// The page with live reload on a made-up agent at work, behind the real daemon: `npm run dev:stage`. Needs the binaries
// of `cargo build`, or CTX_BIN and TESTKIT_BIN.

import { createServer } from 'vite'
import { Stage } from '../e2e/stage.mjs'
import { setScene } from './scene.mjs'

const stage = await Stage.start()
await setScene(stage)
process.env.CTX_LISTEN = new URL(stage.origin).host
process.env.CTX_TOKEN = stage.token()
const server = await createServer()
await server.listen()
server.printUrls()

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, async () => {
    await server.close()
    await stage.stop()
    process.exit()
  })
}
