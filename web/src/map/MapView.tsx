// A picture of the whole context: what it is made of, what is probably not needed, how it grew and what it cost.

import { Loader } from "@mantine/core";
import { useMemo, useState } from "react";

import type { Conversation } from "../api";
import { percent, plural, short } from "../format/numbers";
import { clock } from "../format/time";
import { PartProblem } from "../notices/Problem";
import { useFrame, useFrames, useTimeline } from "../queries";
import { useRoute } from "../route";
import { Legend } from "./Legend";
import styles from "./MapView.module.css";
import { partsOf } from "./parts";
import { dollars, Plot } from "./Plot";
import { Treemap } from "./Treemap";
import { type Totals, totals, type Turn, turnsOf } from "./turns";
import { suggestions } from "./waste";
import { Waste } from "./Waste";

export function MapView({ conversation: { id } }: { conversation: Conversation }) {
  const { data: frames, error } = useFrames(id);
  const { data: tools } = useFrame(id, "tools");
  const { data: events } = useTimeline(id);
  const [{ open }, go] = useRoute();
  const [shown, setShown] = useState<string | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);

  const parts = useMemo(() => (frames === undefined ? [] : partsOf(frames)), [frames]);
  const weights = useMemo(
    () =>
      (tools?.messages ?? []).flatMap(({ blocks }) =>
        blocks.flatMap(({ id: block, tool, tokens, kind }) =>
          kind === "tool" && tool !== null ? [{ id: block, name: tool, tokens }] : [],
        ),
      ),
    [tools],
  );
  const waste = useMemo(() => (frames === undefined ? [] : suggestions(frames, weights)), [frames, weights]);
  const wasted = useMemo(() => new Set(waste.flatMap(({ ids }) => ids)), [waste]);
  const turns = useMemo(() => turnsOf(events ?? []), [events]);

  if (frames === undefined) {
    return error === null ? <Loader size="sm" aria-label="Loading" /> : <PartProblem error={error} />;
  }
  const pointed = hovered === null ? undefined : turns.turns[hovered];
  const onOpen = (frame: string) => go({ open: frame });
  return (
    <div className={styles.view}>
      <div className={styles.top}>
        <section className={styles.picture} aria-label="What the context is made of">
          <Treemap parts={parts} total={frames.tokens} open={open} waste={wasted} shown={shown} onOpen={onOpen} />
        </section>
        <aside className={styles.legend}>
          <Legend
            parts={parts}
            total={frames.tokens}
            calibrated={frames.calibrated}
            shown={shown}
            onShow={setShown}
          />
        </aside>
      </div>
      <Waste conversation={id} frames={frames} suggestions={waste} onOpen={onOpen} />
      <section className={styles.plot} aria-label="Over the requests">
        <header className={styles.header}>
          <h3 className={styles.heading}>Over the requests</h3>
          <span className={styles.key} data-part="read">
            from the cache
          </span>
          <span className={styles.key} data-part="written">
            written to the cache
          </span>
          <span className={styles.key} data-part="fresh">
            not cached
          </span>
          {turns.turns.some(({ money }) => money !== null) && (
            <span className={styles.key} data-part="money">
              cost
            </span>
          )}
          {turns.commits.length > 0 && (
            <span className={styles.key} data-part="commit">
              commit
            </span>
          )}
          {pointed === undefined ? <Sums totals={totals(turns.turns)} /> : <Pointed turn={pointed} />}
        </header>
        {turns.turns.length === 0 ? (
          <p className={styles.none}>No request of this conversation was answered yet.</p>
        ) : (
          <Plot turns={turns} onHover={setHovered} onChoose={() => go({ view: "history" })} />
        )}
      </section>
    </div>
  );
}

function Sums({ totals: { requests, read, cached, money } }: { totals: Totals }) {
  if (requests === 0) return null;
  return (
    <span className={styles.sums}>
      {plural(requests, "request")} · {short(read)} tokens read, {percent(cached)} from the cache
      {money !== null && ` · ${dollars(money)}`}
    </span>
  );
}

function Pointed({ turn: { request, at, read, written, fresh, output, money } }: { turn: Turn }) {
  return (
    <span className={styles.sums}>
      request {request} at {clock(at)} · {short(read)} from the cache, {short(written)} written, {short(fresh)} not cached
      · {short(output)} out{money !== null && ` · ${dollars(money)}`}
    </span>
  );
}
