// Tokenises Markdown. Uses only the library's lexer, so no HTML is ever created.

import { Lexer, type Token } from "marked";

/** Longer texts are shown plain: tokenising them would block scrolling. */
const LONGEST = 30_000;
const REMEMBERED = 200;

const known = new Map<string, Token[]>();

/** The blocks of a text; nothing if it is too long or too deeply nested. */
export function blocksOf(text: string): Token[] | null {
  if (text.length > LONGEST) return null;
  const before = known.get(text);
  if (before !== undefined) return before;
  try {
    const blocks = new Lexer({ gfm: true }).lex(text);
    const oldest = known.keys().next().value;
    if (known.size >= REMEMBERED && oldest !== undefined) known.delete(oldest);
    known.set(text, blocks);
    return blocks;
  } catch {
    return null;
  }
}

/** A link that is safe to follow: nothing that a browser would run or load by itself. */
export function safeAddress(address: string): string | null {
  try {
    const { protocol, href } = new URL(address);
    return protocol === "https:" || protocol === "http:" ? href : null;
  } catch {
    return null;
  }
}
