// Every operation of the engine and its possible targets, for menus, keys, the command palette and buttons. The texts
// are those of the registry in `crates/api`, which writes `operations.json`.

import type { OperationName } from "../api";
import type { KeyName } from "../palette/keys";
import REGISTRY from "./operations.json";
import type { Scope, Target } from "./targets";

export interface OperationEntry {
  name: OperationName;
  label: string;
  /** The effect on the model's context. */
  words: string;
  key: KeyName;
  /** Entries of one group stand together in a menu. */
  group: "less" | "change" | "order" | "display";
  /** Applied at once: it does not change the request, so it has no price. */
  free?: true;
  /** The reason why it does not apply to these targets, or nothing. */
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
const spoken = only(CONVERSATION, "Only for messages, not for the system prompt or the tools.");
const whole = only(["frame"], "Only whole frames.");
const one = (targets: readonly Target[]) => (targets.length > 1 ? "Select only one." : null);
const withCalls = (targets: readonly Target[]) =>
  targets.some(({ calls, scope }) => calls || scope === "block" || scope === "message")
    ? null
    : "It contains no tool result.";
const isOff = (targets: readonly Target[]) =>
  targets.every(({ state }) => state.includes("deleted")) ? "Already deleted." : null;

const ENTRIES: readonly Omit<OperationEntry, "label" | "words">[] = [
  {
    name: "delete",
    key: "delete",
    group: "less",
    refuses: first(chosen, isOff),
  },
  {
    name: "compact",
    key: "compact",
    group: "less",
    refuses: first(spoken, isOff),
  },
  {
    name: "offload",
    key: "offload",
    group: "less",
    refuses: first(spoken, isOff),
  },
  {
    name: "restore",
    key: "restore",
    group: "less",
    refuses: first(spoken, (targets) =>
      targets.some(({ state }) => state.includes("offloaded")) ? null : "Not offloaded.",
    ),
  },
  {
    name: "drop-results",
    key: "drop-results",
    group: "less",
    refuses: first(spoken, isOff, withCalls),
  },
  {
    name: "summarize-results",
    key: "summarize-results",
    group: "less",
    refuses: first(spoken, isOff, withCalls),
  },
  {
    name: "edit",
    key: "edit",
    group: "change",
    refuses: first(chosen, one),
  },
  {
    name: "add",
    key: "add",
    group: "change",
    refuses: () => null,
  },
  {
    name: "import",
    key: "import",
    group: "change",
    refuses: () => null,
  },
  {
    name: "move",
    key: "move",
    group: "order",
    refuses: whole,
  },
  {
    name: "combine",
    key: "combine",
    group: "order",
    refuses: first(whole, (targets) => (targets.length < 2 ? "Select at least two frames." : null)),
  },
  {
    name: "split",
    key: "split",
    group: "order",
    refuses: first(whole, one),
  },
  {
    name: "retitle",
    key: "retitle",
    group: "display",
    refuses: first(only(["frame", "system", "tools"], "Only whole frames."), one),
  },
  {
    name: "pin",
    key: "pin",
    group: "display",
    free: true,
    refuses: first(only(["frame", "system", "tools"], "Only whole frames."), (targets) =>
      targets.every(({ pinned }) => pinned) ? "Already pinned." : null,
    ),
  },
  {
    name: "unpin",
    key: "unpin",
    group: "display",
    free: true,
    refuses: first(only(["frame", "system", "tools"], "Only whole frames."), (targets) =>
      targets.some(({ pinned }) => pinned) ? null : "Not pinned.",
    ),
  },
];

export const OPERATIONS: readonly OperationEntry[] = ENTRIES.map((entry) => ({
  ...entry,
  label: labelOf(entry.name),
  words: REGISTRY.find(({ name }) => name === entry.name)?.help ?? "",
}));

function labelOf(name: OperationName): string {
  const words = name.replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function entryOf(name: OperationName): OperationEntry {
  const found = OPERATIONS.find((entry) => entry.name === name);
  if (found === undefined) throw new Error(`No operation ${name}.`);
  return found;
}
