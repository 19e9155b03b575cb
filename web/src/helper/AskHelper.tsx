// A button that requests a text from the helper model, with progress and a way to stop. Hidden without a helper.

import { ActionIcon, Button, Loader, Tooltip } from "@mantine/core";
import { Cross2Icon, MagicWandIcon } from "@radix-ui/react-icons";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { type EditResult, cancelJob, type Job, type Operation } from "../api";
import { complain } from "../notices/toasts";
import { keys, useHelper } from "../queries";
import styles from "./AskHelper.module.css";
import { askFor } from "./job";

interface Props {
  conversation: string;
  /** The operations without a text. */
  operations: Operation[];
  /** Shown as an icon with this label: "a title". */
  icon?: string;
  /** Commits the result at once. */
  make?: boolean;
  /** Without the button, the result is not needed any more. */
  stopWhenGone?: boolean;
  onDone: (applied: EditResult) => void | Promise<unknown>;
}

export function AskHelper({ conversation, operations, icon, make = false, stopWhenGone = false, onDone }: Props) {
  const { data: helper } = useHelper();
  const queries = useQueryClient();
  const [job, setJob] = useState<Job | "asked" | null>(null);
  const running = useRef<string | null>(null);

  useEffect(
    () => () => {
      if (stopWhenGone && running.current !== null) void cancelJob(running.current).catch(() => undefined);
    },
    [stopWhenGone],
  );

  if (helper === undefined || helper.provider === "none") return null;

  const ask = async () => {
    setJob("asked");
    try {
      const applied = await askFor(conversation, operations, make, (now) => {
        running.current = now.job;
        setJob(now);
      });
      if (applied !== null) await onDone(applied);
    } catch (error) {
      complain(error);
    } finally {
      running.current = null;
      setJob(null);
      void queries.invalidateQueries({ queryKey: keys.helper });
      if (make) void queries.invalidateQueries({ queryKey: keys.conversation(conversation) });
    }
  };

  if (job !== null) {
    return (
      <span className={styles.asking} role="status">
        <Loader size={12} />
        <span>{job === "asked" ? "Asking" : `Asking ${job.by}`}…</span>
        {job !== "asked" && (
          <Tooltip label="Cancel the request">
            <ActionIcon
              size="sm"
              variant="subtle"
              color="gray"
              aria-label="Cancel the request"
              onClick={() => void cancelJob(job.job).catch(complain)}
            >
              <Cross2Icon />
            </ActionIcon>
          </Tooltip>
        )}
      </span>
    );
  }
  const name = helper.model ?? helper.provider;
  if (icon === undefined) {
    return (
      <Button size="compact-xs" variant="default" leftSection={<MagicWandIcon />} onClick={() => void ask()}>
        Ask {name}
      </Button>
    );
  }
  const label = `Ask ${name} for ${icon}`;
  return (
    <Tooltip label={label}>
      <ActionIcon size="sm" variant="subtle" color="gray" aria-label={label} onClick={() => void ask()}>
        <MagicWandIcon />
      </ActionIcon>
    </Tooltip>
  );
}
