// A stand-in for the daemon while working on the page: `npm run dev:mock`. It answers the control API from fixtures
// and lets a step arrive every few seconds. A previewed build also gets the daemon's content policy, so that what it
// forbids is noticed here. Never part of a build.

import type { ServerResponse } from "node:http";
import type { Connect, Plugin } from "vite";

import { fixtures } from "./fixtures.ts";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function mockApi(): Plugin {
  return {
    name: "mock-api",
    apply: "serve",
    configureServer(server) {
      server.middlewares.use(answer);
    },
    configurePreviewServer(server) {
      server.middlewares.use((request, response, next) => {
        response.setHeader("content-security-policy", POLICY);
        answer(request, response, next);
      });
    },
  };
}

const answer: Connect.NextHandleFunction = (request, response, next) => {
  const url = new URL(request.url ?? "/", "http://localhost");
  if (!url.pathname.startsWith("/control/v1/")) return next();
  const path = url.pathname.slice("/control/v1/".length).split("/").map(decodeURIComponent);
  if (path[0] === "events") return streamEvents(response);
  const body = fixtures.answer(path);
  if (body !== undefined) return json(response, 200, body);
  json(response, 404, {
    error: { code: "unknown-id", message: `There is no ${path.at(-1)}.`, hint: "`ctx list` shows what there is." },
  });
};

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function streamEvents(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write(": hello\n\n");
  const beat = setInterval(() => {
    for (const event of fixtures.nextTurn()) response.write(`data: ${JSON.stringify(event)}\n\n`);
  }, 6000);
  response.on("close", () => clearInterval(beat));
}
