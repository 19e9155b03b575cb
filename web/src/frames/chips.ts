// What the state of a frame is called, and what it means.

export interface Chip {
  label: string;
  color: string;
  tip: string;
}

const CHIPS: Record<string, Chip> = {
  deleted: { label: "deleted", color: "red", tip: "The model does not see it any more." },
  edited: { label: "edited", color: "orange", tip: "Its content was replaced." },
  compacted: { label: "compacted", color: "grape", tip: "A summary stands in its place." },
  offloaded: { label: "offloaded", color: "cyan", tip: "It lies in a file that the agent can read back." },
  moved: { label: "moved", color: "indigo", tip: "It stands at another place than where the agent put it." },
  added: { label: "added", color: "teal", tip: "The agent knows nothing of it." },
  combined: { label: "combined", color: "indigo", tip: "It was made of several frames." },
  split: { label: "split", color: "indigo", tip: "It is a part of a frame that was split." },
  "thinking-dropped": {
    label: "thinking left out",
    color: "gray",
    tip: "What stands before its thinking has changed, so the provider would not take it.",
  },
  "source-changed": {
    label: "changed since",
    color: "yellow",
    tip: "The agent sends other words now than those that were edited.",
  },
};

export function chipOf(state: string): Chip {
  return CHIPS[state] ?? { label: state.replaceAll("-", " "), color: "orange", tip: "Changed by an operation." };
}
