// Commits for display: their effect, and the frames they changed.

import type { Commit } from "../api";

const COMMIT_ID = /\b[0-9a-f]{10}\b/g;
const TOKENS_SAID = /,? ?[\d,]+ tokens? (less|more)/g;

/** A summary without the tokens beside it, and with words in place of the ids of other commits. */
export function said(summary: string, commits: { id: string; summary: string }[]): string {
  // A rollback lists all commits that it switches off; its target is enough.
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

/** The kinds of change in a commit: its operations, or its history action. */
export function kindsOf({ kind, operations }: Pick<Commit, "kind" | "operations">): string[] {
  return operations.length > 0 ? [...new Set(operations.map(({ op }) => op))] : [kind];
}

/** The frames that a commit names, including those of the commits it switched off. */
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

/** The nearest branch that contains a commit. */
export function branchOf(commit: Commit, commits: Commit[]): string | null {
  const reachable = new Set([commit.id]);
  // Newest first, so a child comes before its parent: finds all dependents, starting with the oldest.
  for (const other of commits.toReversed()) {
    if (other.parent !== null && reachable.has(other.parent)) reachable.add(other.id);
  }
  return commits.findLast(({ id, branches }) => reachable.has(id) && branches.length > 0)?.branches[0] ?? null;
}

/** Whether a commit is off on its own branch; the daemon reports that for the current branch only. */
export function isOff({ id, active, here }: Commit, commits: Commit[]): boolean {
  return here ? !active : commits.some((other) => !other.here && other.reverts.includes(id));
}
