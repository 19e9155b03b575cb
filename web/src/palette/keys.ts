// Every key of the page in one table: its effect and its presses. No other file names a key, so no two parts can claim
// the same one, and `?` can list them all.

export interface Key {
  /** As written in the table: modifiers in the order mod, alt, shift; "mod" is Ctrl, on a Mac also Cmd. */
  keys: readonly string[];
  words: string;
  group: Group;
  /** Also heard while the user types in a field; an editor hears all but `commit` itself. */
  whileTyping?: true;
}

export const GROUPS = ["Everywhere", "Moving and selecting", "On the selection", "History"] as const;
export type Group = (typeof GROUPS)[number];

export const KEYS = {
  palette: { keys: ["mod+k"], words: "Open the command palette", group: "Everywhere", whileTyping: true },
  help: { keys: ["?"], words: "Show the keys", group: "Everywhere" },
  search: { keys: ["/"], words: "Search in all conversations", group: "Everywhere" },
  undo: { keys: ["mod+z"], words: "Undo the newest change", group: "Everywhere" },
  redo: { keys: ["mod+shift+z", "mod+y"], words: "Redo the last undone change", group: "Everywhere" },
  commit: { keys: ["mod+enter"], words: "Apply the form or the tray", group: "Everywhere", whileTyping: true },
  chat: { keys: ["1"], words: "Show the conversation", group: "Everywhere" },
  frames: { keys: ["2"], words: "Show the frames", group: "Everywhere" },
  map: { keys: ["3"], words: "Show the map", group: "Everywhere" },
  history: { keys: ["4"], words: "Show the history", group: "Everywhere" },
  previousConversation: { keys: ["["], words: "Previous conversation", group: "Everywhere" },
  nextConversation: { keys: ["]"], words: "Next conversation", group: "Everywhere" },
  scheme: { keys: ["shift+l"], words: "Light or dark colours", group: "Everywhere" },

  down: { keys: ["arrowdown", "j"], words: "Next row", group: "Moving and selecting" },
  up: { keys: ["arrowup", "k"], words: "Previous row", group: "Moving and selecting" },
  downChoosing: {
    keys: ["shift+arrowdown", "shift+j"],
    words: "Extend the selection down",
    group: "Moving and selecting",
  },
  upChoosing: { keys: ["shift+arrowup", "shift+k"], words: "Extend the selection up", group: "Moving and selecting" },
  first: { keys: ["home"], words: "First row", group: "Moving and selecting" },
  last: { keys: ["end"], words: "Last row", group: "Moving and selecting" },
  unfold: { keys: ["arrowright"], words: "Unfold the steps", group: "Moving and selecting" },
  fold: { keys: ["arrowleft"], words: "Fold the steps", group: "Moving and selecting" },
  open: { keys: ["enter"], words: "Open in the panel", group: "Moving and selecting" },
  choose: { keys: ["space", "x"], words: "Select / deselect", group: "Moving and selecting" },
  chooseAll: { keys: ["mod+a"], words: "Select all", group: "Moving and selecting" },
  cancel: { keys: ["escape"], words: "Close, or deselect all", group: "Moving and selecting" },

  delete: { keys: ["delete", "backspace"], words: "Delete", group: "On the selection" },
  edit: { keys: ["e"], words: "Edit", group: "On the selection" },
  compact: { keys: ["c"], words: "Compact to a summary", group: "On the selection" },
  offload: { keys: ["o"], words: "Offload to a file", group: "On the selection" },
  restore: { keys: ["shift+o"], words: "Restore offloaded content", group: "On the selection" },
  "drop-results": { keys: ["d"], words: "Drop tool results", group: "On the selection" },
  "summarize-results": { keys: ["shift+d"], words: "Summarize tool results", group: "On the selection" },
  move: { keys: ["m"], words: "Move", group: "On the selection" },
  moveUp: { keys: ["alt+arrowup"], words: "Move one place up", group: "On the selection" },
  moveDown: { keys: ["alt+arrowdown"], words: "Move one place down", group: "On the selection" },
  add: { keys: ["a"], words: "Add a frame after it", group: "On the selection" },
  combine: { keys: ["g"], words: "Combine into one", group: "On the selection" },
  split: { keys: ["s"], words: "Split", group: "On the selection" },
  retitle: { keys: ["t", "f2"], words: "Change the title", group: "On the selection" },
  pin: { keys: ["p"], words: "Pin: exempt from automatic editing", group: "On the selection" },
  unpin: { keys: ["shift+p"], words: "Unpin", group: "On the selection" },
  import: { keys: ["i"], words: "Import frames from another conversation", group: "On the selection" },

  revert: { keys: ["r"], words: "Revert the commit", group: "History" },
  rollback: { keys: ["shift+r"], words: "Roll back to the commit", group: "History" },
  branch: { keys: ["b"], words: "Start a branch at the commit", group: "History" },
  tag: { keys: ["n"], words: "Tag the commit", group: "History" },
} as const satisfies Record<string, Key>;

export type KeyName = keyof typeof KEYS;

/** The used part of a key press; a KeyboardEvent has all of it. */
export interface Press {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

/** A press as the table writes it: "mod+shift+z", "?", "arrowdown". */
export function written({ key, ctrlKey, metaKey, altKey, shiftKey }: Press): string {
  const name = key === " " ? "space" : key.toLowerCase();
  // A character that needs Shift on one keyboard needs none on another, so the character itself counts.
  const shift = shiftKey && (name.length > 1 || name !== name.toUpperCase());
  return [ctrlKey || metaKey ? "mod+" : "", altKey ? "alt+" : "", shift ? "shift+" : "", name].join("");
}

/** Keys that write or rub out text where text is written. */
export function isText({ key, ctrlKey, metaKey, altKey }: Press): boolean {
  if (ctrlKey || metaKey || altKey) return false;
  return [...key].length === 1 || key === "Delete" || key === "Backspace";
}

const byPress = new Map<string, KeyName>(
  Object.entries(KEYS).flatMap(([name, { keys }]) => keys.map((key) => [key, name as KeyName] as const)),
);

export function keyNamed(press: Press): KeyName | null {
  return byPress.get(written(press)) ?? null;
}

const LABELS: Record<string, string> = {
  arrowdown: "↓",
  arrowup: "↑",
  arrowleft: "←",
  arrowright: "→",
  escape: "Esc",
  delete: "Del",
  backspace: "⌫",
  enter: "Enter",
  space: "Space",
  home: "Home",
  end: "End",
  alt: "Alt",
  shift: "Shift",
};

/** The caps to press, for showing: "mod+shift+z" → ["Ctrl", "Shift", "Z"]. */
export function caps(key: string, mac = false): string[] {
  return key.split("+").map((part) => (part === "mod" ? (mac ? "⌘" : "Ctrl") : (LABELS[part] ?? part.toUpperCase())));
}

/** The first key of an action as one short text for menus: "Ctrl K". */
export function shortcut(name: KeyName): string {
  return caps(KEYS[name].keys[0]).join(" ");
}

/** Whether an action is heard although the user types. */
export function heardWhileTyping(name: KeyName): boolean {
  const key: Key = KEYS[name];
  return key.whileTyping === true;
}
