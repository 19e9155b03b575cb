// The messages of the open item, drawn only where visible; a long frame is fetched in pieces.

import { ActionIcon } from "@mantine/core";
import { Pencil1Icon } from "@radix-ui/react-icons";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";

import type { Commit, Frame, Message } from "../api";
import { chunks, messagesOfStep } from "../messages/chunks";
import { GoneView } from "../messages/GoneView";
import { MessageView } from "../messages/MessageView";
import { type Place, places } from "../messages/sent";
import { toolCalls } from "../messages/summaries";
import { PartProblem } from "../notices/Problem";
import { useFrame } from "../queries";
import styles from "./details.module.css";
import { choices } from "./editing";
import { key, TextEditor } from "./TextEditor";
import type { TextDraft } from "./useDraft";

interface Props {
  conversation: string;
  id: string;
  /** The shown point of the history; a past state cannot be edited. */
  at: string | null;
  frame: Frame | undefined;
  head: string;
  commits: ReadonlyMap<string, Commit>;
  draft: TextDraft | null;
  onDraft: (draft: TextDraft | null) => void;
}

interface Piece {
  /** The query, and the step in it; without a step, all of it. */
  chunk: string;
  step: number | null;
}

export function MessageList(props: Props) {
  const { id, frame } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const pieces = useMemo(() => piecesOf(id, frame), [id, frame]);
  const list = useVirtualizer({
    count: pieces.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => 140,
    getItemKey: (index) => pieces[index]?.step ?? "all",
    overscan: 3,
    paddingEnd: 24,
  });

  return (
    <div className={styles.scroll} ref={scroll} tabIndex={0} role="region" aria-label="Messages">
      <div className={styles.rows} style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index, key: row, start }) => {
          const piece = pieces[index];
          return (
            <div
              key={row}
              ref={list.measureElement}
              data-index={index}
              className={styles.row}
              style={{ transform: `translateY(${start}px)` }}
            >
              {piece !== undefined && <PieceView {...props} piece={piece} />}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function piecesOf(id: string, frame: Frame | undefined): Piece[] {
  if (frame?.id !== id || frame.kind !== "turn") return [{ chunk: id, step: null }];
  return [...chunks(frame)].map(([step, chunk]) => ({ chunk, step }));
}

function PieceView({ conversation, at, piece, head, commits, draft, id, onDraft }: Props & { piece: Piece }) {
  const { data, error } = useFrame(conversation, piece.chunk, at);
  const tools = useMemo(() => toolCalls(data?.messages ?? []), [data]);
  const shown = useMemo(() => {
    const messages = data?.messages ?? [];
    return places(piece.step === null ? messages : messagesOfStep(messages, piece.step));
  }, [data, piece.step]);
  if (data === undefined) return error === null ? <div className={styles.waiting} /> : <PartProblem error={error} />;
  const scope = `${piece.step ?? ""} `;

  const begin = (message: Message) => {
    const [first] = choices(message);
    if (first === undefined) return;
    onDraft({ open: id, target: message.id, choice: key(first.id, first.kind), text: first.text, head });
  };

  const draw = (place: Place, index: number) => {
    if (place.kind === "gone") {
      return (
        <div key={index} className={styles.gone}>
          <GoneView
            gone={place.gone}
            name={`${scope}${index}`}
            tools={tools}
            calibrated={data.calibrated}
            commits={commits}
          />
        </div>
      );
    }
    const { message } = place;
    const isFirst = shown.findIndex((other) => isMessage(other, message.id)) === index;
    if (at === null && draft?.target === message.id && isFirst) {
      const ways = choices(message);
      return <TextEditor key={index} conversation={conversation} draft={draft} choices={ways} onChange={onDraft} />;
    }
    const canWrite = at === null && choices(message).length > 0;
    return (
      <MessageView
        key={index}
        message={message}
        tools={tools}
        calibrated={data.calibrated}
        scope={scope}
        actions={canWrite && <Pencil id={message.id} onClick={() => begin(message)} />}
      />
    );
  };

  return (
    <>
      {piece.step !== null && piece.step > 0 && <div className={styles.step}>step {piece.step}</div>}
      {shown.map(draw)}
    </>
  );
}

function isMessage(place: Place, id: string): boolean {
  return place.kind === "message" && place.message.id === id;
}

function Pencil({ id, onClick }: { id: string; onClick: () => void }) {
  return (
    <ActionIcon
      size="sm"
      variant="subtle"
      color="gray"
      aria-label={`Edit ${id}`}
      title="Edit"
      onClick={onClick}
    >
      <Pencil1Icon />
    </ActionIcon>
  );
}
