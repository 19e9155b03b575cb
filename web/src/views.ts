// The views that are loaded on demand: all but the frames.

import type { View } from "./address";

export const LOAD = {
  chat: async () => (await import("./chat/ChatView")).ChatView,
  map: async () => (await import("./map/MapView")).MapView,
  history: async () => (await import("./history/HistoryView")).HistoryView,
} satisfies Partial<Record<View, () => Promise<unknown>>>;

/** Begins to load a view before it is drawn. */
export function loadView(view: View): void {
  // An error is reported when the view is drawn.
  if (view !== "frames") LOAD[view]().catch(() => undefined);
}
