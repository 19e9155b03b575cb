import { expect, test } from "vitest";

import type { Frame, Frames } from "../api";
import { cacheLine, cacheWords } from "./cache";
import { rowsOf } from "./rows";

const steps = (frame: string) => [1, 2].map((number) => ({ id: `${frame}/${number}`, tokens: 1, source_tokens: 1 }));
const frames = (until: string | null) =>
  ({
    frames: ["t1", "t2"].map(
      (id) => ({ id, kind: "turn", tokens: 2, source_tokens: 2, step_list: steps(id) }) as unknown as Frame,
    ),
    cache: { until, tokens: 1200, at: 0, ttl_seconds: 300, expires_at: 300_000, warm: true, read: 0, written: 0 },
  }) as unknown as Frames;

test("the line stands below the last row that is cached", () => {
  const all = frames("t1/1");
  expect(cacheLine(all, rowsOf(all, new Set(["t1"])))).toMatchObject({ below: "t1/1", inside: null });
  expect(cacheLine(all, rowsOf(all, new Set()))).toMatchObject({ below: "t1", inside: "t1/1" });
  const whole = frames("t1/2");
  expect(cacheLine(whole, rowsOf(whole, new Set()))).toMatchObject({ below: "t1", inside: null });
  const none = frames(null);
  expect(cacheLine(none, rowsOf(none, new Set()))).toBeNull();
});

test("what stands around the messages is cached as one", () => {
  const all = frames("system");
  const [system, tools] = ["system", "tools"].map((id) => ({ id, kind: id, tokens: 1, source_tokens: 1 }));
  all.frames.unshift(system as unknown as Frame, tools as unknown as Frame);
  expect(cacheLine(all, rowsOf(all, new Set()))).toMatchObject({ below: "tools", inside: null });
});

test("it says how long the provider remembers, and when it has forgotten", () => {
  const all = frames("t1");
  const line = cacheLine(all, rowsOf(all, new Set()));
  if (line === null) throw new Error("no line");
  expect(cacheWords(line, 0)).toBe("cached up to here: 1,200 tokens, for 5 more minutes");
  expect(cacheWords(line, 255_500)).toBe("cached up to here: 1,200 tokens, for 50 more seconds");
  expect(cacheWords(line, 300_000)).toMatch(/expired/);
});
