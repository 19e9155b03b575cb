// Code and diffs. Code is shown at once and coloured when its language is loaded, without a shift in layout.

import { memo, useEffect, useState } from "react";

import { Signs } from "../messages/Words";
import styles from "./markup.module.css";
import { linesOf, type Span } from "./spans";

/** Longer texts would take too long to colour. */
const LONGEST = 60_000;

interface Props {
  text: string;
  /** As languages.ts calls it; empty for none. */
  language: string;
  /** Stands before each line. */
  numbers?: string[] | null;
}

export const Code = memo(function Code({ text, language, numbers = null }: Props) {
  const spans = useSpans(text, language);
  if (language === "diff") return <Diff text={text} />;
  if (numbers === null) {
    return (
      <pre className={styles.code} data-language={language || undefined}>
        <Spans spans={spans} />
      </pre>
    );
  }
  return (
    <pre className={styles.code} data-language={language || undefined} data-numbered>
      {linesOf(spans).map((line, index) => (
        <div key={index} className={styles.line}>
          <span className={styles.number} data-number={numbers[index] ?? ""} />
          <span className={styles.rest}>
            <Spans spans={line} />
          </span>
        </div>
      ))}
    </pre>
  );
});

const LINES: Record<string, string> = { "+": "added", "-": "removed", "@": "place" };

/** Classifies each line by its first character; file names are neither added nor removed. */
export const Diff = memo(function Diff({ text }: { text: string }) {
  return (
    <pre className={styles.code} data-language="diff">
      {text.split("\n").map((line, index) => (
        <div key={index} className={styles.changed} data-line={isHead(line) ? "head" : LINES[line.charAt(0)]}>
          <Signs text={line === "" ? " " : line} />
        </div>
      ))}
    </pre>
  );
});

const isHead = (line: string) => /^(diff --git |index |\+\+\+ |--- )/.test(line);

function Spans({ spans }: { spans: readonly Span[] }) {
  return spans.map(({ text, kind }, index) => (
    <span key={index} data-kind={kind ?? undefined}>
      <Signs text={text} />
    </span>
  ));
}

/** Recently coloured code, so that a row scrolled back into view has its colours at once. */
const coloured = new Map<string, Span[]>();
const REMEMBERED = 300;

function useSpans(text: string, language: string): Span[] {
  const key = `${language} ${text}`;
  const [, drawn] = useState<Span[] | null>(null);
  const isWanted = language !== "" && language !== "diff" && text.length <= LONGEST;
  useEffect(() => {
    if (!isWanted || coloured.has(key)) return;
    let gone = false;
    void import("./highlight")
      .then(({ highlight }) => highlight(text, language))
      .then(
        (found) => {
          if (found === null) return;
          const oldest = coloured.keys().next().value;
          if (coloured.size >= REMEMBERED && oldest !== undefined) coloured.delete(oldest);
          coloured.set(key, found);
          if (!gone) drawn(found);
        },
        // Without colours it is still readable.
        () => undefined,
      );
    return () => {
      gone = true;
    };
  }, [key, text, language, isWanted]);
  return coloured.get(key) ?? [{ text, kind: null }];
}
