// The audit log, newest first.

import { TextInput } from "@mantine/core";
import { MagnifyingGlassIcon } from "@radix-ui/react-icons";
import { useState } from "react";

import { moment } from "../format/time";
import { PartProblem } from "../notices/Problem";
import { Table } from "./Table";
import styles from "./team.module.css";
import { useAudit } from "./useTeam";

export function AuditLog() {
  const { data: entries, error } = useAudit();
  const [words, setWords] = useState("");
  const wanted = words.trim().toLowerCase();
  const shown = (entries ?? []).filter(({ by, event, what }) => `${by} ${event} ${what}`.toLowerCase().includes(wanted));
  return (
    <>
      <PartProblem error={error} />
      <div className={styles.form}>
        <TextInput
          size="xs"
          className={styles.wide ?? ""}
          aria-label="Filter the audit log"
          placeholder="Filter by person, event or text"
          leftSection={<MagnifyingGlassIcon />}
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
        />
      </div>
      <Table
        label="Audit log"
        heads={["Time", "By", "Event", "What"]}
        empty={wanted === "" ? "Nothing has happened yet." : "Nothing matches."}
        isEmpty={entries !== undefined && shown.length === 0}
      >
        {shown.map((entry, index) => (
          <tr key={index}>
            <td className={styles.time}>{moment(entry.at)}</td>
            <th scope="row">
              <bdi>{entry.by}</bdi>
            </th>
            <td>
              <span className={styles.event} data-event={entry.event}>
                {entry.event}
              </span>
            </td>
            <td className={styles.long}>
              <bdi>{entry.what}</bdi>
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}
