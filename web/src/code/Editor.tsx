// An editor for text or JSON. Errors in JSON are marked in place and explained below.

import { type EditorState, Prec, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap } from "@codemirror/view";
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

import styles from "./code.module.css";
import { type JsonProblem, jsonProblem } from "./json";
import { keepKeys, type Language, shadowOf, shared, writing } from "./setup";

export interface EditorProps {
  /** The initial text; later changes come only from typing. */
  text: string;
  language: Language;
  label: string;
  /** Every change, and whether it can be taken as it is. */
  onChange: (text: string, valid: boolean) => void;
  /** Ctrl-Enter and Escape. */
  onDone?: () => void;
  onCancel?: () => void;
}

export default function Editor(props: EditorProps) {
  const { language, label } = props;
  const dark = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark";
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const latest = useRef(props);
  const [problem, setProblem] = useState<JsonProblem | null>(null);

  useEffect(() => {
    latest.current = props;
  });

  useEffect(() => {
    if (host.current === null) return;
    const root = shadowOf(host.current);
    const before = editor.current;
    const doc = before?.state.doc.toString() ?? latest.current.text;
    const view = new EditorView({
      root,
      parent: root,
      doc,
      extensions: [
        Prec.highest(
          keymap.of([
            { key: "Mod-Enter", run: () => (latest.current.onDone?.(), true) },
            { key: "Escape", run: () => (latest.current.onCancel?.(), latest.current.onCancel !== undefined) },
          ]),
        ),
        shared(language, dark),
        writing(label),
        language === "json" ? wrongPlace : [],
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          const found = problemOf(update.state);
          setProblem(found);
          latest.current.onChange(update.state.doc.toString(), found === null);
        }),
      ],
    });
    before?.destroy();
    editor.current = view;
    setProblem(problemOf(view.state));
    view.focus();
    return keepKeys(host.current);
  }, [language, label, dark]);

  useEffect(
    () => () => {
      editor.current?.destroy();
      editor.current = null;
    },
    [],
  );

  const goThere = () => {
    const view = editor.current;
    if (view === null || problem === null) return;
    view.dispatch({ selection: { anchor: Math.min(problem.at, view.state.doc.length) }, scrollIntoView: true });
    view.focus();
  };

  return (
    <div className={styles.editor} data-language={language}>
      <div className={styles.host} ref={host} />
      {problem !== null && (
        <button type="button" className={styles.problem} role="status" onClick={goThere}>
          Line {problem.line}, column {problem.column}: {problem.message}
        </button>
      )}
    </div>
  );
}

const wrongPlace = StateField.define<JsonProblem | null>({
  create: (state) => jsonProblem(state.doc.toString()),
  update: (problem, { docChanged, state }) => (docChanged ? jsonProblem(state.doc.toString()) : problem),
  provide: (field) => EditorView.decorations.compute([field], (state) => underlined(state, state.field(field))),
});

function problemOf(state: EditorState): JsonProblem | null {
  return state.field(wrongPlace, false) ?? null;
}

function underlined({ doc }: EditorState, problem: JsonProblem | null): DecorationSet {
  if (problem === null || doc.length === 0) return Decoration.none;
  // At the end of the text, only the character before can be underlined.
  const at = Math.min(problem.at, doc.length - 1);
  const line = doc.lineAt(at);
  const marks = [Decoration.line({ class: "cm-wrongLine" }).range(line.from)];
  if (line.length > 0) {
    const begin = Math.min(at, line.to - 1);
    marks.push(Decoration.mark({ class: "cm-wrong" }).range(begin, begin + 1));
  }
  return Decoration.set(marks);
}
