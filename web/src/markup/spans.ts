// Classified pieces of code, and their lines.

export interface Span {
  text: string;
  /** "keyword", "string", "comment"; nothing for plain text. */
  kind: string | null;
}

/** Spans cut at line breaks. */
export function linesOf(spans: readonly Span[]): Span[][] {
  const lines: Span[][] = [[]];
  for (const { text, kind } of spans) {
    text.split("\n").forEach((piece, index) => {
      if (index > 0) lines.push([]);
      if (piece !== "") lines.at(-1)?.push({ text: piece, kind });
    });
  }
  return lines;
}

export interface Numbered {
  /** As they stood before each line; empty where there was none. */
  numbers: string[];
  code: string;
}

const NUMBER = /^( *\d+)(?:\t|→|: )(.*)$/;

/** A file as tools print it, with line numbers; nothing for other text. */
export function numbered(text: string): Numbered | null {
  if (!NUMBER.test(text.slice(0, text.indexOf("\n") + 1 || undefined).replace(/\n$/, ""))) return null;
  const lines = text.split("\n").map((line) => NUMBER.exec(line) ?? line);
  const counted = lines.filter((line) => typeof line !== "string").length;
  if (counted * 4 < lines.length * 3) return null;
  return {
    numbers: lines.map((line) => (typeof line === "string" ? "" : (line[1] ?? "").trim())),
    code: lines.map((line) => (typeof line === "string" ? line : (line[2] ?? ""))).join("\n"),
  };
}
