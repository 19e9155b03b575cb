// What the state of a frame is called, and what it means.

export interface Chip {
  label: string;
  color: string;
  tip: string;
}

const CHIPS: Record<string, Chip> = {
  deleted: { label: "deleted", color: "red", tip: "The model no longer sees it." },
  edited: { label: "edited", color: "orange", tip: "Its content was replaced." },
  compacted: { label: "compacted", color: "grape", tip: "A summary stands in its place." },
  offloaded: { label: "offloaded", color: "cyan", tip: "Its content is in a file that the agent can read." },
  moved: { label: "moved", color: "indigo", tip: "It was moved from where the agent put it." },
  added: { label: "added", color: "teal", tip: "You added it; the agent does not know about it." },
  combined: { label: "combined", color: "indigo", tip: "Several frames were combined into it." },
  split: { label: "split", color: "indigo", tip: "It is one part of a frame that was split." },
  "thinking-dropped": {
    label: "thinking left out",
    color: "gray",
    tip: "An edit before it changed what this thinking followed, so the provider would refuse it.",
  },
  "before-compaction": {
    label: "before compaction",
    color: "gray",
    tip: "The agent summarised the conversation after it and no longer sends it. Import brings it back.",
  },
  rewound: {
    label: "rewound",
    color: "gray",
    tip: "The agent went back to before it and no longer sends it. Import brings it back.",
  },
  "source-changed": {
    label: "changed since",
    color: "yellow",
    tip: "The agent now sends a different text from the one that was edited.",
  },
};

export function chipOf(state: string): Chip {
  return CHIPS[state] ?? { label: state.replaceAll("-", " "), color: "orange", tip: "Changed by an operation." };
}
