// A message being edited, kept in the session's storage, so that it survives a reload.

import { useState } from "react";

export interface TextDraft {
  /** The item in the panel. */
  open: string;
  /** The message, or the frame. */
  target: string;
  /** The target of the operation. */
  choice: string;
  text: string;
  /** The head that was on the screen when it was begun. */
  head: string;
}

const PREFIX = "ctx.text.";
/** Longer texts do not fit, and trying at every key would be slow. */
const LONGEST = 1_000_000;

export function useDraft(conversation: string): [TextDraft | null, (draft: TextDraft | null) => void] {
  const [draft, setDraft] = useState<TextDraft | null>(() => read(conversation));
  return [
    draft,
    (next) => {
      setDraft(next);
      write(conversation, next);
    },
  ];
}

function read(conversation: string): TextDraft | null {
  try {
    const kept = sessionStorage.getItem(PREFIX + conversation);
    return kept === null ? null : (JSON.parse(kept) as TextDraft);
  } catch {
    return null;
  }
}

function write(conversation: string, draft: TextDraft | null): void {
  try {
    if (draft === null || draft.text.length > LONGEST) sessionStorage.removeItem(PREFIX + conversation);
    else sessionStorage.setItem(PREFIX + conversation, JSON.stringify(draft));
  } catch {
    // Full or forbidden storage only loses the draft on a reload.
  }
}
