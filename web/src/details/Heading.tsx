// The heading of the panel: id, marks, title and summary, both edited in place.

import { ActionIcon, Menu, Tooltip } from "@mantine/core";
import {
  Cross2Icon,
  DotsHorizontalIcon,
  DrawingPinFilledIcon,
  DrawingPinIcon,
  EnterFullScreenIcon,
  ExitFullScreenIcon,
} from "@radix-ui/react-icons";

import type { Frame, FrameContent } from "../api";
import { State } from "../chat/FrameLine";
import { OperationItems } from "../edit/OperationMenu";
import { frameOf, scopeOf } from "../edit/targets";
import { useOperate } from "../edit/useOperate";
import { AskHelper } from "../helper/AskHelper";
import { Copy } from "../messages/Copy";
import { remarksOf } from "../notices/remarks";
import { tell } from "../notices/toasts";
import styles from "./details.module.css";
import { InPlace } from "./InPlace";

interface Props {
  conversation: string;
  id: string;
  /** The frame it is, or is in. */
  frame: Frame | undefined;
  content: FrameContent | undefined;
  /** A past state, which cannot be changed. */
  past: boolean;
  wide: boolean;
  onWide: (wide: boolean) => void;
  onOpen: (id: string) => void;
  onClose: () => void;
}

export function Heading({ conversation, id, frame, content, past, wide, onWide, onOpen, onClose }: Props) {
  const { commit, operate, undo } = useOperate(conversation);
  const whole = scopeOf(id) === "frame";
  const title = whole ? (frame?.title ?? content?.title) : content?.title;

  const keep = (name: "title" | "summary") => async (words: string) => {
    await commit([{ op: "retitle", id, [name]: words }]);
  };

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
        {whole && !past && frame !== undefined && (
          <Tooltip label={frame.pinned ? "Unpin: allow automatic editing" : "Pin: exempt from automatic editing"}>
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
        <Menu position="bottom-end" shadow="md" width={230}>
          <Menu.Target>
            <ActionIcon size="sm" variant="subtle" color="gray" aria-label={`Operations on ${id}`}>
              <DotsHorizontalIcon />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown aria-label={`Operations on ${id}`}>
            <OperationItems conversation={conversation} ids={[id]} />
          </Menu.Dropdown>
        </Menu>
        <Tooltip label={wide ? "Narrow the panel" : "Widen the panel to two columns"}>
          <ActionIcon
            className={styles.widen ?? ""}
            size="sm"
            variant="subtle"
            color="gray"
            aria-label="Wide"
            aria-pressed={wide}
            onClick={() => onWide(!wide)}
          >
            {wide ? <ExitFullScreenIcon /> : <EnterFullScreenIcon />}
          </ActionIcon>
        </Tooltip>
        <ActionIcon size="sm" variant="subtle" color="gray" onClick={onClose} aria-label="Close">
          <Cross2Icon />
        </ActionIcon>
      </div>
      <InPlace
        key={`title ${id}`}
        name="title"
        heading
        text={title ?? ""}
        empty="Untitled"
        fixed={!whole || past}
        onKeep={keep("title")}
        more={
          <AskHelper
            conversation={conversation}
            icon="a title"
            operations={[{ op: "retitle", id, auto: true }]}
            make
            onDone={(applied) =>
              tell(`Done: ${applied.summary}`, { label: "Undo", run: () => void undo() }, null, remarksOf(applied))
            }
          />
        }
      />
      {whole && (
        <InPlace
          key={`summary ${id}`}
          name="summary"
          text={frame?.summary ?? ""}
          empty="No summary"
          fixed={past}
          onKeep={keep("summary")}
          more={
            <AskHelper
              conversation={conversation}
              icon="a summary"
              // A frame's summary is its text if it were compacted; it is not compacted.
              operations={[{ op: "compact", ids: [id] }]}
              onDone={async ({ written }) => {
                const summary = written?.[0]?.text;
                if (summary !== undefined) await commit([{ op: "retitle", id, summary }]);
              }}
            />
          }
        />
      )}
    </header>
  );
}
