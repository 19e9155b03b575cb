// Every key of the page in one table: what it does, in words, and which presses mean it. Nothing else in the page
// names a key, so no two parts can want the same one, and `?` can show them all.

export interface Key {
  /** As written in the table: modifiers in the order mod, alt, shift; "mod" is Ctrl, on a Mac also Cmd. */
  keys: readonly string[];
  words: string;
  group: Group;
  /** Also heard while somebody types in a field; an editor hears all but `commit` itself. */
  whileTyping?: true;
}

export const GROUPS = ["Everywhere", "Moving and choosing", "On what is chosen", "History"] as const;
export type Group = (typeof GROUPS)[number];

export const KEYS = {
  palette: { keys: ["mod+k"], words: "Find and do anything", group: "Everywhere", whileTyping: true },
  help: { keys: ["?"], words: "Show the keys", group: "Everywhere" },
  search: { keys: ["/"], words: "Search in all conversations", group: "Everywhere" },
  undo: { keys: ["mod+z"], words: "Undo the newest change", group: "Everywhere" },
  redo: { keys: ["mod+shift+z", "mod+y"], words: "Redo what was undone", group: "Everywhere" },
  commit: { keys: ["mod+enter"], words: "Make what is in the form or the tray", group: "Everywhere", whileTyping: true },
  chat: { keys: ["1"], words: "Show the conversation", group: "Everywhere" },
  frames: { keys: ["2"], words: "Show the frames", group: "Everywhere" },
  map: { keys: ["3"], words: "Show the map", group: "Everywhere" },
  history: { keys: ["4"], words: "Show the history", group: "Everywhere" },
  previousConversation: { keys: ["["], words: "Previous conversation", group: "Everywhere" },
  nextConversation: { keys: ["]"], words: "Next conversation", group: "Everywhere" },
  scheme: { keys: ["shift+l"], words: "Light or dark colours", group: "Everywhere" },

  down: { keys: ["arrowdown", "j"], words: "Next one", group: "Moving and choosing" },
  up: { keys: ["arrowup", "k"], words: "One before", group: "Moving and choosing" },
  downChoosing: {
    keys: ["shift+arrowdown", "shift+j"],
    words: "Choose the next one too",
    group: "Moving and choosing",
  },
  upChoosing: { keys: ["shift+arrowup", "shift+k"], words: "Choose the one before too", group: "Moving and choosing" },
  first: { keys: ["home"], words: "First one", group: "Moving and choosing" },
  last: { keys: ["end"], words: "Last one", group: "Moving and choosing" },
  unfold: { keys: ["arrowright"], words: "Unfold the steps", group: "Moving and choosing" },
  fold: { keys: ["arrowleft"], words: "Fold the steps", group: "Moving and choosing" },
  open: { keys: ["enter"], words: "Open in the panel", group: "Moving and choosing" },
  choose: { keys: ["space", "x"], words: "Choose, or no longer", group: "Moving and choosing" },
  chooseAll: { keys: ["mod+a"], words: "Choose all", group: "Moving and choosing" },
  cancel: { keys: ["escape"], words: "Close, or choose nothing", group: "Moving and choosing" },

  delete: { keys: ["delete", "backspace"], words: "Delete", group: "On what is chosen" },
  edit: { keys: ["e"], words: "Edit", group: "On what is chosen" },
  compact: { keys: ["c"], words: "Compact to a summary", group: "On what is chosen" },
  offload: { keys: ["o"], words: "Offload to a file", group: "On what is chosen" },
  restore: { keys: ["shift+o"], words: "Bring offloaded content back", group: "On what is chosen" },
  "drop-results": { keys: ["d"], words: "Drop tool results", group: "On what is chosen" },
  "summarize-results": { keys: ["shift+d"], words: "Summarize tool results", group: "On what is chosen" },
  move: { keys: ["m"], words: "Move to another place", group: "On what is chosen" },
  moveUp: { keys: ["alt+arrowup"], words: "Move one place up", group: "On what is chosen" },
  moveDown: { keys: ["alt+arrowdown"], words: "Move one place down", group: "On what is chosen" },
  add: { keys: ["a"], words: "Add a frame behind it", group: "On what is chosen" },
  combine: { keys: ["g"], words: "Combine into one", group: "On what is chosen" },
  split: { keys: ["s"], words: "Split", group: "On what is chosen" },
  retitle: { keys: ["t", "f2"], words: "Give it another title", group: "On what is chosen" },
  pin: { keys: ["p"], words: "Pin: no policy touches it", group: "On what is chosen" },
  unpin: { keys: ["shift+p"], words: "Unpin", group: "On what is chosen" },
  import: { keys: ["i"], words: "Copy frames of another conversation", group: "On what is chosen" },

  revert: { keys: ["r"], words: "Revert the commit", group: "History" },
  rollback: { keys: ["shift+r"], words: "Go back to after the commit", group: "History" },
  branch: { keys: ["b"], words: "Begin a branch at the commit", group: "History" },
  tag: { keys: ["n"], words: "Name the commit", group: "History" },
} as const satisfies Record<string, Key>;

export type KeyName = keyof typeof KEYS;

/** What is read of a key press; a KeyboardEvent has all of it. */
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
  // A sign that needs Shift on one keyboard needs none on another: the sign itself is what counts.
  const shift = shiftKey && (name.length > 1 || name !== name.toUpperCase());
  return [ctrlKey || metaKey ? "mod+" : "", altKey ? "alt+" : "", shift ? "shift+" : "", name].join("");
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

/** Whether an action is heard although somebody types. */
export function heardWhileTyping(name: KeyName): boolean {
  const key: Key = KEYS[name];
  return key.whileTyping === true;
}
