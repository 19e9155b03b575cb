// Setup shared by all editors. An editor creates style sheets at run time, which the page's policy forbids in the
// document. In a shadow root it adopts them instead, which is allowed, so every editor is in one.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** Plain text is not coloured: a conversation mixes languages. */
export type Language = "json" | "text";

const looks = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "transparent", fontSize: "12px", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 10px" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { color: "var(--faint)", backgroundColor: "transparent", border: "0" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 4px 0 8px", minWidth: "24px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selected) !important",
  },
  ".cm-panels": { color: "var(--text)", backgroundColor: "var(--raised)" },
  ".cm-panels input, .cm-panels button": { font: "inherit" },
  // The sign that the comparison puts around unchanged lines is in few fonts.
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: '"···"' },
  ".cm-specialChar": { color: "var(--bad)" },
  ".cm-wrong": { textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
  ".cm-wrongLine": { backgroundColor: "color-mix(in srgb, var(--bad) 9%, transparent)" },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--kind-turn)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--kind-result)" },
  { tag: tags.punctuation, color: "var(--faint)" },
]);

/** Signs that change how others are read without being seen: drawn as what they are. */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/gu;

export function shared(language: Language, dark: boolean): Extension[] {
  return [
    looks,
    syntaxHighlighting(colours),
    EditorView.darkTheme.of(dark),
    highlightSpecialChars({ specialChars: HIDDEN }),
    search({ top: true }),
    keymap.of(searchKeymap),
    ...(language === "json" ? [json()] : []),
  ];
}

export function reading(label: string): Extension[] {
  return [
    EditorState.readOnly.of(true),
    // Still reachable and searchable by keyboard.
    EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true", tabindex: "0" }),
    lineNumbers(),
    EditorView.lineWrapping,
  ];
}

export function writing(label: string): Extension[] {
  return [
    EditorView.contentAttributes.of({ "aria-label": label }),
    history(),
    highlightSelectionMatches(),
    keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
    lineNumbers(),
    EditorView.lineWrapping,
  ];
}

/** The shadow root of a host, made once: a host keeps the one it has. */
export function shadowOf(host: HTMLElement): ShadowRoot {
  return host.shadowRoot ?? host.attachShadow({ mode: "open" });
}

/** Keys typed in an editor stay there: outside the shadow root, no handler could tell their origin. */
export function keepKeys(host: HTMLElement): () => void {
  const keep = (event: Event) => event.stopPropagation();
  host.addEventListener("keydown", keep);
  return () => host.removeEventListener("keydown", keep);
}
