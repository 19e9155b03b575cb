// The map of the context: its kinds, probable waste, growth and cost.

import { Loader } from "@mantine/core";
import { useCallback, useMemo, useState } from "react";

import type { Conversation } from "../api";
import { dollars, percent, plural, short } from "../format/numbers";
import { clock } from "../format/time";
import { PartProblem } from "../notices/Problem";
import { useFrames, useTimeline } from "../queries";
import { useRoute } from "../route";
import { Legend } from "./Legend";
import styles from "./MapView.module.css";
import { Money } from "./Money";
import { missesOf } from "./money";
import { partsOf } from "./parts";
import { Plot } from "./Plot";
import { Treemap } from "./Treemap";
import { type Totals, totals, type Turn, turnsOf } from "./turns";
import { useMap, useMisses, useSpent } from "./useMap";
import { suggestions } from "./waste";
import { Waste } from "./Waste";

export function MapView({ conversation: { id } }: { conversation: Conversation }) {
  const { data: frames, error } = useFrames(id);
  const { data: map, error: mapError } = useMap(id);
  const { data: events } = useTimeline(id);
  const [{ open }, go] = useRoute();
  const [shown, setShown] = useState<string | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);

  const parts = useMemo(() => (map === undefined || frames === undefined ? [] : partsOf(map, frames)), [map, frames]);
  const waste = useMemo(() => {
    const tools = parts.find(({ kind }) => kind === "tools")?.places ?? [];
    return frames === undefined ? [] : suggestions(frames, tools);
  }, [frames, parts]);
  const wasted = useMemo(() => new Set(waste.flatMap(({ ids }) => ids)), [waste]);
  const { data: misses } = useMisses(id);
  const { data: spent } = useSpent(id);
  const turns = useMemo(
    () => turnsOf(map?.turns ?? [], events ?? [], misses === undefined ? [] : missesOf(misses)),
    [map, events, misses],
  );

  const onOpen = useCallback((frame: string) => go({ open: frame }), [go]);
  const problem = error ?? mapError;
  if (frames === undefined || map === undefined) {
    return problem === null ? <Loader size="sm" aria-label="Loading" /> : <PartProblem error={problem} />;
  }
  const pointed = hovered === null ? undefined : turns.turns[hovered];
  return (
    <div className={styles.view}>
      <div className={styles.top}>
        <section className={styles.picture} aria-label="Composition of the context">
          <Treemap parts={parts} total={map.tokens} open={open} waste={wasted} shown={shown} onOpen={onOpen} />
        </section>
        <aside className={styles.legend}>
          <Legend parts={parts} total={map.tokens} calibrated={map.calibrated} shown={shown} onShow={setShown} />
        </aside>
      </div>
      <Waste conversation={id} frames={frames} suggestions={waste} onOpen={onOpen} />
      <section className={styles.plot} aria-label="By request">
        <header className={styles.header}>
          <h3 className={styles.heading}>By request</h3>
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
          {turns.missed.size > 0 && (
            <span className={styles.key} data-part="missed">
              cache missed
            </span>
          )}
          {pointed === undefined ? <Sums totals={totals(turns.turns)} /> : <Pointed turn={pointed} missed={turns.missed.get(hovered ?? -1) ?? null} />}
        </header>
        {turns.turns.length === 0 ? (
          <p className={styles.none}>No request of this conversation has a response yet.</p>
        ) : (
          <Plot
            turns={turns}
            onHover={setHovered}
            onChoose={(index) => {
              const frame = turns.turns[index]?.frame ?? null;
              go(frame === null ? { view: "history" } : { open: frame });
            }}
          />
        )}
      </section>
      {spent !== undefined && misses !== undefined && spent.requests > 0 && (
        <Money spent={spent} misses={misses} onOpen={onOpen} />
      )}
    </div>
  );
}

function Sums({ totals: { requests, read, cached, money, nearest } }: { totals: Totals }) {
  if (requests === 0) return null;
  return (
    <span className={styles.sums}>
      {plural(requests, "request")} · {short(read)} tokens read, {percent(cached)} from the cache
      {money !== null && ` · ${nearest ? "≈" : ""}${dollars(money)}`}
    </span>
  );
}

function Pointed({ turn, missed }: { turn: Turn; missed: string | null }) {
  const { request, frame, at, cache_read, cache_write, input, output, money, priced_as } = turn;
  return (
    <span className={styles.sums}>
      request {request} at {clock(at)}
      {frame !== null && `, ${frame}`} · {short(cache_read)} from the cache, {short(cache_write)} written,{" "}
      {short(input)} not cached · {short(output)} out{money !== null && ` · ${priced_as === null ? "" : "≈"}${dollars(money)}`}
      {missed !== null && <span className={styles.missed}> · {missed}</span>}
    </span>
  );
}
