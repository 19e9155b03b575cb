import { expect, test } from "vitest";

import { frame } from "../messages/fixtures";
import { withoutThinking } from "./told";

const frames = (count: number) => Array.from({ length: count }, (_, index) => frame(`t${index}`, { state: ["thinking-dropped"] }));

test("a few frames without thinking say it themselves, many are told at once", () => {
  expect(withoutThinking([...frames(2), frame("t9")])).toEqual([]);
  expect(withoutThinking([...frames(3), frame("t9")])).toEqual(["t0", "t1", "t2"]);
});
