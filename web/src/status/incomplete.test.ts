import { expect, test } from "vitest";

import type { TimelineEvent } from "../api";
import { incompleteOf } from "./incomplete";

const answer = (request: number, more: object) =>
  ({ kind: "answer", seq: request, at: request * 1000, conversation: "c1", request, status: 200, ending: "complete", error: null, ...more }) as unknown as TimelineEvent;

test("what was cancelled is told apart from what failed, and both say which request it was", () => {
  const found = incompleteOf("c1", [
    answer(1, {}),
    answer(2, { ending: "cancelled" }),
    answer(3, { status: 529, error: { kind: "overloaded_error", message: "Overloaded" } }),
    answer(4, { ending: "cut" }),
    answer(5, { ending: "unreachable", status: 0 }),
  ]);
  expect(found.map(({ request, cancelled, words }) => [request, cancelled, words])).toEqual([
    [5, false, "the provider could not be reached"],
    [4, false, "the response was cut off"],
    [3, false, "529 overloaded_error: Overloaded"],
    [2, true, "cancelled by the client"],
  ]);
});
