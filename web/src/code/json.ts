// Locates and explains the first error in a JSON text, because the messages of `JSON.parse` differ between browsers.

export interface JsonProblem {
  /** Position in the text. */
  at: number;
  /** Both count from 1. */
  line: number;
  column: number;
  message: string;
}

/** The first error in a JSON text; null if it is valid. */
export function jsonProblem(text: string): JsonProblem | null {
  const reader = new Reader(text);
  try {
    reader.space();
    if (reader.ended()) reader.fail("This is empty");
    reader.value();
    reader.space();
    if (!reader.ended()) reader.fail("Unexpected text after the end");
    return null;
  } catch (problem) {
    if (!(problem instanceof Wrong)) throw problem;
    return { at: problem.at, message: problem.message, ...place(text, problem.at) };
  }
}

/** Line and column of a position, both from 1. */
export function place(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at);
  return { line: before.split("\n").length, column: at - before.lastIndexOf("\n") };
}

class Wrong extends Error {
  constructor(
    readonly at: number,
    message: string,
  ) {
    super(message);
  }
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const WORD = /true|false|null/y;
/** Deeper than any request; a text of a million brackets must not use up the stack. */
const DEEPEST = 1000;

class Reader {
  private at = 0;
  private depth = 0;

  constructor(private readonly text: string) {}

  value(): void {
    const first = this.text[this.at];
    if (first === "{") this.inside("}", () => this.field());
    else if (first === "[") this.inside("]", () => this.value());
    else if (first === '"') this.string();
    else if (!this.take(NUMBER) && !this.take(WORD)) this.fail(this.instead(first));
  }

  ended(): boolean {
    return this.at >= this.text.length;
  }

  space(): void {
    this.take(SPACE);
  }

  fail(message: string): never {
    throw new Wrong(Math.min(this.at, this.text.length), message);
  }

  private inside(end: "}" | "]", item: () => void): void {
    this.at += 1;
    this.depth += 1;
    if (this.depth > DEEPEST) this.fail("Nested too deeply");
    this.space();
    if (this.text[this.at] !== end) {
      for (;;) {
        item();
        this.space();
        if (this.text[this.at] === end) break;
        if (this.text[this.at] !== ",") this.fail(`Expected a comma or ${end}`);
        this.at += 1;
        this.space();
        if (this.text[this.at] === end) this.fail(`Remove the comma before ${end}`);
      }
    }
    this.at += 1;
    this.depth -= 1;
  }

  private field(): void {
    if (this.text[this.at] !== '"') this.fail("Expected a name in double quotes");
    this.string();
    this.space();
    if (this.text[this.at] !== ":") this.fail("Expected a colon");
    this.at += 1;
    this.space();
    this.value();
  }

  private string(): void {
    const begin = this.at;
    this.at += 1;
    for (;;) {
      this.take(PLAIN);
      if (this.text[this.at] === '"') break;
      if (this.text[this.at] === "\\") {
        if (!this.take(ESCAPE)) this.fail("Unknown escape; write a backslash as \\\\");
        continue;
      }
      if (!this.ended()) this.fail("Write a line break or tab inside quotes as \\n or \\t");
      this.at = begin;
      this.fail("Unclosed quotes");
    }
    this.at += 1;
  }

  private instead(first: string | undefined): string {
    if (first === undefined) return "The JSON is incomplete";
    if (first === "'" || first === "“" || first === "”") return 'Use straight quotes: "';
    if (first === "/" || first === "#") return "JSON does not allow comments";
    return "Expected a value";
  }

  private take(what: RegExp): boolean {
    what.lastIndex = this.at;
    const found = what.exec(this.text);
    if (found === null) return false;
    this.at += found[0].length;
    return true;
  }
}
