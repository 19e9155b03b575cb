// Refusals of the daemon, worded for the page, which has buttons where hints name commands.

import type { ApiError } from "../api";

export interface Words {
  message: string;
  hint: string | null;
}

/** The remedy for a refusal on this page. */
const HERE: Record<string, string> = {
  gone: "The history shows the commit that removed it. Revert that commit to restore it.",
  stale: "Check the history, then try again.",
  needed: "Revert it in the history, which offers to revert the commits that depend on it too.",
  protected: "To do it anyway, tick the box in the form.",
  "does-not-fit": "Remove these operations from the tray, then apply the others.",
  inactive: "Redo, or revert the commit that switched it off.",
};

const MESSAGES: Record<string, string> = {
  stale: "This conversation has changed since you started. Nothing was applied.",
};

/** The remedy is outside the page: the daemon, its files, its settings. */
const IN_A_SHELL: readonly string[] = [
  "store",
  "not-stored",
  "not-written",
  "incomplete",
  "internal",
  "helper-settings",
  "helper-refused",
  "helper-down",
  "no-folder",
  "token-needed",
  "token-wrong",
  "no-conversation",
];

const IS_SHELL = /`ctx\b|`--?[a-z]/;

export function forPage({ code, message, hint }: Pick<ApiError, "code" | "message" | "hint">): Words {
  if (IN_A_SHELL.includes(code)) return { message, hint };
  return { message: MESSAGES[code] ?? message, hint: HERE[code] ?? withoutCommands(hint) };
}

/** "The last frames are t2, t3; `ctx list` shows the ids." → "The last frames are t2, t3." */
export function withoutCommands(hint: string | null): string | null {
  if (hint === null || !IS_SHELL.test(hint)) return hint;
  const kept = hint.split(/(?<=[.;?!])\s+/).filter((part) => !IS_SHELL.test(part));
  const text = kept.join(" ").replace(/;$/, ".");
  return text === "" ? null : text;
}

/** An operation as the tray names it. */
interface Staged {
  label: string;
  frames: readonly string[];
}

/**
 * The same for operations in the tray: what an earlier one of them takes out is not gone yet. `Operation 2 (…)` counts
 * from one.
 */
export function forTray(error: Pick<ApiError, "code" | "message" | "hint">, operations: readonly Staged[]): Words {
  const number = Number(/^Operation (\d+)/.exec(error.message)?.[1]);
  const refused = operations[number - 1];
  if (!["gone", "nothing-to-do"].includes(error.code) || refused === undefined) return forPage(error);
  const earlier = operations.findIndex(
    ({ frames }, index) => index < number - 1 && frames.some((frame) => refused.frames.includes(frame)),
  );
  const before = operations[earlier];
  if (before === undefined) return forPage(error);
  const shared = refused.frames.filter((frame) => before.frames.includes(frame)).join(", ");
  return {
    message: `Operations ${earlier + 1} (${before.label}) and ${number} (${refused.label}) both change ${shared}, and one leaves nothing for the other.`,
    hint: "Remove one of them from the tray.",
  };
}
