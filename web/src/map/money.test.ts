import { expect, test } from "vitest";

import { type Misses, missesOf } from "./money";

const miss = (request: number, cause: string, place: string | null = null) => ({
  request,
  at: request,
  miss: { cause, place, tokens: 900, words: `because ${cause}` },
});

test("the first request misses nothing, and what was edited can be looked at", () => {
  const misses = [miss(3, "edited", "t2/1"), { request: 2, at: 2, miss: null }, miss(1, "first-request")];
  expect(missesOf({ misses } as unknown as Misses)).toEqual([
    { request: 3, at: 3, tokens: 900, words: "because edited", place: "t2/1" },
  ]);
});
