// A button that asks the helper model for a title or a summary, with its progress and a way to stop it. Hidden while there is no
// helper.

import { ActionIcon, Loader, Tooltip } from "@mantine/core";
import { Cross2Icon, MagicWandIcon } from "@radix-ui/react-icons";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { cancelJob, type Job } from "../api";
import { useOperate } from "../edit/useOperate";
import { complain, tell } from "../notices/toasts";
import { keys, useHelper } from "../queries";
import styles from "./details.module.css";
import { askFor, type Words } from "./words";

interface Props {
  conversation: string;
  frame: string;
  words: Words;
}

export function AskHelper({ conversation, frame, words }: Props) {
  const { undo, commit } = useOperate(conversation);
  const { data: helper } = useHelper();
  const queries = useQueryClient();
  const [job, setJob] = useState<Job | "asked" | null>(null);
  const shown = useRef(true);

  useEffect(() => {
    shown.current = true;
    return () => {
      shown.current = false;
    };
  }, []);

  if (helper === undefined || helper.provider === "none") return null;

  const ask = async () => {
    setJob("asked");
    try {
      const applied = await askFor(words, conversation, frame, (now) => shown.current && setJob(now), commit);
      // A summary is told by who makes the commit.
      if (applied !== null && words === "title") tell(`Done: ${applied.summary}`, { label: "Undo", run: () => void undo() });
    } catch (error) {
      complain(error);
    } finally {
      if (shown.current) setJob(null);
      void queries.invalidateQueries({ queryKey: keys.helper });
      void queries.invalidateQueries({ queryKey: keys.conversation(conversation) });
    }
  };

  if (job !== null) {
    return (
      <span className={styles.asking} role="status">
        <Loader size={12} />
        <span>{job === "asked" ? "Asking" : `Asking ${job.by}`}…</span>
        {job !== "asked" && (
          <Tooltip label="Stop asking">
            <ActionIcon
              size="sm"
              variant="subtle"
              color="gray"
              aria-label="Stop asking"
              onClick={() => void cancelJob(job.job).catch(complain)}
            >
              <Cross2Icon />
            </ActionIcon>
          </Tooltip>
        )}
      </span>
    );
  }
  const label = `Ask ${helper.model ?? helper.provider} for a ${words}`;
  return (
    <Tooltip label={label}>
      <ActionIcon size="sm" variant="subtle" color="gray" aria-label={label} onClick={() => void ask()}>
        <MagicWandIcon />
      </ActionIcon>
    </Tooltip>
  );
}
