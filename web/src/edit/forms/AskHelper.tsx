// Lets the helper model write the words. Not shown while no helper is set up.

import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

import { askHelper, cancelJob, getJob, type Job, type Operation } from "../../api";
import { complain } from "../../notices/toasts";
import { useHelper } from "../../queries";

interface Props {
  conversation: string;
  operations: Operation[];
  onWords: (words: { of: string; text: string }[]) => void;
}

const LOOK_EVERY = 400;

export function AskHelper({ conversation, operations, onWords }: Props) {
  const { data: helper } = useHelper();
  const [job, setJob] = useState<string | null>(null);
  const running = useRef<string | null>(null);

  // Nobody waits for the words any more when the form is gone.
  useEffect(
    () => () => {
      if (running.current !== null) void cancelJob(running.current).catch(() => undefined);
    },
    [],
  );

  if (helper === undefined || helper.provider === "none") return null;

  const ask = async () => {
    try {
      let state: Job = await askHelper(conversation, { operations }, true);
      running.current = state.job;
      setJob(state.job);
      while (state.state === "asking") {
        await new Promise((done) => setTimeout(done, LOOK_EVERY));
        state = await getJob(state.job);
      }
      if (state.state === "done") onWords(state.applied?.written ?? []);
      else if (state.error != null) complain(new Error(`${state.error.message} ${state.error.hint}`));
    } catch (error) {
      complain(error);
    } finally {
      running.current = null;
      setJob(null);
    }
  };

  return job === null ? (
    <Button size="compact-xs" variant="default" onClick={() => void ask()}>
      Ask {helper.model ?? "the helper"}
    </Button>
  ) : (
    <Button size="compact-xs" variant="default" onClick={() => void cancelJob(job).catch(complain)}>
      Asking… stop
    </Button>
  );
}
