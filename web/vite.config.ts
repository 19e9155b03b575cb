import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

import { mockApi } from "./dev/mock-api.ts";

// `npm run dev` talks to a running daemon; open the link that `ctx ui` prints first, so that the browser has its
// cookie. `npm run dev:mock` needs no daemon.
const daemon = `http://${process.env.CTX_LISTEN ?? "127.0.0.1:8788"}`;

export default defineConfig(({ mode }) => ({
  base: "/ui/",
  plugins: [react(), ...(mode === "mock" ? [mockApi()] : [])],
  server: {
    host: "127.0.0.1",
    ...(mode === "mock" ? {} : { proxy: { "/control": { target: daemon, changeOrigin: true } } }),
  },
  preview: { host: "127.0.0.1" },
  build: {
    target: "es2022",
    // The page's policy forbids data: addresses for anything but pictures from the conversation.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
}));
