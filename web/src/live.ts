// Keeps the page current: events of the daemon invalidate the queries concerned. While the stream is down, the page
// refetches everything every few seconds, so it is late but never wrong.

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { EVENTS_URL, type LiveEvent } from "./api";
import { askAgain, refreshed } from "./queries";

export type Connection = "connecting" | "live" | "lost";

const POLL_EVERY = 3000;
/** Events of one turn come in bursts: the first causes a fetch at once, all others one more. */
const GATHER_FOR = 100;

/** The first responses are older than the stream; the comparison is not urgent. */
const FIRST_AGAIN = 400;

/** Sent only while a client listens, many per second: they report the growth of a reply, not fetchable state. */
const PASSING: readonly string[] = ["streaming"];

const listeners = new Set<(event: LiveEvent) => void>();

/** Commits whose event has arrived, and commits of this tab whose event can be ignored. */
const heard = new Set<string>();
const own = new Set<string>();
const REMEMBERED_FOR = 10_000;

function remember(commits: Set<string>, id: string): void {
  commits.add(id);
  setTimeout(() => commits.delete(id), REMEMBERED_FOR);
}

/**
 * A commit was made in this tab. If its event arrived before the response, the affected queries are already running,
 * and this returns true. Otherwise the caller runs them, and the event is ignored.
 */
export function isHeard(commit: string | null): boolean {
  if (commit === null) return false;
  if (heard.has(commit)) return true;
  remember(own, commit);
  return false;
}

/** Receives every event, for data that cannot be fetched. */
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
  let again: ReturnType<typeof setTimeout> | undefined;
  let gathering: ReturnType<typeof setTimeout> | undefined;
  let wasLost = false;
  const changed = new Set<string>();

  let asking = false;

  const refresh = () => {
    gathering = undefined;
    if (changed.size === 0) return;
    gathering = setTimeout(refresh, GATHER_FOR);
    // A query restarted before its response would never finish.
    if (asking) return;
    asking = true;
    void refreshed(queries, [...changed]).finally(() => (asking = false));
    changed.clear();
  };

  const hear = ({ data }: MessageEvent<string>) => {
    const event = read(data);
    if (event === null) return;
    for (const listener of listeners) listener(event);
    if (PASSING.includes(event.kind)) return;
    if (event.kind === "commit") {
      if (own.has(event.id)) return;
      remember(heard, event.id);
    }
    if ("conversation" in event) changed.add(event.conversation);
    if (gathering === undefined) refresh();
  };

  const open = () => {
    source = new EventSource(EVENTS_URL);
    source.onopen = () => {
      report("live");
      // Events missed while disconnected are not repeated.
      if (wasLost) void queries.invalidateQueries();
      else again = setTimeout(() => void askAgain(queries), FIRST_AGAIN);
      wasLost = false;
    };
    source.onmessage = hear;
    for (const named of PASSING) source.addEventListener(named, hear);
    // The stream could not resume.
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
    clearTimeout(again);
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
