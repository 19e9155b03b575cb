import { afterEach, beforeEach, expect, test, vi } from "vitest";

const stored = new Map<string, string>();
const shown: string[] = [];

beforeEach(() => {
  vi.resetModules();
  stored.clear();
  shown.length = 0;
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
  });
  vi.stubGlobal("history", { state: null, replaceState: (_: unknown, __: string, to: URL) => shown.push(to.href) });
});

afterEach(() => vi.unstubAllGlobals());

function at(href: string) {
  vi.stubGlobal("window", { location: { href } });
  return import("./key");
}

test("the key leaves the address, and the rest of it stays", async () => {
  const { KEY_HEADERS, KEY_PARAMETER } = await at("http://127.0.0.1:8788/ui/?a=1&key=k%2B1#/c/x");
  expect(KEY_HEADERS).toEqual({ "x-ctx-page-key": "k+1" });
  expect(KEY_PARAMETER).toBe("key=k%2B1");
  expect(shown).toEqual(["http://127.0.0.1:8788/ui/?a=1#/c/x"]);
});

test("a page without a key in its address takes the one it kept", async () => {
  stored.set("ctx-page-key", "kept");
  expect((await at("http://127.0.0.1:8788/ui/")).KEY_HEADERS).toEqual({ "x-ctx-page-key": "kept" });
  expect(shown).toEqual([]);
});
