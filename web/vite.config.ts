import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `npm run dev` talks to a running daemon; open the link that `ctx ui` prints first, so that the browser has its
// cookie. `npm run dev:stage` starts a daemon of its own and gives its token along.
const daemon = `http://${process.env.CTX_LISTEN ?? "127.0.0.1:8788"}`;
const token = process.env.CTX_TOKEN;

export default defineConfig({
  base: "/ui/",
  plugins: [react()],
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
    // The first load is held small by a test (e2e/frames.test.mjs), compressed and as a whole.
    chunkSizeWarningLimit: 800,
  },
});
