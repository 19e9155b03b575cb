// Commits and requests as one list, newest first, filtered, with runs of unremarkable requests folded.

import type { Commit, LineEvent, TimelineEvent, WaitingEvent } from "../api";
import { type AsideEvent, isAside } from "./asides";
import { expand, framesOf, kindsOf } from "./commits";
import { type Exchange, exchanges, missed, outcome } from "./exchanges";
import { below, lanes, type Placed } from "./lanes";

export type Entry =
  | { kind: "commit"; key: string; at: number; commit: Commit; placed: Placed }
  | { kind: "exchange"; key: string; at: number; exchange: Exchange; past: number[] }
  | { kind: "run"; key: string; at: number; exchanges: Exchange[]; past: number[] }
  | { kind: "line"; key: string; at: number; event: LineEvent; past: number[] }
  | { kind: "edit"; key: string; at: number; event: WaitingEvent; past: number[] }
  | { kind: "aside"; key: string; at: number; event: AsideEvent; past: number[] }
  | { kind: "recovery"; key: string; at: number; past: number[] };

export type What = "everything" | "commits" | "requests";

export interface Filter {
  what: What;
  /** A frame's id: only its commits, the requests that end in it, and re-reads because of it. */
  frame: string | null;
  /** An operation, or a history action. */
  kind: string | null;
  author: string | null;
}

export const NO_FILTER: Filter = { what: "everything", frame: null, kind: null, author: null };

/** Shorter runs are not folded. */
const RUN_FROM = 4;

/** `commits`: those of all branches, newest first. */
export function entries(commits: Commit[], events: TimelineEvent[], filter: Filter = NO_FILTER): Entry[] {
  const wanted = commits.filter((commit) => passes(commit, commits, filter));
  const onlyCommits = filter.kind !== null || filter.author !== null;
  const rows: { seq: number; at: number; make: (past: number[]) => Entry }[] = [];
  const seqs = new Map(events.flatMap((event) => (event.kind === "commit" ? [[event.id, event.seq] as const] : [])));

  if (filter.what !== "requests") {
    const chain = connected(wanted, commits);
    const placed = lanes(chain);
    wanted.forEach((commit, index) => {
      const place = placed[index];
      if (place === undefined) return;
      const entry: Entry = { kind: "commit", key: commit.id, at: commit.at, commit, placed: place };
      rows.push({ seq: seqs.get(commit.id) ?? -1 - index, at: commit.at, make: () => entry });
    });
  }
  if (filter.what !== "commits" && !onlyCommits) {
    for (const exchange of exchanges(events)) {
      if (filter.frame !== null && !concerns(exchange, filter.frame)) continue;
      const { seq, at } = exchange;
      rows.push({ seq, at, make: (past) => ({ kind: "exchange", key: `x${seq}`, at, exchange, past }) });
    }
  }
  if (filter.what === "everything" && !onlyCommits && filter.frame === null) {
    for (const event of events) {
      const { seq, at } = event;
      if (event.kind === "line") {
        rows.push({ seq, at, make: (past) => ({ kind: "line", key: `l${seq}`, at, event, past }) });
      } else if (event.kind === "waiting" && event.state !== "made") {
        // An applied one is listed as a commit.
        rows.push({ seq, at, make: (past) => ({ kind: "edit", key: `w${seq}`, at, event, past }) });
      } else if (isAside(event)) {
        rows.push({ seq, at, make: (past) => ({ kind: "aside", key: `a${seq}`, at, event, past }) });
      } else if (event.kind === "recovery") {
        rows.push({ seq, at, make: (past) => ({ kind: "recovery", key: `r${seq}`, at, past }) });
      }
    }
  }

  rows.sort((left, right) => right.seq - left.seq);
  let past: number[] = [];
  const list = rows.map(({ make }) => {
    const entry = make(past);
    if (entry.kind === "commit") past = below(entry.placed);
    return entry;
  });
  return folded(list);
}

function passes(commit: Commit, commits: Commit[], { frame, kind, author }: Filter): boolean {
  if (author !== null && commit.author !== author) return false;
  if (kind !== null && !kindsOf(commit).includes(kind)) return false;
  return frame === null || expand(frame).some((one) => framesOf(commit, commits).has(one));
}

function concerns({ request, answer }: Exchange, frame: string): boolean {
  const wanted = expand(frame);
  const places = [request?.frame, answer?.cache_miss?.place].filter((place) => place != null);
  return places.flatMap(expand).some((one) => wanted.includes(one));
}

/** A commit whose parent is filtered out is attached to the nearest ancestor that is not. */
function connected(wanted: Commit[], commits: Commit[]): { id: string; parent: string | null }[] {
  const shown = new Set(wanted.map(({ id }) => id));
  const parents = new Map(commits.map(({ id, parent }) => [id, parent ?? null]));
  return wanted.map(({ id, parent: direct }) => {
    let parent = direct ?? null;
    while (parent !== null && !shown.has(parent)) parent = parents.get(parent) ?? null;
    return { id, parent };
  });
}

/** An unremarkable request. */
export function unremarkable(exchange: Exchange): boolean {
  const { request, answer } = exchange;
  if (request === null || answer === null || outcome(exchange) !== "fine") return false;
  const usual = ["new", "next", "retry"].includes(request.verdict) && request.changed === 0;
  const noted = answer.applied_edits.length > 0 || answer.compacted === true || answer.transformations.length > 0 || missed(answer) !== null;
  return usual && !noted;
}

function folded(list: Entry[]): Entry[] {
  const result: Entry[] = [];
  for (let index = 0; index < list.length;) {
    const run: Extract<Entry, { kind: "exchange" }>[] = [];
    for (let entry = list[index + run.length]; entry?.kind === "exchange"; entry = list[index + run.length]) {
      if (!unremarkable(entry.exchange)) break;
      run.push(entry);
    }
    const [first] = run;
    if (first !== undefined && run.length >= RUN_FROM) {
      // The oldest request names the run, so that it stays open while new ones join it.
      const key = `run${run.at(-1)?.key}`;
      result.push({ kind: "run", key, at: first.at, exchanges: run.map(({ exchange }) => exchange), past: first.past });
    } else {
      result.push(...list.slice(index, index + Math.max(1, run.length)));
    }
    index += Math.max(1, run.length);
  }
  return result;
}
