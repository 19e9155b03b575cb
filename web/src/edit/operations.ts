// Every operation of the engine: what it is called, what it does in words, and what it can be done to. Menus, keys, the
// command palette and the buttons all read this list.

import type { OperationName } from "../api";
import type { KeyName } from "../palette/keys";
import type { Scope, Target } from "./targets";

export interface OperationEntry {
  name: OperationName;
  label: string;
  /** What it does to what the model sees. */
  words: string;
  key: KeyName;
  /** Entries of one group stand together in a menu. */
  group: "less" | "change" | "order" | "display";
  /** Done at once: it changes nothing that is sent, so there is no price to look at. */
  free?: true;
  /** Why it cannot be done to these, or nothing. */
  refuses: (targets: readonly Target[]) => string | null;
}

const CONVERSATION: readonly Scope[] = ["frame", "step", "message", "block"];

function only(scopes: readonly Scope[], words: string) {
  return (targets: readonly Target[]) =>
    targets.length === 0
      ? "Select a frame first."
      : targets.every(({ scope }) => scopes.includes(scope))
        ? null
        : words;
}

function first(...rules: ((targets: readonly Target[]) => string | null)[]) {
  return (targets: readonly Target[]) => rules.reduce<string | null>((said, rule) => said ?? rule(targets), null);
}

const chosen = only([...CONVERSATION, "system", "tools", "tool"], "");
const spoken = only(CONVERSATION, "This works on messages, not on the system prompt or the tools.");
const whole = only(["frame"], "Only whole frames.");
const one = (targets: readonly Target[]) => (targets.length > 1 ? "Select only one." : null);
const withCalls = (targets: readonly Target[]) =>
  targets.some(({ calls, scope }) => calls || scope === "block" || scope === "message")
    ? null
    : "There is no tool result in it.";
const isOff = (targets: readonly Target[]) =>
  targets.every(({ state }) => state.includes("deleted")) ? "It is deleted." : null;

export const OPERATIONS: readonly OperationEntry[] = [
  {
    name: "delete",
    label: "Delete",
    words: "The model no longer sees it",
    key: "delete",
    group: "less",
    refuses: first(chosen, isOff),
  },
  {
    name: "compact",
    label: "Compact",
    words: "Replace it with a short summary",
    key: "compact",
    group: "less",
    refuses: first(spoken, isOff),
  },
  {
    name: "offload",
    label: "Offload",
    words: "Move it to a file that the agent can read, and leave a short note",
    key: "offload",
    group: "less",
    refuses: first(spoken, isOff),
  },
  {
    name: "restore",
    label: "Restore",
    words: "What was offloaded comes back",
    key: "restore",
    group: "less",
    refuses: first(spoken, (targets) =>
      targets.some(({ state }) => state.includes("offloaded")) ? null : "Nothing of it is offloaded.",
    ),
  },
  {
    name: "drop-results",
    label: "Drop results",
    words: "Tool results become a short note; the calls stay",
    key: "drop-results",
    group: "less",
    refuses: first(spoken, isOff, withCalls),
  },
  {
    name: "summarize-results",
    label: "Summarize results",
    words: "Tool results become summaries; the calls stay",
    key: "summarize-results",
    group: "less",
    refuses: first(spoken, isOff, withCalls),
  },
  {
    name: "edit",
    label: "Edit",
    words: "Replace its text or its messages",
    key: "edit",
    group: "change",
    refuses: first(chosen, one),
  },
  {
    name: "add",
    label: "Add",
    words: "Insert a new frame after it",
    key: "add",
    group: "change",
    refuses: () => null,
  },
  {
    name: "import",
    label: "Import",
    words: "Copy frames from another conversation after it",
    key: "import",
    group: "change",
    refuses: () => null,
  },
  {
    name: "move",
    label: "Move",
    words: "Move it elsewhere in the conversation",
    key: "move",
    group: "order",
    refuses: whole,
  },
  {
    name: "combine",
    label: "Combine",
    words: "Join several frames into one",
    key: "combine",
    group: "order",
    refuses: first(whole, (targets) => (targets.length < 2 ? "Select at least two frames." : null)),
  },
  {
    name: "split",
    label: "Split",
    words: "Cut one frame into several",
    key: "split",
    group: "order",
    refuses: first(whole, one),
  },
  {
    name: "retitle",
    label: "Retitle",
    words: "Change the title in the lists; nothing that is sent changes",
    key: "retitle",
    group: "display",
    refuses: first(only(["frame", "system", "tools"], "Only whole frames."), one),
  },
  {
    name: "pin",
    label: "Pin",
    words: "Automatic editing never touches it",
    key: "pin",
    group: "display",
    free: true,
    refuses: first(only(["frame", "system", "tools"], "Only whole frames."), (targets) =>
      targets.every(({ pinned }) => pinned) ? "It is pinned." : null,
    ),
  },
  {
    name: "unpin",
    label: "Unpin",
    words: "Let automatic editing touch it again",
    key: "unpin",
    group: "display",
    free: true,
    refuses: first(only(["frame", "system", "tools"], "Only whole frames."), (targets) =>
      targets.some(({ pinned }) => pinned) ? null : "It is not pinned.",
    ),
  },
];

export function entryOf(name: OperationName): OperationEntry {
  const found = OPERATIONS.find((entry) => entry.name === name);
  if (found === undefined) throw new Error(`There is no operation ${name}.`);
  return found;
}
