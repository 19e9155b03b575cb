// Keeps the page current: the daemon's event stream says what changed, and the queries concerned ask again.
// While the stream is down the page asks for everything every few seconds, so it is late but never wrong.

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { EVENTS_URL, type LiveEvent } from "./api";
import { refreshed } from "./queries";

export type Connection = "connecting" | "live" | "lost";

const POLL_EVERY = 3000;
/** Events of one turn come in bursts: the first is answered at once, one question is enough for all that follow. */
const GATHER_FOR = 100;

/** Told only while somebody listens, many a second: they say how a reply grows, and nothing that could be asked for. */
const PASSING: readonly string[] = ["streaming"];

const listeners = new Set<(event: LiveEvent) => void>();

/** Commits of this tab, which asks again itself. */
const own = new Set<string>();
const REMEMBERED_FOR = 10_000;
/** Commits of this tab whose answer is on its way: their event may come first. */
let making = 0;

/** Makes a commit whose event need not be heard. */
export async function makeHere<T extends { commit: string | null }>(make: () => Promise<T>): Promise<T> {
  making += 1;
  try {
    const made = await make();
    const { commit } = made;
    if (commit !== null) {
      own.add(commit);
      setTimeout(() => own.delete(commit), REMEMBERED_FOR);
    }
    return made;
  } finally {
    making -= 1;
  }
}

/** Hears every event as it comes, for what cannot be asked for. */
export function useLiveEvents(hear: (event: LiveEvent) => void): void {
  const latest = useRef(hear);
  useEffect(() => {
    latest.current = hear;
  });
  useEffect(() => {
    const listener = (event: LiveEvent) => latest.current(event);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
}

export function useLive(): Connection {
  const queries = useQueryClient();
  const [connection, setConnection] = useState<Connection>("connecting");

  useEffect(() => listen(queries, setConnection), [queries]);

  useEffect(() => {
    if (connection !== "lost") return;
    const poll = setInterval(() => void queries.invalidateQueries(), POLL_EVERY);
    return () => clearInterval(poll);
  }, [connection, queries]);

  return connection;
}

function listen(queries: QueryClient, report: (connection: Connection) => void): () => void {
  let source: EventSource | undefined;
  let reopen: ReturnType<typeof setTimeout> | undefined;
  let gathering: ReturnType<typeof setTimeout> | undefined;
  let wasLost = false;
  const changed = new Set<string>();
  const commits = new Map<string, string>();

  const refresh = () => {
    for (const [id, conversation] of commits) if (!own.has(id)) changed.add(conversation);
    commits.clear();
    const ids = [...changed];
    changed.clear();
    if (ids.length > 0) void refreshed(queries, ids);
    return ids.length > 0;
  };

  const gather = () => {
    if (gathering !== undefined) return;
    // Whose commit it is will be known in a moment.
    if (making === 0) refresh();
    gathering = setTimeout(function again() {
      gathering = refresh() ? setTimeout(again, GATHER_FOR) : undefined;
    }, GATHER_FOR);
  };

  const hear = ({ data }: MessageEvent<string>) => {
    const event = read(data);
    if (event === null) return;
    for (const listener of listeners) listener(event);
    if (PASSING.includes(event.kind)) return;
    if (event.kind === "commit") commits.set(event.id, event.conversation);
    else if ("conversation" in event) changed.add(event.conversation);
    gather();
  };

  const open = () => {
    source = new EventSource(EVENTS_URL);
    source.onopen = () => {
      report("live");
      // What happened while nobody listened is not told again.
      if (wasLost) void queries.invalidateQueries();
      wasLost = false;
    };
    source.onmessage = hear;
    for (const named of PASSING) source.addEventListener(named, hear);
    // The stream could not go on where it was cut.
    source.addEventListener("reset", () => void queries.invalidateQueries());
    source.onerror = () => {
      report("lost");
      wasLost = true;
      // The browser reconnects by itself after a broken connection, but not after a refusal.
      if (source?.readyState === EventSource.CLOSED) reopen = setTimeout(open, POLL_EVERY);
    };
  };

  open();
  return () => {
    clearTimeout(reopen);
    clearTimeout(gathering);
    source?.close();
  };
}

function read(data: string): LiveEvent | null {
  try {
    return JSON.parse(data) as LiveEvent;
  } catch {
    return null;
  }
}
