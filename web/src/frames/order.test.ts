import { expect, test } from "vitest";

import type { Frames } from "../api";
import { dropPlace, neighbour } from "./order";

const frames = {
  frames: [
    { id: "system", kind: "system" },
    { id: "tools", kind: "tools" },
    ...["t1", "t2", "t3", "t4"].map((id) => ({ id, kind: "turn" })),
  ],
} as unknown as Frames;

test("what is dropped goes before or behind the row it is dropped on", () => {
  expect(dropPlace(frames, ["t4"], "t2", false)).toEqual({ after: "t1" });
  expect(dropPlace(frames, ["t4"], "t2", true)).toEqual({ after: "t2" });
  expect(dropPlace(frames, ["t4"], "t1", false)).toEqual({ start: true });
  expect(dropPlace(frames, ["t4"], "tools", true)).toEqual({ start: true });
  expect(dropPlace(frames, ["t1", "t3"], "t4", true)).toEqual({ after: "t4" });
});

test("dropping something where it stands is nothing", () => {
  expect(dropPlace(frames, ["t2"], "t1", true)).toBeNull();
  expect(dropPlace(frames, ["t2"], "t2", true)).toBeNull();
  expect(dropPlace(frames, ["t2"], "t3", false)).toBeNull();
  expect(dropPlace(frames, ["t1"], "tools", true)).toBeNull();
});

test("the keys move by one place, and stop at the ends", () => {
  expect(neighbour(frames, ["t2"], 1)).toEqual({ after: "t3" });
  expect(neighbour(frames, ["t3"], -1)).toEqual({ after: "t1" });
  expect(neighbour(frames, ["t2"], -1)).toEqual({ start: true });
  expect(neighbour(frames, ["t1"], -1)).toBeNull();
  expect(neighbour(frames, ["t4"], 1)).toBeNull();
  expect(neighbour(frames, ["t1", "t3"], 1)).toBeNull();
  expect(neighbour(frames, ["t2/1"], 1)).toBeNull();
});
