import { expect, test } from "vitest";

import { chunks, messagesOfStep, newestChunks, stepNumber } from "./chunks";
import { frame, message, step } from "./fixtures";

test("a small frame is fetched whole", () => {
  const small = frame("t1", { step_list: [step("t1/1"), step("t1/2")] });
  expect([...chunks(small)]).toEqual([
    [0, "t1"],
    [1, "t1"],
    [2, "t1"],
  ]);
  expect([...chunks(frame("a1"))]).toEqual([[0, "a1"]]);
});

test("a long frame is fetched by the dozen", () => {
  const steps = Array.from({ length: 30 }, (_, index) => step(`t1/${index + 1}`));
  const found = chunks(frame("t1", { messages: 61, step_list: steps }));
  expect(found.get(0)).toBe("t1#0");
  expect([found.get(1), found.get(12), found.get(13), found.get(24), found.get(30)]).toEqual([
    "t1/1..12",
    "t1/1..12",
    "t1/13..24",
    "t1/13..24",
    "t1/25..30",
  ]);
});

test("heavy steps are fetched alone", () => {
  const heavy = (id: string) => step(id, { tokens: 0, source_tokens: 29_000 });
  const found = chunks(frame("t1", { source_tokens: 60_000, step_list: [heavy("t1/1"), step("t1/2"), heavy("t1/3")] }));
  expect([found.get(1), found.get(2), found.get(3)]).toEqual(["t1/1..2", "t1/1..2", "t1/3"]);
});

test("what stands before the first step may be several messages", () => {
  const steps = Array.from({ length: 20 }, (_, index) => step(`t1/${index + 1}`));
  expect(chunks(frame("t1", { messages: 42, step_list: steps })).get(0)).toBe("t1#0,t1#1");
});

test("a combined frame is fetched whole, however long it is", () => {
  const steps = Array.from({ length: 30 }, (_, index) => step(`t1/${index + 1}`));
  expect(new Set(chunks(frame("t1", { state: ["combined"], step_list: steps })).values())).toEqual(new Set(["t1"]));
});

test("what is said between two steps belongs to the step that answers it", () => {
  const said = [0, 0, 1, 1, 0, 2, 2, 0].map((at, index) => message(`t1#${index}`, "user", [], { step: at }));
  const ids = (wanted: number) => messagesOfStep(said, wanted).map(({ id }) => id);
  expect(ids(0)).toEqual(["t1#0", "t1#1"]);
  expect(ids(1)).toEqual(["t1#2", "t1#3"]);
  expect(ids(2)).toEqual(["t1#4", "t1#5", "t1#6", "t1#7"]);
  expect([0, 1, 2].flatMap(ids)).toHaveLength(said.length);
});

test("the number of a step", () => {
  expect([stepNumber("t3/12"), stepNumber("t3.1/2"), stepNumber("t3")]).toEqual([12, 2, 0]);
});

test("the newest rows come from the last pieces", () => {
  const steps = Array.from({ length: 30 }, (_, index) => step(`t2/${index + 1}`));
  const all = [frame("t1"), frame("t2", { messages: 61, step_list: steps }), frame("t3")];
  expect(newestChunks(all, 1)).toEqual(["t3"]);
  expect(newestChunks(all, 9)).toEqual(["t3", "t2/25..30", "t2/13..24"]);
  expect(newestChunks(all, 100)).toEqual(["t3", "t2/25..30", "t2/13..24", "t2/1..12", "t2#0", "t1"]);
});
