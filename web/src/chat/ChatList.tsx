// The visible rows. The list starts at its end and follows new messages, unless the user has scrolled up.

import { Button } from "@mantine/core";
import { ChevronRightIcon } from "@radix-ui/react-icons";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  memo,
  type Ref,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from "react";

import type { Commit } from "../api";
import { OPERATIONS } from "../edit/operations";
import { useOperate } from "../edit/useOperate";
import { plural, tokens } from "../format/numbers";
import { type KeyMap, useKeys } from "../palette/useKeys";
import { CellView } from "./CellView";
import styles from "./chat.module.css";
import { FrameLine, State } from "./FrameLine";
import type { Growing } from "./growing";
import { GrowingView } from "./GrowingView";
import { type MenuPlace, RowMenu } from "./RowMenu";
import { expected, type Mode, type Row } from "./rows";

export interface ChatListHandle {
  toEnd: () => void;
  toRow: (index: number) => void;
  /** The first row in sight. */
  first: () => number;
}

interface Props {
  ref: Ref<ChatListHandle>;
  conversation: string;
  rows: readonly Row[];
  mode: Mode;
  at: string | null;
  calibrated: boolean;
  commits: ReadonlyMap<string, Commit>;
  growing: Growing | null;
  open: string | null;
  onOpen: (id: string) => void;
  onToggle: (key: string) => void;
}

/** The distance from the end that counts as the end. */
const NEAR = 80;

export function ChatList(props: Props) {
  const { ref, conversation, rows, mode, at, calibrated, commits, growing, open, onOpen, onToggle } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const list = useVirtualizer({
    count: rows.length + (growing === null ? 0 : 1),
    getScrollElement: () => scroll.current,
    estimateSize: (index) => expected(rows[index]),
    getItemKey: (index) => rows[index]?.key ?? "growing",
    // Starts at its place, so that nothing else is drawn or fetched first.
    initialOffset: () => offsetOf(rows, open === null ? rows.length : Math.max(0, indexOf(rows, open))),
    overscan: 8,
    paddingStart: 6,
    paddingEnd: 28,
  });

  const first = () => {
    const top = (scroll.current?.scrollTop ?? 0) + 4;
    return list.getVirtualItems().find(({ end }) => end > top)?.index ?? 0;
  };
  const toRow = (index: number) => list.scrollToIndex(index, { align: "start" });
  const toEnd = () => {
    atEnd.current = true;
    list.scrollToIndex(rows.length, { align: "end" });
    const { current } = scroll;
    if (current !== null) current.scrollTop = current.scrollHeight;
  };
  useImperativeHandle(ref, () => ({ toEnd, toRow, first }));

  // Shows the open item, otherwise the newest.
  useEffect(() => {
    const index = open === null ? -1 : indexOf(rows, open);
    if (index >= 0) {
      atEnd.current = false;
      const inSight = list.getVirtualItems().some((item) => item.index === index && isInSight(item, scroll.current));
      if (!inSight) toRow(index);
    }
    // Only when something else is opened, not when the list grows.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [open]);

  const height = list.getTotalSize();
  useLayoutEffect(() => {
    const { current } = scroll;
    if (current !== null && atEnd.current) current.scrollTop = current.scrollHeight;
  }, [height, growing]);

  // A user who reads above keeps the position and gets a notice.
  const last = rows.at(-1)?.key ?? "";
  /** The last row at the time the user scrolled away from the end; null at the end. */
  const [left, setLeft] = useState<string | null>(null);
  const isFresh = left !== null && (left !== last || growing !== null);

  const move = (direction: 1 | -1) => {
    const at = open === null ? first() : indexOf(rows, open);
    const next =
      direction === 1
        ? rows.findIndex((row, index) => index > at && row.kind === "frame")
        : rows.findLastIndex((row, index) => index < at && row.kind === "frame");
    const row = rows[next];
    if (row?.kind !== "frame") return;
    onOpen(row.frame.id);
    toRow(next);
  };
  const { operate } = useOperate(conversation);
  const operations: KeyMap = Object.fromEntries(
    OPERATIONS.map(({ name, key }) => [key, () => (open === null ? false : operate(name, [open]))] as const),
  );
  useKeys({ ...operations, down: () => move(1), up: () => move(-1) });

  const [menu, setMenu] = useState<MenuPlace | null>(null);
  const openMenu = useCallback((event: React.MouseEvent, id: string) => {
    // Selected text has the browser's own menu.
    if (window.getSelection()?.isCollapsed === false) return;
    event.preventDefault();
    setMenu({ id, x: event.clientX, y: event.clientY });
  }, []);

  return (
    <>
      <div
        className={styles.scroll}
        ref={scroll}
        tabIndex={0}
        role="log"
        aria-label="Messages"
        aria-live="off"
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          atEnd.current = scrollHeight - scrollTop - clientHeight < NEAR;
          setLeft((before) => (atEnd.current ? null : (before ?? last)));
        }}
      >
        <div className={styles.rows} style={{ height }}>
          {list.getVirtualItems().map(({ index, key, start }) => {
            const row = rows[index];
            return (
              <div
                key={key}
                ref={list.measureElement}
                data-index={index}
                className={styles.row}
                style={{ transform: `translateY(${start}px)` }}
              >
                {row === undefined ? (
                  growing !== null && <GrowingView growing={growing} />
                ) : (
                  <OneRow
                    row={row}
                    conversation={conversation}
                    mode={mode}
                    at={at}
                    calibrated={calibrated}
                    commits={commits}
                    open={isOpen(row, open)}
                    onOpen={onOpen}
                    onToggle={onToggle}
                    onMenu={openMenu}
                  />
                )}
              </div>
            );
          })}
        </div>
      </div>
      {isFresh && (
        <Button className={styles.fresh ?? ""} size="compact-xs" radius="xl" onClick={toEnd}>
          New messages below
        </Button>
      )}
      {menu !== null && <RowMenu conversation={conversation} at={menu} onClose={() => setMenu(null)} />}
    </>
  );
}

type Shared = "conversation" | "mode" | "at" | "calibrated" | "commits" | "onOpen" | "onToggle";

interface RowProps extends Pick<Props, Shared> {
  row: Row;
  open: boolean;
  onMenu: (event: React.MouseEvent, id: string) => void;
}

/** Scrolling draws the list again, but no row that stays as it is. */
const OneRow = memo(function OneRow(props: RowProps) {
  const { row, conversation, mode, at, calibrated, commits, open, onOpen, onToggle, onMenu } = props;
  if (row.kind === "frame") {
    return (
      <FrameLine
        at={at}
        row={row}
        conversation={conversation}
        mode={mode}
        calibrated={calibrated}
        open={open}
        onOpen={() => onOpen(row.frame.id)}
        onToggle={() => onToggle(row.key)}
        onMenu={(event) => onMenu(event, row.frame.id)}
      />
    );
  }
  if (row.kind === "fold") {
    return (
      <button type="button" className={styles.fold} data-what={row.what} onClick={() => onToggle(row.key)}>
        <ChevronRightIcon aria-hidden />
        <span className={styles.foldId}>{row.id}</span>
        <span>
          {plural(row.steps, "step")} {row.what === "same" ? "the same on both sides" : ""}
        </span>
        {row.states.map((state) => (
          <State key={state} state={state} />
        ))}
        <span className={styles.rule} />
        <span className={styles.weight}>
          {row.what === "gone" && "−"}
          {tokens(row.tokens, calibrated)} tokens
        </span>
      </button>
    );
  }
  const cells = mode === "both" ? [row.sent, row.source] : [row.sent ?? row.source];
  return (
    <div
      className={styles.part}
      data-open={open || undefined}
      // A click on words opens them; the keyboard has the frame's own button for it.
      onClick={(event) => {
        if (isPlainClick(event)) onOpen(row.id);
      }}
      onContextMenu={(event) => onMenu(event, row.id)}
    >
      {cells.map((cell, side) => (
        <div key={side} className={styles.cell} data-empty={cell === null || undefined}>
          {cell !== null && (
            <CellView conversation={conversation} cell={cell} commits={commits} brief={mode === "both"} />
          )}
        </div>
      ))}
    </div>
  );
});

function isOpen(row: Row, open: string | null): boolean {
  return open !== null && (row.kind === "frame" ? row.frame.id : row.id) === open;
}

/** Excludes elements with a click handler of their own, and the end of a text selection. */
function isPlainClick({ target }: React.MouseEvent): boolean {
  if (target instanceof Element && target.closest("button, a, summary, input, img") !== null) return false;
  return window.getSelection()?.isCollapsed ?? true;
}

/** The row of a frame, step or part: itself, or else its frame. */
export function indexOf(rows: readonly Row[], id: string): number {
  const exact = rows.findIndex((row) => row.kind !== "frame" && row.id === id && row.id.includes("/"));
  if (exact >= 0) return exact;
  const frame = id.split(/[/#]/, 1)[0];
  return rows.findIndex((row) => row.kind === "frame" && row.frame.id === frame);
}

/** The estimated offset of a row. */
function offsetOf(rows: readonly Row[], index: number): number {
  return rows.slice(0, index).reduce((sum, row) => sum + expected(row), 0);
}

function isInSight({ start, end }: { start: number; end: number }, scroll: HTMLElement | null): boolean {
  if (scroll === null) return false;
  return start >= scroll.scrollTop - 1 && Math.min(end, start + 40) <= scroll.scrollTop + scroll.clientHeight;
}
