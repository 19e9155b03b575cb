import { expect, test } from "vitest";

import type { PlanView } from "../api";
import { frame, step } from "../messages/fixtures";
import { removable, worthWords } from "./worth";

const plan = (more: object) =>
  ({ tokens_before: 80_000, tokens_after: 42_000, preview: { tokens_reread: 21_000 }, cost: { pays_off_after: 5 }, ...more }) as unknown as PlanView;

test("the line has the share, what a turn saves, what it costs once and when that pays off", () => {
  expect(worthWords(plan({}))).toBe(
    "48% of this context is stale or superseded: −38k tokens a turn, costs 21k once, pays off after 5 turns.",
  );
  expect(worthWords(plan({ preview: { tokens_reread: 0 }, cost: { pays_off_after: 0 } }))).toMatch(/costs nothing, pays off at once\.$/);
});

test("little is not worth a line", () => {
  const read = (id: string, tokens: number) => step(id, { tools: ["Read"], tokens, source_tokens: tokens });
  const of = (tokens: number) => ({
    tokens: 60_000,
    frames: [frame("t1", { tokens: 60_000, step_list: [read("t1/1", tokens), read("t1/2", 100), read("t1/3", 100)] })],
  });
  expect(removable(of(20_000))?.operations).toEqual([{ op: "drop-results", ids: ["t1/1"] }]);
  expect(removable(of(900))).toBe(null);
});
