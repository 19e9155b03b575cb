// Invisible characters that change how others read: they reverse text, hide it or move a terminal's cursor. The page
// names them, so that the user reads what the model reads.

/** Characters that reverse text, control a terminal, or have no width; not the joiners of emoji. */
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/;
const EACH = new RegExp(`${HIDDEN.source}+`, "g");

const NAMES: Record<string, string> = {
  "\u001b": "ESC",
  "\u0000": "NUL",
  "\u0007": "BEL",
  "\u0008": "BS",
  "\u007f": "DEL",
  "\u00ad": "SHY",
  "\u061c": "ALM",
  "\u200b": "ZWSP",
  "\u200e": "LRM",
  "\u200f": "RLM",
  "\u202a": "LRE",
  "\u202b": "RLE",
  "\u202c": "PDF",
  "\u202d": "LRO",
  "\u202e": "RLO",
  "\u2060": "WJ",
  "\u2066": "LRI",
  "\u2067": "RLI",
  "\u2068": "FSI",
  "\u2069": "PDI",
  "\ufeff": "BOM",
};

export interface Piece {
  text: string;
  /** The names of hidden signs, in place of them. */
  hidden: boolean;
}

/** A text in pieces: what can be shown, and the names of what cannot be seen. */
export function pieces(text: string): Piece[] {
  if (!HIDDEN.test(text)) return [{ text, hidden: false }];
  const found: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(EACH)) {
    if (match.index > end) found.push({ text: text.slice(end, match.index), hidden: false });
    found.push({ text: names(match[0]), hidden: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push({ text: text.slice(end), hidden: false });
  return found;
}

/** One line in which hidden signs are named: for titles, where there is no room for more. */
export function line(text: string): string {
  if (!HIDDEN.test(text)) return text;
  return pieces(text)
    .map((piece) => (piece.hidden ? `‹${piece.text}›` : piece.text))
    .join("");
}

/** More of the same kind add no information. */
function names(signs: string): string {
  const shown = [...signs.slice(0, 8)].map((sign) => NAMES[sign] ?? code(sign)).join(" ");
  return signs.length > 8 ? `${shown} and ${signs.length - 8} more` : shown;
}

function code(sign: string): string {
  return `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
