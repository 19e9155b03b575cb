// One row: a frame or a step.

import { Badge, Tooltip } from "@mantine/core";
import { useDraggable, useDroppable } from "@dnd-kit/core";
import { ChevronRightIcon, DrawingPinFilledIcon } from "@radix-ui/react-icons";
import { memo, type MouseEvent, type PointerEventHandler, use } from "react";

import { count, percent, plural, tokens } from "../format/numbers";
import { chipOf } from "./chips";
import type { Click } from "./choose";
import { Dragging } from "./DragOrder";
import styles from "./frames.module.css";
import { foldable, type Row } from "./rows";
import { share } from "./shares";

interface Props {
  row: Row;
  total: number;
  calibrated: boolean;
  chosen: boolean;
  cursor: boolean;
  open: boolean;
  unfolded: boolean;
  /** The staged and deferred operations on it, in words. */
  coming: readonly string[];
  /** States shown above the list instead of on every row. */
  told: readonly string[];
  onPick: (id: string, click: Click) => void;
  onOpen: (id: string) => void;
  onFold: (id: string) => void;
  onMenu: (id: string, place: { x: number; y: number }) => void;
}

export const FrameRow = memo(function FrameRow(props: Props) {
  const { row, total, calibrated, chosen, cursor, open, unfolded, coming, told, onPick, onOpen, onFold, onMenu } = props;
  const { frame, step } = row;
  const { moving, drop } = use(Dragging);
  const movable = step === null && frame.kind === "turn";
  const drag = useDraggable({ id: row.id, disabled: !movable });
  const place = useDroppable({ id: row.id, data: { frame: frame.id, step: step !== null } });
  const state = step?.state ?? frame.state;
  const marks = state.filter((name) => !told.includes(name));
  const line = drop !== null && drop.over === frame.id && step === null ? (drop.behind ? "below" : "above") : undefined;

  const click = (event: MouseEvent) => {
    const ctrl = event.ctrlKey || event.metaKey;
    onPick(row.id, { ctrl, shift: event.shiftKey });
    if (!ctrl && !event.shiftKey) onOpen(row.id);
  };

  return (
    <div
      ref={(element) => {
        drag.setNodeRef(element);
        place.setNodeRef(element);
      }}
      className={styles.row}
      data-step={step !== null || undefined}
      data-chosen={chosen || undefined}
      data-cursor={cursor || undefined}
      data-open={open || undefined}
      data-gone={state.includes("deleted") || undefined}
      data-moving={moving.includes(row.id) || undefined}
      data-drop={line}
      onClick={click}
      onContextMenu={(event) => {
        event.preventDefault();
        onMenu(row.id, { x: event.clientX, y: event.clientY });
      }}
      onPointerDown={movable ? (drag.listeners?.onPointerDown as PointerEventHandler | undefined) : undefined}
    >
      <input
        type="checkbox"
        className={styles.check}
        aria-label={`Select ${row.id}`}
        checked={chosen}
        tabIndex={-1}
        onChange={() => undefined}
        onClick={(event) => {
          event.stopPropagation();
          onPick(row.id, { ctrl: true, shift: event.shiftKey });
        }}
      />
      {step === null && foldable(frame) ? (
        <button
          type="button"
          className={styles.unfold}
          aria-expanded={unfolded}
          aria-label={`Steps of ${frame.id}`}
          tabIndex={-1}
          onClick={(event) => {
            event.stopPropagation();
            onFold(frame.id);
          }}
        >
          <ChevronRightIcon />
        </button>
      ) : (
        <span className={styles.unfold} />
      )}
      <span className={styles.id} data-kind={step === null ? frame.kind : "step"}>
        {row.id}
      </span>
      <span className={styles.title}>
        {step === null && frame.pinned && <DrawingPinFilledIcon className={styles.pin ?? ""} aria-label="pinned" />}
        <bdi title={step === null ? frame.title : step.title}>{titleOf(row)}</bdi>
        <span className={styles.marks}>
          {step === null && frame.pending && (
            <Mark
              label="pending reply"
              color="teal"
              tip="The agent has not sent this reply back yet."
              breathes
            />
          )}
          {marks.map((name) => (
            <Mark key={name} {...chipOf(name)} />
          ))}
          {coming.map((words) => (
            <Mark key={words} label={words} color="indigo" tip={`In the tray or deferred: ${words}`} outline />
          ))}
        </span>
      </span>
      <span className={styles.steps} title={`${plural(frame.steps, "step")}, ${plural(step?.messages ?? frame.messages, "message")}`}>
        {step === null && frame.steps > 0 ? frame.steps : ""}
      </span>
      <Weight row={row} calibrated={calibrated} />
      <span className={styles.share}>
        <span className={styles.track}>
          {row.ghost > row.length && <span className={styles.ghost} style={{ width: `${row.ghost * 100}%` }} />}
          <span
            className={styles.bar}
            data-kind={step === null ? frame.kind : "step"}
            style={{ width: `${row.length * 100}%` }}
          />
        </span>
        <span className={styles.percent}>{percent(share(row.tokens, total))}</span>
      </span>
    </div>
  );
});

interface MarkProps {
  label: string;
  color: string;
  tip: string;
  breathes?: boolean;
  outline?: boolean;
}

/** A badge; without room for its text, a dot in its colour. */
function Mark({ label, color, tip, breathes = false, outline = false }: MarkProps) {
  return (
    <Tooltip label={`${label}: ${tip}`}>
      <Badge
        className={styles.mark ?? ""}
        color={color}
        {...(outline ? { variant: "outline", "data-coming": true } : {})}
        {...(breathes ? { leftSection: <span className={styles.breathing} /> } : {})}
      >
        {label}
      </Badge>
    </Tooltip>
  );
}

function titleOf({ frame, step }: Row): string {
  if (step === null) return frame.title || "Untitled";
  return step.title || step.tools.join(", ") || "Reply";
}

function Weight({ row, calibrated }: { row: Row; calibrated: boolean }) {
  const edited = row.source !== row.tokens;
  const [before, now] = [tokens(row.source, true), tokens(row.tokens, true)];
  return (
    <span
      className={styles.weight}
      title={`${count(row.tokens)} tokens${edited ? `, ${count(row.source)} before edits` : ""}`}
    >
      {row.source > row.tokens && before !== now && <s>{before}</s>} {tokens(row.tokens, calibrated)}
    </span>
  );
}
