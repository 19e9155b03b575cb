// Separates text that the agent's program injected from text that a person wrote.

export interface Part {
  /** "words" are the user's own; everything else is the name of the tag around an injected text. */
  kind: "words" | "injected";
  /** The tag, such as "system-reminder"; empty for words. */
  tag: string;
  text: string;
}

/** Tags that programs put around what they add; any other tag is the user's own text. */
const TAGS = [
  "system-reminder",
  "command-name",
  "command-message",
  "command-args",
  "local-command-stdout",
  "local-command-caveat",
  "ide_selection",
  "ide_opened_file",
  "bash-stdout",
  "bash-stderr",
  "task-notification",
];
const OPENING = new RegExp(`<(${TAGS.join("|")})>`, "g");

/** A text in parts: words and injected texts. A tag that is never closed is words. */
export function parts(text: string): Part[] {
  // Nothing to look for in most texts, which may be megabytes long.
  if (!text.includes("<")) return words(text);
  const found: Part[] = [];
  const unclosed = new Set<string>();
  let end = 0;
  for (const match of text.matchAll(OPENING)) {
    const tag = match[1] ?? "";
    if (match.index < end || unclosed.has(tag)) continue;
    const closing = `</${tag}>`;
    const begin = match.index + match[0].length;
    const close = text.indexOf(closing, begin);
    if (close < 0) {
      unclosed.add(tag);
      continue;
    }
    found.push(...words(text.slice(end, match.index)));
    found.push({ kind: "injected", tag, text: text.slice(begin, close).trim() });
    end = close + closing.length;
  }
  return [...found, ...words(text.slice(end))];
}

function words(text: string): Part[] {
  const trimmed = text.trim();
  return trimmed === "" ? [] : [{ kind: "words", tag: "", text: trimmed }];
}

/** The name of an injected text. */
export function tagLabel(tag: string): string {
  if (tag === "system-reminder") return "Injected reminder";
  return `Injected: ${tag.replaceAll(/[-_]/g, " ")}`;
}
