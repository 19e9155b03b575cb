// The diff of one commit, frame by frame, with a little context.

import { Badge, Loader, UnstyledButton } from "@mantine/core";
import { useMemo, useState } from "react";

import type { FrameDiff } from "../api";
import { count, plural, short } from "../format/numbers";
import { PartProblem } from "../notices/Problem";
import { useDiff } from "../queries";
import styles from "./DiffView.module.css";
import { folded, type Line, lineDiff, type Piece } from "./lines";

/** The number of lines of a frame drawn at first. */
const LINES_AT_FIRST = 60;

const CHANGES: Record<string, { label: string; color: string }> = {
  changed: { label: "changed", color: "blue" },
  added: { label: "added", color: "teal" },
  removed: { label: "removed", color: "red" },
  moved: { label: "moved", color: "grape" },
};

interface Props {
  conversation: string;
  from: string;
  to: string;
  onOpen: (frame: string) => void;
}

export function DiffView({ conversation, from, to, onOpen }: Props) {
  const { data: diff, error } = useDiff(conversation, from, to);
  if (diff === undefined) {
    return error === null ? <Loader size="xs" aria-label="Comparing" /> : <PartProblem error={error} />;
  }
  const changed = diff.frames.filter(({ change }) => change !== "same");
  if (changed.length === 0) return <p className={styles.none}>This commit does not change the request.</p>;
  return (
    <div className={styles.diff}>
      {changed.map((frame) => (
        <Frame key={`${frame.change} ${frame.id}`} frame={frame} onOpen={onOpen} />
      ))}
    </div>
  );
}

function Frame({ frame, onOpen }: { frame: FrameDiff; onOpen: (frame: string) => void }) {
  const pieces = useMemo(() => folded(lineDiff(frame.before, frame.after)), [frame.before, frame.after]);
  const [shown, setShown] = useState(LINES_AT_FIRST);
  const change = CHANGES[frame.change] ?? { label: frame.change, color: "gray" };
  return (
    <section className={styles.frame} aria-label={`${frame.id}: ${change.label}`}>
      <header className={styles.head}>
        <UnstyledButton className={styles.id} onClick={() => onOpen(frame.id)} title="Open the frame">
          {frame.id}
        </UnstyledButton>
        <Badge color={change.color}>{change.label}</Badge>
        <bdi className={styles.title}>{frame.title}</bdi>
        <span className={styles.tokens}>
          {short(frame.tokens_before)} → {short(frame.tokens_after)}
        </span>
      </header>
      {pieces.length > 0 && (
        <pre className={styles.lines} tabIndex={0} aria-label={`Changes of ${frame.id}`}>
          {pieces.slice(0, shown).map((piece, index) => (
            <PieceView key={index} piece={piece} />
          ))}
        </pre>
      )}
      {pieces.length > shown && (
        <UnstyledButton className={styles.more} onClick={() => setShown(shown * 10)}>
          Show more: {plural(pieces.length - shown, "line")} left
        </UnstyledButton>
      )}
    </section>
  );
}

function PieceView({ piece }: { piece: Piece }) {
  const [open, setOpen] = useState(false);
  if (piece.kind === "line") return <LineView line={piece.line} />;
  if (open) return piece.lines.map((line, index) => <LineView key={index} line={line} />);
  return (
    <UnstyledButton className={styles.fold} onClick={() => setOpen(true)}>
      {count(piece.lines.length)} unchanged lines
    </UnstyledButton>
  );
}

const SIGNS = { same: " ", gone: "−", new: "+" };
/** Longer lines are cut, because the browser cannot lay out a megabyte in one line. */
const LINE_AT_MOST = 2000;

function LineView({ line }: { line: Line }) {
  const text = line.text.length > LINE_AT_MOST ? `${line.text.slice(0, LINE_AT_MOST)}…` : line.text;
  return (
    <span className={styles.line} data-kind={line.kind}>
      <span aria-hidden>{SIGNS[line.kind]}</span>
      <bdi>{text}</bdi>
    </span>
  );
}
