// The daemons on one database: this one, and the others that it knows.

import { Badge } from "@mantine/core";

import type { Status } from "../api";
import { bytes } from "../format/numbers";
import { duration } from "../format/time";
import { Table, When } from "./Table";

/** A commit does not wait for a daemon that has been silent for this long. */
const SILENT = 2000;

export function Daemons({ status }: { status: Status }) {
  const { store, listen, version, started_at, memory_bytes } = status;
  return (
    <Table label="Daemons" heads={["Daemon", "State", "Version", "Since", "Memory"]} empty="" isEmpty={false}>
      <tr>
        <th scope="row">{listen ?? "this daemon"} (this one)</th>
        <td>
          {store.away_since == null ? <Good label="in service" /> : <Bad label="database out of reach" />}
        </td>
        <td>{version}</td>
        <td>
          <When at={started_at} />
        </td>
        <td>{memory_bytes == null ? "" : bytes(memory_bytes)}</td>
      </tr>
      {store.others.map(({ name, silent_ms }) => (
        <tr key={name}>
          <th scope="row">
            <bdi>{name}</bdi>
          </th>
          <td>
            {silent_ms < SILENT ? <Good label="in service" /> : <Bad label={`silent for ${duration(silent_ms)}`} />}
          </td>
          <td />
          <td />
          <td />
        </tr>
      ))}
    </Table>
  );
}

const Good = ({ label }: { label: string }) => (
  <Badge size="xs" variant="light" color="teal">
    {label}
  </Badge>
);

const Bad = ({ label }: { label: string }) => (
  <Badge size="xs" variant="light" color="orange">
    {label}
  </Badge>
);
