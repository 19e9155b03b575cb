// Highlights code: text to spans with classes. Large, so it is loaded with the first code; each language separately.

import { jsonLanguage } from "@codemirror/lang-json";
import { StreamLanguage, type StreamParser } from "@codemirror/language";
import { classHighlighter, highlightTree } from "@lezer/highlight";

import type { Span } from "./spans";

interface Parser {
  parse: (text: string) => Parameters<typeof highlightTree>[0];
}

const stream = (mode: StreamParser<unknown>): Parser => StreamLanguage.define(mode).parser;

const LANGUAGES: Record<string, () => Promise<Parser>> = {
  json: () => Promise.resolve(jsonLanguage.parser),
  javascript: async () => stream((await import("@codemirror/legacy-modes/mode/javascript")).javascript),
  typescript: async () => stream((await import("@codemirror/legacy-modes/mode/javascript")).typescript),
  rust: async () => stream((await import("@codemirror/legacy-modes/mode/rust")).rust),
  python: async () => stream((await import("@codemirror/legacy-modes/mode/python")).python),
  shell: async () => stream((await import("@codemirror/legacy-modes/mode/shell")).shell),
  go: async () => stream((await import("@codemirror/legacy-modes/mode/go")).go),
  c: async () => stream((await import("@codemirror/legacy-modes/mode/clike")).c),
  cpp: async () => stream((await import("@codemirror/legacy-modes/mode/clike")).cpp),
  java: async () => stream((await import("@codemirror/legacy-modes/mode/clike")).java),
  kotlin: async () => stream((await import("@codemirror/legacy-modes/mode/clike")).kotlin),
  csharp: async () => stream((await import("@codemirror/legacy-modes/mode/clike")).csharp),
  scala: async () => stream((await import("@codemirror/legacy-modes/mode/clike")).scala),
  ruby: async () => stream((await import("@codemirror/legacy-modes/mode/ruby")).ruby),
  swift: async () => stream((await import("@codemirror/legacy-modes/mode/swift")).swift),
  lua: async () => stream((await import("@codemirror/legacy-modes/mode/lua")).lua),
  css: async () => stream((await import("@codemirror/legacy-modes/mode/css")).css),
  html: async () => stream((await import("@codemirror/legacy-modes/mode/xml")).html),
  xml: async () => stream((await import("@codemirror/legacy-modes/mode/xml")).xml),
  toml: async () => stream((await import("@codemirror/legacy-modes/mode/toml")).toml),
  yaml: async () => stream((await import("@codemirror/legacy-modes/mode/yaml")).yaml),
  sql: async () => stream((await import("@codemirror/legacy-modes/mode/sql")).standardSQL),
  dockerfile: async () => stream((await import("@codemirror/legacy-modes/mode/dockerfile")).dockerFile),
};

const parsers = new Map<string, Promise<Parser>>();

function parserOf(language: string): Promise<Parser> | null {
  const load = Object.hasOwn(LANGUAGES, language) ? LANGUAGES[language] : undefined;
  if (load === undefined) return null;
  const known = parsers.get(language) ?? load();
  parsers.set(language, known);
  return known;
}

/** The whole text in spans; nothing for a language that is not known. */
export async function highlight(text: string, language: string): Promise<Span[] | null> {
  const parser = await parserOf(language);
  if (parser === null) return null;
  const spans: Span[] = [];
  let end = 0;
  highlightTree(parser.parse(text), classHighlighter, (from, to, classes) => {
    if (from > end) spans.push({ text: text.slice(end, from), kind: null });
    // "tok-variableName tok-definition": the first one is what it is.
    spans.push({ text: text.slice(from, to), kind: classes.split(" ", 1)[0]?.replace(/^tok-/, "") ?? null });
    end = to;
  });
  if (end < text.length) spans.push({ text: text.slice(end), kind: null });
  return spans;
}
