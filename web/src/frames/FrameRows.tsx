// The rows, drawn only where visible, so that a conversation of thousands of steps scrolls like a short one.

import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { type Ref, useCallback, useImperativeHandle, useLayoutEffect, useMemo, useRef } from "react";

import type { Frames, Operation, DeferredEdit } from "../api";
import { FormAt } from "../edit/FormAt";
import { entryOf } from "../edit/operations";
import { useStage } from "../edit/stage";
import { type Made, targetsOf as namedIn } from "../history/operations";
import { useWaiting } from "../waiting/useWaiting";
import { inShort } from "../waiting/words";
import { cacheLine } from "./cache";
import { CacheLine } from "./CacheLine";
import type { Click } from "./choose";
import styles from "./frames.module.css";
import { FrameRow } from "./FrameRow";
import type { Row } from "./rows";

export interface RowsHandle {
  /** Scrolls a row into view. */
  reveal: (id: string) => void;
}

interface Props {
  ref: Ref<RowsHandle>;
  conversation: string;
  frames: Frames;
  rows: Row[];
  chosen: readonly string[];
  cursor: string | null;
  open: string | null;
  unfolded: ReadonlySet<string>;
  /** States shown above the list. */
  told: readonly string[];
  onPick: (id: string, click: Click) => void;
  onOpen: (id: string) => void;
  onFold: (id: string) => void;
  onMenu: (id: string, place: { x: number; y: number }) => void;
}

const FRAME_HEIGHT = 31;
const STEP_HEIGHT = 26;

export function FrameRows({ ref, conversation, frames, rows, chosen, cursor, open, unfolded, told, ...does }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const { draft, operations } = useStage(conversation);
  const anchor = draft === null ? -1 : anchorIndex(rows, draft.anchor);
  const edits = useWaiting(conversation).data?.wishes ?? NO_EDITS;
  const coming = useMemo(() => comingTo(operations, edits), [operations, edits]);
  const isChosen = useMemo(() => new Set(chosen), [chosen]);
  const line = useMemo(() => cacheLine(frames, rows), [frames, rows]);

  const range = useCallback(
    (seen: Range) => {
      const indexes = defaultRangeExtractor(seen);
      // A form stays mounted, with its input, however far the user scrolls.
      return anchor < 0 || indexes.includes(anchor) ? indexes : [...indexes, anchor].sort((a, b) => a - b);
    },
    [anchor],
  );

  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (rows[index]?.step == null ? FRAME_HEIGHT : STEP_HEIGHT),
    getItemKey: (index) => rows[index]?.id ?? index,
    rangeExtractor: range,
    overscan: 12,
  });

  // Rows have the height of their kind, except those with the form or the cache line.
  const below = line?.below ?? null;
  const isTall = (id: string, index: number) => index === anchor || id === below;
  // When a tall row becomes normal, all measured heights are dropped; rows that are tall now are measured again at
  // once.
  useLayoutEffect(() => {
    virtual.measure();
    scroller.current?.querySelectorAll("[data-tall]").forEach(virtual.measureElement);
  }, [virtual, anchor, below]);

  useImperativeHandle(ref, () => ({
    reveal: (id) => {
      const index = rows.findIndex((row) => row.id === id);
      if (index >= 0) virtual.scrollToIndex(index);
    },
  }));

  return (
    <div className={styles.scroller} ref={scroller}>
      <div
        className={styles.rows}
        role="tree"
        aria-label="Frames"
        aria-multiselectable
        tabIndex={0}
        aria-activedescendant={cursor === null ? undefined : `row-${cursor}`}
        style={{ height: virtual.getTotalSize() }}
        onContextMenu={(event) => {
          // The menu key, pressed on the list, applies to the row of the cursor.
          const row =
            event.target === event.currentTarget && cursor !== null && document.getElementById(`row-${cursor}`);
          if (!row) return;
          event.preventDefault();
          const { left, bottom } = row.getBoundingClientRect();
          does.onMenu(cursor, { x: left + 60, y: bottom });
        }}
      >
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return (
            <div
              key={item.key}
              id={`row-${row.id}`}
              ref={isTall(row.id, item.index) ? virtual.measureElement : undefined}
              data-index={item.index}
              data-tall={isTall(row.id, item.index) || undefined}
              className={styles.place}
              style={{ top: item.start }}
              role="treeitem"
              aria-level={row.step === null ? 1 : 2}
              aria-selected={isChosen.has(row.id)}
              aria-posinset={item.index + 1}
              aria-setsize={rows.length}
              {...(row.step === null && row.frame.steps > 0 ? { "aria-expanded": unfolded.has(row.id) } : {})}
            >
              <FrameRow
                row={row}
                total={frames.tokens}
                calibrated={frames.calibrated}
                chosen={isChosen.has(row.id)}
                cursor={cursor === row.id}
                open={open === row.id}
                unfolded={unfolded.has(row.id)}
                coming={coming.get(row.id) ?? NOTHING}
                told={told}
                {...does}
              />
              {item.index === anchor && draft?.anchor != null && (
                <FormAt conversation={conversation} id={draft.anchor} />
              )}
              {line !== null && line.below === row.id && <CacheLine line={line} />}
            </div>
          );
        })}
      </div>
    </div>
  );
}

const NOTHING: readonly string[] = [];
const NO_EDITS: readonly DeferredEdit[] = [];

/** The staged and deferred operations of each row. */
function comingTo(staged: readonly Operation[], edits: readonly DeferredEdit[]): Map<string, string[]> {
  const coming = new Map<string, string[]>();
  const add = (operation: Operation | Made, when: string) => {
    const words = `${entryOf(operation.op).label.toLowerCase()} ${when}`;
    for (const id of namedIn(operation)) coming.set(id, [...new Set([...(coming.get(id) ?? []), words])]);
  };
  for (const operation of staged) add(operation, "staged");
  for (const { state, operations, when } of edits) {
    if (state === "waiting") operations.forEach((operation) => add(operation, inShort(when)));
  }
  return coming;
}

/** The row of the form: for a part its frame, for a step of a folded frame too. */
function anchorIndex(rows: readonly Row[], anchor: string | null): number {
  if (anchor === null) return -1;
  const exact = rows.findIndex(({ id }) => id === anchor);
  return exact >= 0 ? exact : rows.findIndex(({ id }) => id === anchor.split(/[/#]/)[0]);
}
