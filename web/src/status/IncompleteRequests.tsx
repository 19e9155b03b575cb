// Counts requests that failed or were cancelled since the daemon's start; opened, it lists the recent ones.

import { Loader, Popover, UnstyledButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";

import { getTimeline, type Status } from "../api";
import { count } from "../format/numbers";
import { ago, moment } from "../format/time";
import { useNow } from "../format/useNow";
import { useConversations } from "../queries";
import { go } from "../route";
import { incompleteOf } from "./incomplete";
import styles from "./StatusBar.module.css";

/** As far back as is looked. */
const CONVERSATIONS = 12;
const EVENTS = 200;
const SHOWN = 12;
const AGAIN = 2000;

export function IncompleteRequests({ requests }: { requests: Status["requests"] }) {
  const [opened, setOpened] = useState(false);
  const name = useId();
  const { failed, cancelled } = requests;
  if (failed + cancelled === 0) return null;
  return (
    <Popover opened={opened} onChange={setOpened} position="top-start" shadow="md" width={420} trapFocus>
      <Popover.Target>
        <UnstyledButton className={styles.incomplete} aria-expanded={opened} onClick={() => setOpened(!opened)}>
          {failed > 0 && <span className={styles.bad}>{count(failed)} failed</span>}
          {cancelled > 0 && <span>{count(cancelled)} cancelled</span>}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown p={8} aria-labelledby={name}>
        <h3 id={name} className={styles.title}>
          Incomplete requests
        </h3>
        {opened && <Recent onOpen={() => setOpened(false)} />}
      </Popover.Dropdown>
    </Popover>
  );
}

function Recent({ onOpen }: { onOpen: () => void }) {
  const { data: conversations = [] } = useConversations();
  const now = useNow();
  const latest = conversations.slice(0, CONVERSATIONS);
  const titles = new Map(latest.map(({ id, title }) => [id, title]));
  const { data, isPending } = useQuery({
    queryKey: ["incomplete", latest.map(({ id }) => id)],
    queryFn: async () => {
      const found = await Promise.all(
        latest.map(async ({ id }) => incompleteOf(id, await getTimeline(id, EVENTS).catch(() => []))),
      );
      return found.flat().sort((left, right) => right.at - left.at);
    },
    staleTime: 0,
    // The footer counts a request before its end is recorded.
    refetchInterval: AGAIN,
  });
  if (isPending) return <Loader size="sm" aria-label="Loading" />;
  if (data === undefined || data.length === 0) return <p className={styles.none}>No recent request is incomplete.</p>;
  return (
    <ul className={styles.recent}>
      {data.slice(0, SHOWN).map(({ conversation, request, at, cancelled, words }) => (
        <li key={`${conversation} ${request}`}>
          <button
            type="button"
            onClick={() => {
              onOpen();
              go({ conversation, view: "history", open: null, at: null });
            }}
          >
            <span className={styles.request}>r{request}</span>
            <bdi className={cancelled ? styles.quiet : styles.bad}>{words}</bdi>
            <time title={moment(at)}>{ago(at, now)}</time>
            <bdi className={styles.where}>{titles.get(conversation) || "Untitled"}</bdi>
          </button>
        </li>
      ))}
      {data.length > SHOWN && <li className={styles.quiet}>and {data.length - SHOWN} older</li>}
    </ul>
  );
}
