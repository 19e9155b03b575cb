// Builds the page, shows it with the mock API in headless Chromium, and takes a picture of each view, in both colour
// schemes and three widths: `npm run screenshots [-- FOLDER]`. Ends with an error if the page broke its content policy,
// wrote an error to the console or asked any other host for anything.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { build, preview } from "vite";

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), "ctx-screenshots-"));
const executablePath = process.env.CTX_TEST_CHROMIUM ?? "/usr/bin/chromium";

const views = [
  { name: "frames", hash: "#/active/frames" },
  { name: "steps", hash: "#/active/frames", click: "Steps of t2" },
  { name: "messages", hash: "#/active/frames/t2" },
  { name: "step", hash: `#/active/frames/${encodeURIComponent("t3/17")}` },
  { name: "system", hash: "#/active/frames/system" },
  { name: "tools", hash: "#/active/frames/tools" },
  { name: "timeline", hash: "#/active/timeline" },
  { name: "estimated", hash: "#/77be20/frames" },
  { name: "gone", hash: "#/nothere/frames" },
  { name: "empty", hash: "", conversations: { status: 200, body: { conversations: [] } } },
  {
    name: "locked",
    hash: "",
    conversations: {
      status: 401,
      body: { error: { code: "no-token", message: "The token is missing.", hint: "Run `ctx ui`." } },
    },
  },
  { name: "silent", hash: "", conversations: null },
];

await build({ mode: "mock", logLevel: "warn" });
const server = await preview({ mode: "mock", logLevel: "warn", preview: { port: 0 } });
const origin = server.resolvedUrls.local[0];
const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
  ],
});

const complaints = new Set();
for (const colorScheme of ["light", "dark"]) {
  for (const width of [1440, 1024, 480]) {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 860 } });
    for (const view of views) {
      const expected = view.conversations === undefined;
      const page = await context.newPage();
      page.on("console", (message) => {
        if (message.type() === "error" && expected) complaints.add(`${view.name}: ${message.text()}`);
      });
      page.on("pageerror", (error) => complaints.add(`${view.name}: ${error.message}`));
      page.on("request", (request) => {
        const { protocol, origin: asked } = new URL(request.url());
        if (protocol !== "data:" && asked !== new URL(origin).origin) complaints.add(`${view.name}: asked ${asked}`);
      });
      if (!expected) {
        await page.route("**/control/v1/**", (route) =>
          view.conversations === null
            ? route.abort()
            : route.request().url().endsWith("/conversations")
              ? route.fulfill({ status: view.conversations.status, json: view.conversations.body })
              : route.continue(),
        );
      }
      await page.goto(`${origin}${view.hash}`);
      await page.waitForTimeout(expected ? 350 : 1600);
      if (view.click !== undefined) await page.getByLabel(view.click, { exact: true }).click();
      await page.waitForTimeout(150);
      await page.screenshot({ path: join(folder, `${view.name}-${colorScheme}-${width}.png`) });
      await page.close();
    }
    await context.close();
  }
}

await browser.close();
await server.close();
console.log(`pictures are in ${folder}`);
if (complaints.size > 0) {
  console.error([...complaints].join("\n"));
  process.exit(1);
}
