// Compares two texts: side by side if there is room, otherwise one below the other.

import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorView } from "@codemirror/view";
import { Button, useComputedColorScheme } from "@mantine/core";
import { useEffect, useMemo, useRef, useState } from "react";

import { count } from "../format/numbers";
import styles from "./code.module.css";
import { excerpt } from "./excerpt";
import { keepKeys, type Language, reading, shadowOf, shared } from "./setup";

export interface MergeProps {
  before: string;
  after: string;
  /** The labels of the two texts. */
  names: readonly [before: string, after: string];
  language?: Language;
  /** Side by side if there is room (the default), or always one under the other. */
  layout?: "auto" | "unified";
}

/** Below this width, two columns have too few words per line. */
const ROOM = 620;
/** Comparing unrelated texts can take long; beyond this limit the result is coarse. */
const DIFF = { scanLimit: 2000, timeout: 250 };
const FOLDED = { margin: 3, minSize: 6 };

/** Longer texts are compared in steps of so many characters. */
const STEP = 150_000;

export default function Merge({ before: all, after: allNow, names, language = "text", layout = "auto" }: MergeProps) {
  const [limit, setLimit] = useState(STEP);
  const { before, after, skipped, missing } = useMemo(() => excerpt(all, allNow, limit), [all, allNow, limit]);
  const dark = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark";
  const host = useRef<HTMLDivElement>(null);
  const wide = useWide(host) && layout === "auto";
  const [was, is] = names;

  useEffect(() => {
    if (host.current === null || wide === undefined) return;
    const root = shadowOf(host.current);
    const both = shared(language, dark);
    const shown = wide
      ? new MergeView({
          root,
          parent: root,
          a: { doc: before, extensions: [both, reading(was), mergeLooks] },
          b: { doc: after, extensions: [both, reading(is), mergeLooks] },
          gutter: true,
          collapseUnchanged: FOLDED,
          diffConfig: DIFF,
        })
      : new EditorView({
          root,
          parent: root,
          doc: after,
          extensions: [
            both,
            reading(`${was}, ${is}`),
            mergeLooks,
            unifiedMergeView({
              original: before,
              mergeControls: false,
              gutter: true,
              collapseUnchanged: FOLDED,
              diffConfig: DIFF,
            }),
          ],
        });
    if (shown instanceof MergeView) shown.dom.style.cssText = "height:100%;overflow:auto";
    const forget = keepKeys(host.current);
    return () => {
      shown.destroy();
      forget();
    };
  }, [before, after, was, is, language, dark, wide]);

  return (
    <div className={styles.merge}>
      <div className={styles.names} aria-hidden>
        {wide ? (
          names.map((name) => <span key={name}>{name}</span>)
        ) : (
          <span>
            <del>{was}</del> <ins>{is}</ins>
          </span>
        )}
      </div>
      {skipped > 0 && <p className={styles.left}>The first {count(skipped)} characters are identical.</p>}
      <div className={styles.host} ref={host} />
      {missing > 0 && (
        <p className={styles.left}>
          {count(missing)} more characters are not compared yet.
          <Button size="compact-xs" variant="light" onClick={() => setLimit(limit + STEP)}>
            Compare {count(Math.min(STEP, missing))} more
          </Button>
        </p>
      )}
    </div>
  );
}

const mergeLooks = EditorView.theme({
  "&.cm-merge-a .cm-changedLine, & .cm-deletedChunk": {
    backgroundColor: "color-mix(in srgb, var(--bad) 10%, transparent)",
  },
  "&.cm-merge-b .cm-changedLine, & .cm-inlineChangedLine, &:not(.cm-merge-a):not(.cm-merge-b) .cm-changedLine": {
    backgroundColor: "color-mix(in srgb, var(--good) 11%, transparent)",
  },
  "&.cm-merge-a .cm-changedText, & .cm-deletedChunk .cm-deletedText": {
    background: "color-mix(in srgb, var(--bad) 26%, transparent)",
  },
  "&.cm-merge-b .cm-changedText, &:not(.cm-merge-a) .cm-changedText": {
    background: "color-mix(in srgb, var(--good) 28%, transparent)",
  },
  "& .cm-deletedChunk": { paddingLeft: "10px" },
  "& .cm-collapsedLines": {
    color: "var(--quiet)",
    background: "var(--raised)",
    fontFamily: "var(--mantine-font-family)",
    padding: "3px 10px",
  },
  "& .cm-changeGutter": { width: "3px", paddingLeft: "0" },
  "&.cm-merge-a .cm-changedLineGutter, & .cm-deletedLineGutter": { background: "var(--bad)" },
  "&.cm-merge-b .cm-changedLineGutter": { background: "var(--good)" },
});

/** Whether an element has room for two columns; unknown before it is laid out. */
function useWide(host: React.RefObject<HTMLElement | null>): boolean | undefined {
  const [wide, setWide] = useState<boolean>();
  useEffect(() => {
    if (host.current === null) return;
    const watch = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWide(entry.contentRect.width >= ROOM);
    });
    watch.observe(host.current);
    return () => watch.disconnect();
  }, [host]);
  return wide;
}
