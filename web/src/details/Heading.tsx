// What is open: its id, its marks, its title and summary, both to be changed where they stand.

import { ActionIcon, Tooltip } from "@mantine/core";
import { Cross2Icon, DrawingPinFilledIcon, DrawingPinIcon } from "@radix-ui/react-icons";
import { useState } from "react";

import type { Frame, FrameContent } from "../api";
import { State } from "../chat/FrameLine";
import { frameOf, scopeOf } from "../edit/targets";
import { useOperate } from "../edit/useOperate";
import { Copy } from "../messages/Copy";
import { AskHelper } from "./AskHelper";
import styles from "./details.module.css";
import { InPlace } from "./InPlace";
import type { Wanted } from "./words";

interface Props {
  conversation: string;
  id: string;
  /** The frame it is, or is in. */
  frame: Frame | undefined;
  content: FrameContent | undefined;
  onOpen: (id: string) => void;
  onClose: () => void;
}

export function Heading({ conversation, id, frame, content, onOpen, onClose }: Props) {
  const { commit, operate } = useOperate(conversation);
  const [found, setFound] = useState<{ wanted: Wanted; words: string } | null>(null);
  const whole = scopeOf(id) === "frame";
  const title = whole ? (frame?.title ?? content?.title) : content?.title;

  const ask = (wanted: Wanted) => (
    <AskHelper conversation={conversation} frame={id} wanted={wanted} onFound={(words) => setFound({ wanted, words })} />
  );
  const field = (wanted: Wanted) => ({
    name: wanted,
    proposed: found?.wanted === wanted ? found.words : null,
    onClose: () => setFound(null),
    onKeep: async (words: string) => {
      await commit([{ op: "retitle", id, [wanted]: words }]);
    },
    more: ask(wanted),
  });

  return (
    <header className={styles.heading}>
      <div className={styles.top}>
        <span className={styles.id}>{id}</span>
        <Copy text={() => id} label="Copy the id" />
        {(content?.state ?? frame?.state ?? []).map((state) => (
          <State key={state} state={state} />
        ))}
        {!whole && scopeOf(id) !== "system" && scopeOf(id) !== "tools" && (
          <button type="button" className={styles.link} onClick={() => onOpen(frameOf(id))}>
            all of {frameOf(id)}
          </button>
        )}
        <span className={styles.grow} />
        {whole && frame !== undefined && (
          <Tooltip label={frame.pinned ? "Unpin: policies may touch it again" : "Pin: no policy touches it"}>
            <ActionIcon
              size="sm"
              variant="subtle"
              color={frame.pinned ? "blue" : "gray"}
              aria-label="Pinned"
              aria-pressed={frame.pinned}
              onClick={() => operate(frame.pinned ? "unpin" : "pin", [id])}
            >
              {frame.pinned ? <DrawingPinFilledIcon /> : <DrawingPinIcon />}
            </ActionIcon>
          </Tooltip>
        )}
        <ActionIcon size="sm" variant="subtle" color="gray" onClick={onClose} aria-label="Close">
          <Cross2Icon />
        </ActionIcon>
      </div>
      <InPlace key={`title ${id}`} heading text={title ?? ""} empty="Untitled" fixed={!whole} {...field("title")} />
      {whole && (
        <InPlace key={`summary ${id}`} text={frame?.summary ?? ""} empty="No summary" {...field("summary")} />
      )}
    </header>
  );
}
