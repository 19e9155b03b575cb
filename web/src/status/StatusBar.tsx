// One line about the daemon: reachable, upstream, requests seen, content stored.

import { Loader, Tooltip, UnstyledButton } from "@mantine/core";
import { useIsFetching, useIsMutating } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { bytes, count, plural } from "../format/numbers";
import { moment } from "../format/time";
import type { Connection } from "../live";
import { Caps } from "../palette/Caps";
import { openPalette } from "../palette/open";
import { useStatus } from "../queries";
import { IncompleteRequests } from "./IncompleteRequests";
import styles from "./StatusBar.module.css";

const CONNECTIONS: Record<Connection, { label: string; meaning: string }> = {
  connecting: { label: "Connecting", meaning: "Waiting for the daemon" },
  live: { label: "Live", meaning: "Updates appear live" },
  lost: { label: "Reconnecting", meaning: "Connection to the daemon lost; retrying" },
};

export function StatusBar({ connection }: { connection: Connection }) {
  const { data: status } = useStatus();
  const { label, meaning } = CONNECTIONS[connection];
  return (
    <footer className={styles.bar}>
      <Tooltip label={meaning}>
        <span className={styles.connection} data-connection={connection} role="status">
          {label}
        </span>
      </Tooltip>
      {status !== undefined && (
        <>
          <span title="Requests go to">→ {status.upstream}</span>
          <span>
            {plural(status.requests.total, "request")}
            {status.requests.in_flight > 0 && `, ${count(status.requests.in_flight)} in flight`}
          </span>
          <IncompleteRequests requests={status.requests} />
          {status.recorder.queued > 0 && (
            <span title="Not yet stored">{count(status.recorder.queued)} waiting to be recorded</span>
          )}
          {status.recorder.dropped > 0 && (
            <span className={styles.bad} title="They reached the provider, but the recorder could not keep up">
              {count(status.recorder.dropped)} not recorded
            </span>
          )}
          <span title={`${status.store.path}: ${plural(status.store.records, "record")}`}>
            store {bytes(status.store.bytes)}
          </span>
          {status.store.unsaved > 0 && (
            <span className={styles.bad} title="The store could not be written; run `ctx doctor`">
              {plural(status.store.unsaved, "record")} not saved
            </span>
          )}
          {status.store.away_since !== null && (
            <span className={styles.bad} title="Requests pass, edits are refused; the daemon reconnects by itself">
              database out of reach since {moment(status.store.away_since)}
            </span>
          )}
          {status.memory_bytes !== null && <span className={styles.quiet}>memory {bytes(status.memory_bytes)}</span>}
          <span className={styles.daemon} title={`Process ${status.pid}, since ${moment(status.started_at)}`}>
            ctx {status.version}
            {status.listen !== null && ` on ${status.listen}`}
          </span>
        </>
      )}
      <Busy />
      <UnstyledButton className={styles.find} onClick={() => openPalette()}>
        Command palette{" "}
        <span className={styles.keys}>
          <Caps keys="mod+k" />
        </span>
      </UnstyledButton>
    </footer>
  );
}

/** Slower responses are reported. */
const LONG = 600;

function Busy() {
  const busy = useIsFetching() + useIsMutating() > 0;
  const [long, setLong] = useState(false);
  useEffect(() => {
    if (!busy) return;
    const timer = setTimeout(() => setLong(true), LONG);
    return () => {
      clearTimeout(timer);
      setLong(false);
    };
  }, [busy]);
  return (
    <span className={styles.busy} role="status">
      {long && (
        <>
          <Loader size={10} aria-hidden /> Working…
        </>
      )}
    </span>
  );
}
