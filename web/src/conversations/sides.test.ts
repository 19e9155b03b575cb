import { expect, test } from "vitest";

import { sideLines, sideRequests } from "./sides";

const some = {
  side: [
    { class: "auxiliary", requests: 12, tokens: 34_000, last_at: 5 },
    { class: "compaction", requests: 1, tokens: 0, last_at: 7 },
  ],
};

test("side traffic is told by what it is for", () => {
  expect(sideLines(some)).toEqual([
    { class: "auxiliary", figures: "12 requests, 34k tokens", what: "titles, suggestions, side questions", last: 5 },
    { class: "compaction", figures: "1 request", what: "the agent’s own summaries", last: 7 },
  ]);
  expect(sideLines({})).toEqual([]);
});

test("all of it is counted", () => {
  expect(sideRequests([some, {}, some])).toBe(26);
});
