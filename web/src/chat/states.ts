// What was done to a frame, in words: the marks at it and what they mean.

export interface StateWord {
  label: string;
  meaning: string;
  color: "orange" | "red" | "teal" | "gray";
}

const WORDS: Record<string, StateWord> = {
  deleted: { label: "deleted", meaning: "Not sent any more", color: "red" },
  trimmed: { label: "trimmed", meaning: "Parts of it are not sent any more", color: "orange" },
  edited: { label: "edited", meaning: "Other words are sent than the agent's", color: "orange" },
  compacted: { label: "compacted", meaning: "A summary is sent in its place", color: "orange" },
  offloaded: { label: "offloaded", meaning: "It lies in a file; the model is told where", color: "orange" },
  added: { label: "added", meaning: "The agent did not send it", color: "teal" },
  moved: { label: "moved", meaning: "It stands elsewhere than the agent put it", color: "orange" },
  combined: { label: "combined", meaning: "Several frames of the agent in one", color: "orange" },
  split: { label: "split", meaning: "A part of a frame of the agent", color: "orange" },
  "results-dropped": { label: "results dropped", meaning: "Short notes stand in place of tool results", color: "orange" },
  "results-summarized": { label: "results summarized", meaning: "Summaries stand in place of tool results", color: "orange" },
  "thinking-dropped": {
    label: "thinking dropped",
    meaning: "Thoughts that no longer fit what stands before them are not sent",
    color: "gray",
  },
  "source-changed": {
    label: "agent changed it",
    meaning: "The agent sends other words since the edit was made; the edit still holds",
    color: "red",
  },
  repaired: { label: "repaired", meaning: "Something is left out that the provider would refuse", color: "gray" },
  "file-missing": { label: "file missing", meaning: "The file with its content is gone", color: "red" },
};

export function stateWord(state: string): StateWord {
  return WORDS[state] ?? { label: state.replaceAll("-", " "), meaning: "Changed by an edit", color: "orange" };
}
