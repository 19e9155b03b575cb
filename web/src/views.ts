// The views that are loaded when the user looks at them: all but the frames.

import type { View } from "./address";

export const LOAD = {
  chat: async () => (await import("./chat/ChatView")).ChatView,
  map: async () => (await import("./map/MapView")).MapView,
  history: async () => (await import("./history/HistoryView")).HistoryView,
} satisfies Partial<Record<View, () => Promise<unknown>>>;

/** Begins to load a view before it is drawn. */
export function loadView(view: View): void {
  // What goes wrong is told when it is drawn.
  if (view !== "frames") LOAD[view]().catch(() => undefined);
}
