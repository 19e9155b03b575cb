// The side panel: what one frame, step or part really says, message by message.

import { ActionIcon, Loader } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { Cross2Icon } from "@radix-ui/react-icons";
import { Fragment, useMemo } from "react";

import { plural, tokens } from "../format/numbers";
import { PartProblem } from "../notices/Problem";
import { useFrame } from "../queries";
import styles from "./FramePanel.module.css";
import { MessageView } from "./MessageView";
import { toolNames } from "./summaries";

interface Props {
  conversation: string;
  id: string;
  onOpen: (id: string) => void;
  onClose: () => void;
}

export function FramePanel({ conversation, id, onOpen, onClose }: Props) {
  const { data: frame, error } = useFrame(conversation, id);
  useHotkeys([["Escape", onClose]]);
  const tools = useMemo(() => toolNames(frame?.messages ?? []), [frame]);
  const whole = id.split(/[/#]/)[0] ?? id;

  return (
    <div className={styles.panel}>
      <header className={styles.header}>
        <div className={styles.heading}>
          <span className={styles.line}>
            <span className={styles.id}>{id}</span>
            {frame !== undefined && (
              <span className={styles.size}>
                {!["system", "tool"].includes(frame.kind) && `${plural(frame.messages.length, "message")} · `}
                {tokens(frame.tokens, frame.calibrated)} tokens
              </span>
            )}
            {whole !== id && whole !== "tools" && (
              <button type="button" className={styles.whole} onClick={() => onOpen(whole)}>
                show all of {whole}
              </button>
            )}
          </span>
          <h3 className={styles.title}>
            <bdi>{frame?.title}</bdi>
          </h3>
        </div>
        <ActionIcon variant="subtle" color="gray" onClick={onClose} aria-label="Close">
          <Cross2Icon />
        </ActionIcon>
      </header>
      <div className={styles.messages} key={id}>
        <PartProblem error={error} />
        {frame === undefined && error === null && <Loader size="sm" m="md" aria-label="Loading" />}
        {frame?.messages.map((message, index) => {
          const startsStep = message.step > 0 && message.step !== frame.messages[index - 1]?.step;
          return (
            <Fragment key={message.id}>
              {startsStep && <div className={styles.step}>step {message.step}</div>}
              <MessageView message={message} tools={tools} calibrated={frame.calibrated} />
            </Fragment>
          );
        })}
      </div>
    </div>
  );
}
