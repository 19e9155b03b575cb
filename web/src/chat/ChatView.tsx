// The whole chat: as sent, as the agent sees it, or both side by side.

import { ActionIcon, Button, Loader, SegmentedControl, Tooltip } from "@mantine/core";
import { ArrowDownIcon, DoubleArrowDownIcon, ArrowUpIcon } from "@radix-ui/react-icons";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import type { Commit, Conversation, Frames } from "../api";
import { plural, tokens } from "../format/numbers";
import { useLiveEvents } from "../live";
import { RememberFolds } from "../messages/folds";
import { line } from "../messages/hidden";
import { PartProblem } from "../notices/Problem";
import { useFrame, useFrames, useHistory } from "../queries";
import { go, useRoute } from "../route";
import { ChatList, type ChatListHandle } from "./ChatList";
import styles from "./chat.module.css";
import { forget, hear, useGrowing } from "./growing";
import { isSame, type Mode, type Row, rows } from "./rows";
import { useMode } from "./useMode";
import { useSourceFrames } from "./useSourceFrames";

const MODES: { value: Mode; label: string }[] = [
  { value: "sent", label: "As sent" },
  { value: "agent", label: "As the agent sees it" },
  { value: "both", label: "Side by side" },
];

const openPart = (open: string) => go({ open });

const NONE: ReadonlyMap<string, Commit> = new Map();

export function ChatView({ conversation }: { conversation: Conversation }) {
  const { id } = conversation;
  const [mode, setMode] = useMode();
  const [{ open, at }] = useRoute();
  const sent = useFrames(id, at);
  const source = useSourceFrames(id, mode !== "sent");
  const { data: history } = useHistory(id);
  const growing = useGrowing(id);
  useLiveEvents(hear);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const list = useRef<ChatListHandle>(null);

  // Replies in progress matter only while the chat is visible.
  useEffect(() => () => forget(id), [id]);

  const commits = useMemo(
    () => (history === undefined ? NONE : new Map(history.commits.map((commit) => [commit.id, commit]))),
    [history],
  );
  const ready = mode === "sent" ? sent.data : mode === "agent" ? source.data : sent.data && source.data;
  const all = useMemo(
    () => rows({ mode, sent: sent.data?.frames ?? [], source: source.data?.frames ?? [], at, toggled }),
    [mode, sent.data, source.data, at, toggled],
  );

  // The message has replaced the reply in progress: the frames and the content of the last one include it.
  const ended = growing?.ended ?? null;
  const { dataUpdatedAt: written } = useFrame(id, lastChunk(all), at, false);
  const since = Math.min(sent.dataUpdatedAt, written);
  useEffect(() => {
    if (ended !== null && since > ended) forget(id);
  }, [id, ended, since]);

  const toggle = useCallback((key: string) => {
    setToggled((before) => {
      const next = new Set(before);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  }, []);

  return (
    <RememberFolds>
      <section className={styles.chat} aria-label="Conversation" data-mode={mode}>
        <div className={styles.bar}>
          <SegmentedControl
            size="xs"
            data={MODES}
            value={mode}
            onChange={(value) => setMode(value as Mode)}
            aria-label="Version"
          />
          {sent.data !== undefined && mode !== "agent" && <Differences frames={sent.data} rows={all} list={list} />}
          <Tooltip label="Jump to the newest">
            <ActionIcon variant="subtle" color="gray" aria-label="Jump to the newest" onClick={() => list.current?.toEnd()}>
              <DoubleArrowDownIcon />
            </ActionIcon>
          </Tooltip>
        </div>
        {at !== null && mode !== "agent" && <Past at={at} commit={commits.get(at)} />}
        {mode === "both" && (
          <div className={styles.sides} aria-hidden>
            <span>Sent version</span>
            <span>The agent’s version</span>
          </div>
        )}
        <PartProblem error={sent.error ?? source.error} />
        {ready === undefined && sent.error === null && <Loader size="sm" m="md" aria-label="Loading" />}
        {ready !== undefined && (
          <ChatList
            key={`${mode} ${at ?? ""}`}
            ref={list}
            conversation={id}
            rows={all}
            mode={mode}
            at={at}
            calibrated={ready.calibrated}
            commits={commits}
            growing={mode === "agent" || at !== null ? null : growing}
            open={open}
            onOpen={openPart}
            onToggle={toggle}
          />
        )}
      </section>
    </RememberFolds>
  );
}

/** The query of the newest sent content. */
function lastChunk(rows: readonly Row[]): string {
  const last = rows.findLast((row) => row.kind === "part" && row.sent !== null);
  return last?.kind === "part" ? (last.sent?.chunk ?? "") : "";
}

/** Warns that the chat shows a past state. */
function Past({ at, commit }: { at: string; commit: Commit | undefined }) {
  return (
    <p className={styles.past} role="status">
      <span>
        As sent after <code>{at}</code>
        {commit !== undefined && <bdi> {line(commit.summary)}</bdi>}
      </span>
      <Button size="compact-xs" variant="light" onClick={() => go({ at: null })}>
        Back to now
      </Button>
    </p>
  );
}

interface DifferencesProps {
  frames: Frames;
  rows: readonly Row[];
  list: React.RefObject<ChatListHandle | null>;
}

/** Counts the differences from the agent's version, and jumps between them. */
function Differences({ frames, rows, list }: DifferencesProps) {
  const changed = new Set(frames.frames.filter((frame) => !isSame(frame)).map(({ id }) => id));
  const places = rows.flatMap((row, index) => (row.kind === "frame" && changed.has(row.frame.id) ? [index] : []));
  if (changed.size === 0) return <span className={styles.differences}>Sent unchanged</span>;
  const before = frames.frames.reduce((sum, frame) => sum + frame.source_tokens, 0);
  const now = frames.frames.reduce((sum, frame) => sum + frame.tokens, 0);
  const step = (direction: 1 | -1) => {
    const at = list.current?.first() ?? 0;
    const next = direction === 1 ? places.find((place) => place > at) : places.findLast((place) => place < at);
    list.current?.toRow(next ?? (direction === 1 ? places[0] : places.at(-1)) ?? 0);
  };
  return (
    <span className={styles.differences}>
      <span>
        {plural(changed.size, "frame")} changed
        {now < before && `, ${tokens(before - now, frames.calibrated)} tokens less`}
        {now > before && `, ${tokens(now - before, frames.calibrated)} tokens more`}
      </span>
      <Tooltip label="Previous change">
        <ActionIcon size="sm" variant="subtle" color="gray" aria-label="Previous change" onClick={() => step(-1)}>
          <ArrowUpIcon />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Next change">
        <ActionIcon size="sm" variant="subtle" color="gray" aria-label="Next change" onClick={() => step(1)}>
          <ArrowDownIcon />
        </ActionIcon>
      </Tooltip>
    </span>
  );
}
