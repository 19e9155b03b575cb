import { expect, test } from "vitest";

import type { Commit, TimelineEvent } from "../api";
import { branchOf, expand, framesOf, isOff, kindsOf, namedIn, said } from "./commits";
import { entries, NO_FILTER } from "./entries";

const id = (name: string) => name.padStart(10, "0");

function commit(name: string, parent: string | null, more: Partial<Commit> = {}): Commit {
  return {
    id: id(name),
    parent: parent === null ? null : id(parent),
    at: 0,
    author: "cli",
    note: null,
    kind: "edit",
    operations: [],
    reasons: [],
    reverts: [],
    summary: name,
    active: true,
    asleep: false,
    source_changed: false,
    tokens_before: 10,
    tokens_after: 5,
    branches: [],
    tags: [],
    here: true,
    ...more,
  };
}

function event(seq: number, made: Commit): TimelineEvent {
  return { ...made, kind: "commit", change: made.kind, seq, at: seq, conversation: "c" };
}

function turn(
  seq: number,
  request: number,
  more: { verdict?: string; reason?: string; frame?: string } = {},
): TimelineEvent[] {
  const both = { conversation: "c", request };
  return [
    {
      ...both,
      kind: "request",
      seq,
      at: seq,
      class: "main",
      verdict: more.verdict ?? "next",
      known: 1,
      new: 2,
      changed: 0,
      detail: null,
      model: "m",
      bytes: 10,
      frame: more.frame ?? null,
    },
    {
      ...both,
      kind: "answer",
      seq: seq + 1,
      at: seq + 1,
      status: 200,
      ending: "complete",
      stop_reason: "end_turn",
      usage: null,
      error: null,
      applied_edits: [],
      transformations: [],
      repairs: [],
      cache_miss_reason: more.reason ?? null,
      cache_miss: null,
      money: null,
      priced_as: null,
      expected: null,
      first_byte_ms: 1,
      total_ms: 2,
      undecodable: null,
    } as TimelineEvent,
  ];
}

const one = commit("1", null, { operations: [{ op: "delete", ids: ["t3"] }] });
const two = commit("2", "1", { author: "ui", operations: [{ op: "retitle", id: "t1/2" }] });
const back = commit("4", "2", { kind: "undo", reverts: [id("2")], summary: `undo ${id("2")}` });
const other = commit("3", "1", { author: "policy", operations: [{ op: "drop-results", ids: ["t2..t4"] }] });
const commits = [back, other, two, one];
const events = [event(1, one), event(2, two), event(3, other), ...turn(4, 1), event(9, back)];

test("commits that the timeline has forgotten stay behind those it knows", () => {
  const known = [event(9, back), ...turn(4, 1)];
  expect(entries([back, two, one], known).map(({ kind }) => kind)).toEqual(["commit", "exchange", "commit", "commit"]);
});

test("a commit of another branch knows where it is", () => {
  const trial = { ...other, branches: ["trial"], here: false };
  expect(branchOf(trial, [{ ...back, branches: ["main"] }, trial, two, one])).toBe("trial");
  expect(branchOf(two, [{ ...back, branches: ["main"] }, trial, two, one])).toBe("main");
});

test("one list, with the lines of the graph running past requests", () => {
  const list = entries(commits, events);
  expect(list.map(({ kind }) => kind)).toEqual(["commit", "exchange", "commit", "commit", "commit"]);
  const places = list.map((entry) => (entry.kind === "commit" ? entry.placed.lane : entry.past));
  expect(places).toEqual([0, [0], 1, 0, 0]);
});

test("what waits for its moment stands where it was deferred, not where it was made", () => {
  const edit = (seq: number, state: string) =>
    ({ kind: "waiting", seq, at: seq, conversation: "c", id: "w1", state }) as TimelineEvent;
  const list = entries([], [edit(1, "waiting"), ...turn(2, 1), edit(4, "made"), edit(5, "cancelled")]);
  expect(list.map(({ key }) => key)).toEqual(["w5", "x2", "w1"]);
});

test("filters leave commits only, and the graph connected", () => {
  const shown = (filter: object) =>
    entries(commits, events, { ...NO_FILTER, ...filter }).map((entry) => Number(entry.key));
  expect(shown({ author: "policy" })).toEqual([3]);
  expect(shown({ kind: "undo" })).toEqual([4]);
  expect(shown({ frame: "t1" })).toEqual([4, 2]);
  expect(shown({ frame: "t3" })).toEqual([3, 1]);
  const list = entries(commits, events, { ...NO_FILTER, frame: "t3" });
  expect(list.map((entry) => entry.kind === "commit" && entry.placed.from)).toEqual([[], [0]]);
});

test("commits or requests alone", () => {
  const kinds = (what: "commits" | "requests") =>
    entries(commits, events, { ...NO_FILTER, what }).map(({ kind }) => kind);
  expect(kinds("commits")).toEqual(["commit", "commit", "commit", "commit"]);
  expect(kinds("requests")).toEqual(["exchange"]);
});

test("long runs of ordinary requests are folded, remarkable ones are not", () => {
  const many = [1, 2, 3, 4, 5].flatMap((number) => turn(number * 10, number));
  const missed = turn(60, 6, { reason: "expired" });
  const cut = turn(70, 7, { verdict: "rewind" });
  const list = entries([], [...many, ...missed, ...cut]);
  expect(list.map(({ kind }) => kind)).toEqual(["exchange", "exchange", "run"]);
  const more = entries([], [...many, ...turn(80, 8)]);
  expect(more.map(({ key }) => key)).toEqual(["runx10"]);
});

test("a summary says what, not ids and figures that stand beside it", () => {
  expect(said("delete t3, 1717 tokens less", [])).toBe("delete t3");
  expect(said("delete t3, 1,717 tokens less", [])).toBe("delete t3");
  expect(said(`undo ${two.id}`, [{ id: two.id, summary: "retitle t1" }])).toBe("undo “retitle t1”");
  expect(said(`undo ${id("9")}`, [])).toBe(`undo ${id("9")}`);
  expect(said(`roll back to ${two.id}: ${one.id}`, [two])).toBe("roll back to “2”");
});

test("what a commit touches", () => {
  expect(expand("t2..t4")).toEqual(["t2", "t3", "t4"]);
  expect(expand("t3/5..9")).toEqual(["t3"]);
  expect(expand("t3.1#2")).toEqual(["t3"]);
  expect(expand("tools/Bash")).toEqual(["tools"]);
  expect([...framesOf(back, [one, two, back])]).toEqual(["t1"]);
  expect(kindsOf(back)).toEqual(["undo"]);
  expect(namedIn(`${one.id}, ${two.id} stand on it.`)).toEqual([one.id, two.id]);
});

test("a commit of another branch is off only where that branch switched it off", () => {
  const elsewhere = { ...other, here: false, active: false };
  const undone = commit("5", "3", { here: false, reverts: [other.id] });
  expect(isOff(elsewhere, [elsewhere, one])).toBe(false);
  expect(isOff(elsewhere, [undone, elsewhere, one])).toBe(true);
  expect(isOff({ ...two, active: false }, [two])).toBe(true);
});

test("a frame's requests stand with its commits", () => {
  const events = [
    ...turn(1, 1, { frame: "t1" }),
    ...turn(3, 2, { frame: "t3.1" }),
    event(5, one),
    ...turn(6, 3, { frame: "t4" }),
  ];
  const shown = (frame: string) => entries([one], events, { ...NO_FILTER, frame }).map(({ key }) => key);
  expect(shown("t3")).toEqual([one.id, "x3"]);
  expect(shown("t3.2")).toEqual([one.id, "x3"]);
  expect(shown("t4")).toEqual(["x6"]);
  const requests = entries([one], events, { ...NO_FILTER, what: "requests", frame: "t3" });
  expect(requests.map(({ key }) => key)).toEqual(["x3"]);
});
