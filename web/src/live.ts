// Keeps the page current: the daemon's event stream says what changed, and the queries concerned ask again.
// While the stream is down the page asks for everything every few seconds, so it is late but never wrong.

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { EVENTS_URL, type LiveEvent } from "./api";
import { keys } from "./queries";

export type Connection = "connecting" | "live" | "lost";

const POLL_EVERY = 3000;
/** Events of one turn come in bursts; one question for all of them is enough. */
const GATHER_FOR = 100;

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

  const refresh = () => {
    gathering = undefined;
    void queries.invalidateQueries({ queryKey: keys.conversations });
    void queries.invalidateQueries({ queryKey: keys.status });
    for (const id of changed) void queries.invalidateQueries({ queryKey: keys.conversation(id) });
    changed.clear();
  };

  const open = () => {
    source = new EventSource(EVENTS_URL);
    source.onopen = () => {
      report("live");
      // What happened while nobody listened is not told again.
      if (wasLost) void queries.invalidateQueries();
      wasLost = false;
    };
    source.onmessage = (message: MessageEvent<string>) => {
      const conversation = conversationOf(message.data);
      if (conversation !== null) changed.add(conversation);
      gathering ??= setTimeout(refresh, GATHER_FOR);
    };
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

function conversationOf(data: string): string | null {
  try {
    const event = JSON.parse(data) as LiveEvent;
    return "conversation" in event ? event.conversation : null;
  } catch {
    return null;
  }
}
