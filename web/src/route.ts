// Reads and changes the address; address.ts defines its form.

import { useSyncExternalStore } from "react";

import {
  FOLLOW_ACTIVE,
  formatRoute,
  formatSection,
  parseLogin,
  parseRoute,
  parseSection,
  type Route,
  type Section,
} from "./address";

export * from "./address";

export function useRoute(): [Route, (change: Partial<Route>) => void] {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  return [parseRoute(hash), go];
}

/** The section of the team's page on the screen: null for its first, undefined if the page shows a conversation. */
export function useSection(): Section | null | undefined {
  return parseSection(useSyncExternalStore(subscribe, () => window.location.hash));
}

/** The code of a machine that asks to sign in, if the page shows that: null without a code. */
export function useLogin(): string | null | undefined {
  return parseLogin(useSyncExternalStore(subscribe, () => window.location.hash));
}

export function goToTeam(section: Section): void {
  window.location.hash = formatSection(section);
}

/** Changes a part of what is on the screen; outside of drawing too. */
export function go(change: Partial<Route>): void {
  window.location.hash = formatRoute({ ...parseRoute(window.location.hash), ...change });
}

/**
 * Stops following the active conversation, because the user has begun to work in this one. Adds no entry to the
 * browser's history.
 */
export function stayWith(conversation: string): void {
  if (parseSection(window.location.hash) !== undefined || parseLogin(window.location.hash) !== undefined) return;
  const route = parseRoute(window.location.hash);
  if (route.conversation === FOLLOW_ACTIVE) window.location.replace(formatRoute({ ...route, conversation }));
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("hashchange", listener);
  return () => window.removeEventListener("hashchange", listener);
}
