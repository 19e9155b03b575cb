// Names and explanations of the states of frames.

export interface Chip {
  label: string;
  color: string;
  tip: string;
}

const CHIPS: Record<string, Chip> = {
  deleted: { label: "deleted", color: "red", tip: "No longer sent." },
  edited: { label: "edited", color: "orange", tip: "Replaced by an edit." },
  compacted: { label: "compacted", color: "grape", tip: "Replaced with a summary." },
  offloaded: { label: "offloaded", color: "cyan", tip: "Moved to a file that the agent can read." },
  moved: { label: "moved", color: "indigo", tip: "Moved from its original place." },
  added: { label: "added", color: "teal", tip: "Added by an edit; the agent does not see it." },
  combined: { label: "combined", color: "indigo", tip: "Combined from several frames." },
  split: { label: "split", color: "indigo", tip: "Part of a split frame." },
  "thinking-dropped": {
    label: "thinking dropped",
    color: "gray",
    tip: "Thinking is bound to the content before it, which an edit changed.",
  },
  "before-compaction": {
    label: "before compaction",
    color: "gray",
    tip: "The agent compacted the conversation and no longer sends this frame. Import restores it.",
  },
  rewound: {
    label: "rewound",
    color: "gray",
    tip: "The agent rewound the conversation and no longer sends this frame. Import restores it.",
  },
  "source-changed": {
    label: "changed since",
    color: "yellow",
    tip: "The agent has rewritten the edited content.",
  },
};

export function chipOf(state: string): Chip {
  return CHIPS[state] ?? { label: state.replaceAll("-", " "), color: "orange", tip: "Changed by an edit." };
}
