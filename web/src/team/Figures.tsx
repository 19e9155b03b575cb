// The conversations of another person, as figures without content. Opening one needs a reason, and its owner is
// notified.

import { Button, Modal, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { openFor } from "../api/team";
import { count } from "../format/numbers";
import { PartProblem } from "../notices/Problem";
import { keys } from "../queries";
import { go } from "../route";
import { Table, When } from "./Table";
import styles from "./team.module.css";
import { useChange, useFigures } from "./useTeam";

export function Figures({ person, onClose }: { person: string; onClose: () => void }) {
  const { data: figures, error } = useFigures(person);
  const [wanted, setWanted] = useState<string | null>(null);
  const [reason, setReason] = useState("");
  const queries = useQueryClient();
  const open = useChange(
    (conversation: string) => openFor(person, conversation, reason.trim()),
    () => `Open for an hour; ${person} is told`,
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Conversations of ${person}`}
      size={760}
      lockScroll={false}
      transitionProps={{ duration: 0 }}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <PartProblem error={error} />
      <Table label={`Conversations of ${person}`} heads={["Id", "Model", "Requests", "Tokens", "Last used", ""]} empty="None." isEmpty={figures?.length === 0}>
        {(figures ?? []).map((one) => (
          <tr key={one.id}>
            <td className={styles.mono}>{one.id}</td>
            <td>{one.model}</td>
            <td className={styles.number}>{count(one.requests)}</td>
            <td className={styles.number}>{count(one.tokens)}</td>
            <td>
              <When at={one.last_activity} />
            </td>
            <td className={styles.actions}>
              <Button size="compact-xs" variant="default" onClick={() => setWanted(one.id)}>
                Open…
              </Button>
            </td>
          </tr>
        ))}
      </Table>
      {wanted !== null && (
        <form
          className={styles.reason}
          onSubmit={(event) => {
            event.preventDefault();
            open.mutate(wanted, {
              onSuccess: async ({ conversation }) => {
                onClose();
                await queries.invalidateQueries({ queryKey: keys.conversations });
                go({ conversation, view: "frames", open: null, at: null });
              },
            });
          }}
        >
          <TextInput
            size="xs"
            autoFocus
            label={`Why do you open ${wanted}? ${person} reads it, and it stays in the audit log.`}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          <Button size="xs" type="submit" disabled={reason.trim() === ""} loading={open.isPending}>
            Open for an hour
          </Button>
        </form>
      )}
    </Modal>
  );
}
