import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// `npm run dev` talks to a running daemon; give it the text in the file `token` of the daemon's home as CTX_TOKEN.
// `npm run dev:stage` starts a daemon of its own and gives its token along.
const daemon = `http://${process.env.CTX_LISTEN ?? "127.0.0.1:8788"}`;
const token = process.env.CTX_TOKEN;

const FIRST = "src/first.ts";

/** Puts a script of its own before all others: the builder would make one of all that the document names. */
function first(): Plugin {
  let base = "/";
  return {
    name: "first",
    configResolved: (config) => {
      base = config.base;
    },
    transformIndexHtml: {
      order: "post",
      handler(html, { bundle }) {
        const isIt = (module: string) => module.endsWith(FIRST);
        const built = Object.values(bundle ?? {}).find((one) => one.type === "chunk" && one.moduleIds.some(isIt));
        const src = base + (built?.fileName ?? FIRST);
        const attrs = { type: "module", async: true, crossorigin: true, src };
        return { html, tags: [{ tag: "script", attrs, injectTo: "head-prepend" }] };
      },
    },
  };
}

export default defineConfig({
  base: "/ui/",
  plugins: [react(), first()],
  server: {
    host: "127.0.0.1",
    proxy: {
      "/control": {
        target: daemon,
        changeOrigin: true,
        ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
        // The daemon takes changes from its own page only, and cannot know this one.
        configure: (proxy) => proxy.on("proxyReq", (request) => request.removeHeader("origin")),
      },
    },
  },
  preview: { host: "127.0.0.1" },
  build: {
    target: "es2022",
    // The page's policy forbids data: addresses for anything but pictures from the conversation.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The first load is held small by a test (e2e/numbers.test.mjs), compressed and as a whole.
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "first", test: /src\/(first|address|views|api\/key|messages\/chunks)\.ts$|preload-helper/, priority: 2 },
            // What the first view needs is one file, not ten that the browser asks for six at a time.
            { name: "page", tags: ["$initial"], priority: 1 },
          ],
        },
      },
    },
  },
});
