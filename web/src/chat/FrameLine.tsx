// The line above a frame: id, edits and size; for a folded frame also its title.

import { Badge } from "@mantine/core";
import { ChevronRightIcon, DrawingPinFilledIcon } from "@radix-ui/react-icons";
import { useMemo } from "react";

import type { Frame } from "../api";
import { count, plural, tokens } from "../format/numbers";
import { chipOf } from "../frames/chips";
import { chunks } from "../messages/chunks";
import { line } from "../messages/hidden";
import { useFrame } from "../queries";
import { origin } from "./align";
import styles from "./chat.module.css";
import { tellsMore } from "./items";
import type { Mode, Row } from "./rows";

interface Props {
  /** The shown point of the history. */
  at: string | null;
  row: Extract<Row, { kind: "frame" }>;
  conversation: string;
  mode: Mode;
  calibrated: boolean;
  open: boolean;
  onOpen: () => void;
  onToggle: () => void;
  onMenu: (event: React.MouseEvent) => void;
}

export function FrameLine({ at, row, conversation, mode, calibrated, open, onOpen, onToggle, onMenu }: Props) {
  const { frame, unfolded, foldable } = row;
  const gone = mode !== "agent" && frame.tokens === 0 && frame.source_tokens > 0 && frame.kind === "turn";
  return (
    <div
      className={styles.frame}
      data-kind={frame.kind}
      data-gone={gone || undefined}
      data-open={open || undefined}
      onContextMenu={onMenu}
    >
      {foldable && (
        <button
          type="button"
          className={styles.toggle}
          aria-expanded={unfolded}
          aria-label={`${unfolded ? "Fold" : "Unfold"} ${frame.id}`}
          onClick={onToggle}
        >
          <ChevronRightIcon />
        </button>
      )}
      <button
        type="button"
        className={styles.id}
        data-kind={frame.kind}
        aria-label={`Open ${frame.id}`}
        onClick={onOpen}
      >
        {frame.id}
      </button>
      {frame.pinned && <DrawingPinFilledIcon className={styles.pin ?? ""} aria-label="pinned" />}
      {foldable || frame.tokens === 0 ? (
        <Title frame={frame} />
      ) : (
        <GivenTitle conversation={conversation} row={row} at={at} />
      )}
      {mode !== "agent" && frame.state.map((state) => <State key={state} state={state} />)}
      <Where row={row} mode={mode} />
      <span className={styles.rule} />
      <Weight frame={frame} mode={mode} calibrated={calibrated} />
    </div>
  );
}

function Title({ frame }: { frame: Frame }) {
  return <bdi className={styles.title}>{line(frame.title || "Untitled")}</bdi>;
}

/** A title that repeats the text below is not shown. */
function GivenTitle({ conversation, row, at }: Pick<Props, "conversation" | "row" | "at">) {
  const { frame, pair } = row;
  // The row below shows it already, so nothing is fetched.
  const beginning = useMemo(() => chunks(frame).get(0) ?? frame.id, [frame]);
  const { data } = useFrame(conversation, beginning, pair.sent === null ? "source" : at, false);
  if (data === undefined || !tellsMore(frame.title, data.messages)) return null;
  return <Title frame={frame} />;
}

export function State({ state }: { state: string }) {
  const { label, tip, color } = chipOf(state);
  return (
    <Badge color={color} flex="none" title={tip}>
      {label}
    </Badge>
  );
}

/** Side by side: the reason for an empty side. */
function Where({ row, mode }: { row: Props["row"]; mode: Mode }) {
  if (mode !== "both") return null;
  const { sent, source } = row.pair;
  if (sent !== null && source !== null) {
    if (!row.foldable || sent.kind !== "turn") return null;
    return <span className={styles.where}>the same on both sides</span>;
  }
  if (source === null) {
    if (sent?.state.includes("added")) return <span className={styles.where}>added; not in the agent’s version</span>;
    return <span className={styles.where}>elsewhere in the agent’s version</span>;
  }
  return <span className={styles.where}>here in the agent’s version; sent elsewhere or as part of {origin(source.id)}</span>;
}

function Weight({ frame, mode, calibrated }: { frame: Frame; mode: Mode; calibrated: boolean }) {
  const { messages, tokens: now, source_tokens: before } = frame;
  const was = now === before ? "" : `; ${count(before)} in the agent’s version`;
  const label = `${plural(messages, "message")}, ${count(now)} tokens${was}`;
  return (
    <span className={styles.weight} title={label}>
      {mode !== "agent" && before > 0 && tokens(now, true) !== tokens(before, true) && <s>{tokens(before, calibrated)}</s>}
      {tokens(now, calibrated)} tokens
    </span>
  );
}
