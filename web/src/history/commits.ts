// Commits as a person reads them: which there are on all branches, what they did, and which frames they touched.

import type { Commit, CommitEvent, History, TimelineEvent } from "../api";

export interface KnownCommit extends Commit {
  /** On the branch that is looked at. */
  here: boolean;
}

/**
 * All commits, newest first. The history tells those of this branch with all that is known of them; those of other
 * branches are known from the timeline.
 */
export function allCommits(history: History, events: TimelineEvent[]): KnownCommit[] {
  const order = new Map<string, number>();
  // The history is newest first, and so is older than anything in the timeline where the timeline has forgotten it.
  history.commits.forEach(({ id }, index) => order.set(id, -index));
  const commits = new Map<string, KnownCommit>(history.commits.map((commit) => [commit.id, { ...commit, here: true }]));
  const onThisBranch = lineOf(history.head ?? null, [...history.commits, ...events.filter(isCommit)]);
  for (const event of events) {
    if (event.kind !== "commit") continue;
    order.set(event.id, event.seq);
    if (!commits.has(event.id)) commits.set(event.id, fromEvent(event, history));
  }
  return [...commits.values()]
    .map((commit) => ({ ...commit, here: onThisBranch.has(commit.id) }))
    .sort((left, right) => (order.get(right.id) ?? 0) - (order.get(left.id) ?? 0) || right.at - left.at);
}

const isCommit = (event: TimelineEvent): event is CommitEvent => event.kind === "commit";

/** A head and all commits behind it. */
function lineOf(head: string | null, commits: { id: string; parent?: string | null }[]): Set<string> {
  const parents = new Map(commits.map(({ id, parent }) => [id, parent ?? null]));
  const line = new Set<string>();
  for (let id = head; id !== null && !line.has(id); id = parents.get(id) ?? null) line.add(id);
  return line;
}

function fromEvent(event: CommitEvent, history: History): KnownCommit {
  const { id, parent, at, author, note, operations, reasons, reverts, summary, tokens_before, tokens_after } = event;
  return {
    ...{ id, parent, at, author, note, operations, reasons, reverts, summary, tokens_before, tokens_after },
    kind: event.change,
    active: true,
    asleep: false,
    source_changed: false,
    branches: history.branches.filter(({ head }) => head === id).map(({ name }) => name),
    tags: history.tags.filter(({ commit }) => commit === id).map(({ name }) => name),
    here: false,
  };
}

const COMMIT_ID = /\b[0-9a-f]{10}\b/g;
const TOKENS_SAID = /,? ?[\d,]+ tokens? (less|more)/g;

/** A summary without what stands beside it anyway (tokens), and with words in place of the ids of other commits. */
export function said(summary: string, commits: { id: string; summary: string }[]): string {
  // A rollback lists all it switches off; where it goes back to is enough.
  const plain = (text: string) => text.replace(TOKENS_SAID, "").replace(/^(roll back to [^:]*):.*/s, "$1");
  return plain(summary).replace(COMMIT_ID, (id) => {
    const other = commits.find((commit) => commit.id === id);
    return other === undefined ? id : `“${plain(other.summary).replace(COMMIT_ID, (inner) => inner.slice(0, 4))}”`;
  });
}

/** The ids of commits that a refusal names. */
export function namedIn(text: string): string[] {
  return text.match(COMMIT_ID) ?? [];
}

/** The kinds of change in a commit: its operations, or how it went through the history. */
export function kindsOf({ kind, operations }: Pick<Commit, "kind" | "operations">): string[] {
  return operations.length > 0 ? [...new Set(operations.map(({ op }) => op))] : [kind];
}

/** Frames that a commit names, those of the commits it switched off included. */
export function framesOf(commit: Commit, commits: Commit[], seen = new Set<string>()): Set<string> {
  const frames = new Set<string>();
  if (seen.has(commit.id)) return frames;
  seen.add(commit.id);
  for (const operation of commit.operations) {
    const named = "ids" in operation ? operation.ids : "id" in operation ? [operation.id] : [];
    for (const id of named) for (const frame of expand(id)) frames.add(frame);
  }
  for (const id of commit.reverts) {
    const reverted = commits.find((other) => other.id === id);
    if (reverted === undefined) continue;
    for (const frame of framesOf(reverted, commits, seen)) frames.add(frame);
  }
  return frames;
}

/** "t3/5..9" → t3; "t2..t4" → t2, t3, t4; "t3.1#2" → t3: a part of a split frame counts as the frame. */
export function expand(id: string): string[] {
  const range = /^t(\d+)\.\.t(\d+)$/.exec(id);
  if (range !== null) {
    const [first = 0, last = 0] = range.slice(1).map(Number);
    return Array.from({ length: Math.min(10_000, Math.max(0, last - first + 1)) }, (_, index) => `t${first + index}`);
  }
  return [id.split(/[/#.]/)[0] ?? id];
}
