// What is on the screen, kept in the address so that a reload or a copied link shows the same:
// #/<conversation or "active">/<view>[/<frame, step or part>]

import { useSyncExternalStore } from "react";

export type View = "frames" | "timeline";

export interface Route {
  /** A conversation's id, or "active" to follow the one that was used last. */
  conversation: string;
  view: View;
  /** The frame, step or part in the side panel. */
  open: string | null;
}

export const FOLLOW_ACTIVE = "active";

export function parseRoute(hash: string): Route {
  const [conversation, view, open] = hash
    .replace(/^#?\/?/, "")
    .split("/")
    .map(decode);
  return {
    conversation: conversation || FOLLOW_ACTIVE,
    view: view === "timeline" ? "timeline" : "frames",
    open: open || null,
  };
}

export function formatRoute({ conversation, view, open }: Route): string {
  const parts = open === null ? [conversation, view] : [conversation, view, open];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function useRoute(): [Route, (change: Partial<Route>) => void] {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  const route = parseRoute(hash);
  return [route, (change) => (window.location.hash = formatRoute({ ...route, ...change }))];
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("hashchange", listener);
  return () => window.removeEventListener("hashchange", listener);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
