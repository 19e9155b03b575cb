// Extracts the part where two long texts begin to differ: comparing and drawing megabytes would block the page.

export interface Excerpt {
  before: string;
  after: string;
  /** Characters left out at the beginning, where both are the same. */
  skipped: number;
  /** Characters left out at the end, of the longer one. */
  missing: number;
}

/** The shown part of the common beginning. */
const CONTEXT = 2000;

export function excerpt(before: string, after: string, limit: number): Excerpt {
  if (before.length <= limit && after.length <= limit) return { before, after, skipped: 0, missing: 0 };
  const begin = lineStart(before, Math.max(0, firstDifference(before, after) - CONTEXT));
  const end = begin + limit;
  return {
    before: whole(before, begin, end),
    after: whole(after, begin, end),
    skipped: begin,
    missing: Math.max(0, before.length - end, after.length - end),
  };
}

export function firstDifference(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at;
}

/** The beginning of the line, unless the line is endless. */
function lineStart(text: string, at: number): number {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  return at === 0 ? 0 : at - start > CONTEXT ? at : start;
}

/** A piece of a text that does not begin or end inside a character. */
function whole(text: string, begin: number, end: number): string {
  return text.slice(begin, end).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "");
}
