// Commits and requests as one list, newest first.

import { Badge, Button, Loader, UnstyledButton } from "@mantine/core";
import { ChevronDownIcon, ChevronRightIcon } from "@radix-ui/react-icons";
import { useDeferredValue, useMemo, useRef, useState } from "react";

import type { Commit, Conversation, LineEvent } from "../api";
import { plural } from "../format/numbers";
import { PartProblem } from "../notices/Problem";
import { useKeys } from "../palette/useKeys";
import { useFrames } from "../queries";
import { useRoute } from "../route";
import { AsideRow } from "./AsideRow";
import { CommitRow } from "./CommitRow";
import { isOff } from "./commits";
import { type Entry, entries, NO_FILTER } from "./entries";
import { ExchangeRow } from "./ExchangeRow";
import { Graph } from "./Graph";
import styles from "./HistoryView.module.css";
import { width } from "./lanes";
import { Note } from "./Note";
import { RunRow } from "./RunRow";
import { Toolbar } from "./Toolbar";
import { DeferredEditRow } from "./DeferredEditRow";
import { useAllHistory, useEvents } from "./useAllHistory";
import { useWays, type Ways } from "./useWays";

const ROWS_AT_FIRST = 300;
/** The events loaded first; older ones on request. */
const EVENTS_AT_FIRST = 400;
const NONE: Commit[] = [];

export function HistoryView({ conversation: { id } }: { conversation: Conversation }) {
  const history = useAllHistory(id);
  const [reach, setReach] = useState(EVENTS_AT_FIRST);
  const timeline = useEvents(id, reach);
  const frames = useFrames(id);
  const ways = useWays(id);
  const [, go] = useRoute();
  const [filter, setFilter] = useState(NO_FILTER);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [shown, setShown] = useState(ROWS_AT_FIRST);
  const list = useRef<HTMLOListElement>(null);
  const shownFilter = useDeferredValue(filter);

  const commits = history.data?.commits ?? NONE;
  const rows = useMemo(() => entries(commits, timeline.data ?? [], shownFilter), [commits, timeline.data, shownFilter]);
  const graph = graphWidth(rows, commits);

  const toggle = (key: string) =>
    setOpen((before) =>
      before.has(key) ? new Set([...before].filter((other) => other !== key)) : new Set([...before, key]),
    );
  useHistoryKeys(list, commits, (key) => setOpen((before) => new Set([...before, key])));

  const error = history.error ?? timeline.error;
  if (history.data === undefined || timeline.data === undefined) {
    return error === null ? <Loader size="sm" aria-label="Loading" /> : <PartProblem error={error} />;
  }
  const { head = null, branch } = history.data;
  const openFrame = (frame: string) => go({ open: frame });

  return (
    <section className={styles.history} aria-label="History">
      <Toolbar
        history={history.data}
        commits={commits}
        frames={frames.data?.frames ?? []}
        filter={filter}
        ways={ways}
        onFilter={setFilter}
      />
      <PartProblem error={error} />
      {commits.length === 0 && filter.what !== "requests" && <NothingYet />}
      <ol className={styles.rows} ref={list}>
        {rows.slice(0, shown).map((entry) => (
          <li
            key={entry.key}
            className={styles.row}
            data-kind={entry.kind}
            data-open={open.has(entry.key) || undefined}
          >
            {graph > 0 && <Beside entry={entry} width={graph} head={head} commits={commits} />}
            {entry.kind === "commit" && (
              <CommitRow
                conversation={id}
                commit={entry.commit}
                commits={commits}
                head={head}
                branch={branch}
                open={open.has(entry.key)}
                ways={ways}
                onToggle={() => toggle(entry.key)}
                onOpenFrame={openFrame}
              />
            )}
            {entry.kind === "exchange" && <ExchangeRow conversation={id} exchange={entry.exchange} />}
            {entry.kind === "run" && (
              <RunRow
                conversation={id}
                exchanges={entry.exchanges}
                open={open.has(entry.key)}
                onToggle={() => toggle(entry.key)}
              />
            )}
            {entry.kind === "line" && <LineRow event={entry.event} />}
            {entry.kind === "edit" && <DeferredEditRow conversation={id} event={entry.event} />}
            {entry.kind === "aside" && <AsideRow event={entry.event} />}
            {entry.kind === "recovery" && (
              <Note at={entry.at}>
                The provider refused earlier thinking. From here on, ctx asks it to drop such blocks.
              </Note>
            )}
          </li>
        ))}
        {filter === NO_FILTER && commits.length > 0 && rows.length <= shown && <Source ways={ways} graph={graph} />}
      </ol>
      {rows.length > shown && (
        <Button size="compact-sm" variant="default" mt={10} onClick={() => setShown(shown * 2)}>
          Show older: {plural(rows.length - shown, "row")} left
        </Button>
      )}
      {rows.length <= shown && timeline.data.length >= reach && filter.what !== "commits" && (
        <Button
          size="compact-sm"
          variant="default"
          mt={10}
          loading={timeline.isPlaceholderData}
          onClick={() => setReach(reach * 4)}
        >
          Load older events
        </Button>
      )}
      {rows.length === 0 && filter !== NO_FILTER && <p className={styles.none}>Nothing matches these filters.</p>}
    </section>
  );
}

/** No graph without a commit; one lane as long as there is one line of commits. */
function graphWidth(rows: Entry[], commits: Commit[]): number {
  if (commits.length === 0) return 0;
  return width(rows.flatMap((entry) => (entry.kind === "commit" ? [entry.placed] : [])));
}

interface BesideProps {
  entry: Entry;
  width: number;
  head: string | null;
  commits: Commit[];
}

function Beside({ entry, width: lanes, head, commits }: BesideProps) {
  if (entry.kind !== "commit") return <Graph width={lanes} past={entry.past} />;
  const mark = entry.commit.id === head ? "head" : isOff(entry.commit, commits) ? "off" : "on";
  return <Graph width={lanes} placed={entry.placed} mark={mark} />;
}

const LINES: Record<string, string> = {
  branch: "New branch",
  checkout: "Checked out branch",
  tag: "Tagged a commit",
  remove_branch: "Deleted branch",
  remove_tag: "Deleted tag",
};

function LineRow({ event }: { event: LineEvent }) {
  const [[what, about] = ["", { name: "" }]] = Object.entries(event.line) as [string, { name: string }][];
  return (
    <Note at={event.at}>
      {LINES[what] ?? what} <Badge color={what.endsWith("tag") ? "teal" : "indigo"}>{about.name}</Badge>
    </Note>
  );
}

/** The first row: rolls back to the unedited state. */
function Source({ ways, graph }: { ways: Ways; graph: number }) {
  const [open, setOpen] = useState(false);
  return (
    <li className={styles.row} data-kind="source">
      {graph > 0 && <Graph width={graph} placed={{ lane: 0, from: [], past: [], goesOn: false }} mark="off" />}
      <div className={styles.source}>
        <UnstyledButton
          className={styles.sourceLine}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          data-row="source"
        >
          <span>The agent’s version, without edits</span>
          {open ? <ChevronDownIcon aria-hidden /> : <ChevronRightIcon aria-hidden />}
        </UnstyledButton>
        {open && (
          <p className={styles.sourceText}>
            <UnstyledButton
              className={styles.link}
              onClick={() => void ways.go({ action: "rollback", target: "source" })}
            >
              Roll back to here
            </UnstyledButton>{" "}
            switches all commits off. They stay in the history, and you can switch them on again.
          </p>
        )}
      </div>
    </li>
  );
}

function NothingYet() {
  return (
    <p className={styles.none}>
      No edits yet. Each edit becomes a commit here, which you can revert at any time.
    </p>
  );
}

/** Up and down through the rows; keys for the commit that has the focus. */
function useHistoryKeys(
  list: React.RefObject<HTMLOListElement | null>,
  commits: Commit[],
  unfold: (id: string) => void,
) {
  const rows = () => [...(list.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
  const step = (by: number) => () => {
    const all = rows();
    const at = all.findIndex((row) => row === document.activeElement);
    all[at === -1 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))]?.focus();
  };
  const focused = (): Commit | undefined => {
    const row = document.activeElement?.closest("li")?.querySelector<HTMLElement>("[data-commit]");
    return commits.find(({ id }) => id === row?.dataset.commit);
  };
  const press = (does: string) => () => {
    const commit = focused();
    if (commit === undefined) return false;
    unfold(commit.id);
    // The button is drawn with the next frame.
    requestAnimationFrame(() => {
      document.activeElement?.closest("li")?.querySelector<HTMLElement>(`[data-does="${does}"]`)?.click();
    });
    return true;
  };
  useKeys({
    down: step(1),
    up: step(-1),
    first: () => rows()[0]?.focus(),
    last: () => rows().at(-1)?.focus(),
    revert: press("revert"),
    rollback: press("rollback"),
    branch: press("branch"),
    tag: press("tag"),
  });
}
