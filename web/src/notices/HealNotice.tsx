// The provider refuses the conversation in its current state: shows the reason and a button that heals it.

import { Alert, Button } from "@mantine/core";
import { ExclamationTriangleIcon } from "@radix-ui/react-icons";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { heal } from "../api";
import { committing, expectedHead } from "../head";
import { keys, useExplanation } from "../queries";
import styles from "./notices.module.css";
import { WithCode } from "./Problem";
import { remarksOf } from "./remarks";
import { complain, tell } from "./toasts";

export function HealNotice({ conversation, head }: { conversation: string; head: string | null }) {
  const queries = useQueryClient();
  const { data } = useExplanation(conversation);
  const [busy, setBusy] = useState(false);
  const problem = data?.problem ?? null;
  if (problem === null) return null;

  const run = async () => {
    setBusy(true);
    try {
      const call = () => heal(conversation, expectedHead(conversation, head ?? "none"));
      const healed = await committing(queries, conversation, call, ({ commit }) => commit);
      tell(`Healed: ${healed.summary}`, null, null, remarksOf(healed));
      await queries.invalidateQueries({ queryKey: keys.conversation(conversation) });
    } catch (error) {
      complain(error);
    } finally {
      setBusy(false);
    }
  };

  return (
    <Alert
      color="red"
      className={styles.problem ?? ""}
      icon={<ExclamationTriangleIcon />}
      title="The provider refuses this conversation"
      role="alert"
    >
      <WithCode text={`${problem}. `} />
      <Button size="compact-sm" variant="default" loading={busy} onClick={() => void run()}>
        Remove it
      </Button>
    </Alert>
  );
}
