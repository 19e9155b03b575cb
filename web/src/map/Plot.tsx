// The size of each request: tokens read from the cache, written to it and read in full, and the cost where prices are
// known. Dashed lines are commits; a mark above a bar is a cache miss.

import "uplot/dist/uPlot.min.css";

import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import uPlot from "uplot";

import { dollars, short } from "../format/numbers";
import { mixed } from "./mixed";
import styles from "./Plot.module.css";
import { stacked, type Turns } from "./turns";

const HEIGHT = 220;

interface Props {
  turns: Turns;
  /** The request under the pointer, if any. */
  onHover: (index: number | null) => void;
  onChoose: (index: number) => void;
}

export function Plot({ turns, onHover, onChoose }: Props) {
  const { ref, width } = useElementSize();
  const place = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const told = useRef({ onHover, onChoose });
  useEffect(() => {
    told.current = { onHover, onChoose };
  });

  useEffect(() => {
    const element = place.current;
    if (element === null || width < 40) return;
    const hover = ({ cursor: { idx } }: uPlot) => told.current.onHover(idx ?? null);
    const wanted = options(turns, width, colours(element));
    const plot = new uPlot({ ...wanted, hooks: { ...wanted.hooks, setCursor: [hover] } }, data(turns), element);
    const onClick = () => {
      const { idx } = plot.cursor;
      if (typeof idx === "number") told.current.onChoose(idx);
    };
    plot.over.addEventListener("click", onClick);
    return () => plot.destroy();
    // The canvas uses the colours of the scheme at the time of drawing.
  }, [turns, width, scheme]);

  return (
    <div ref={ref} className={styles.plot}>
      <div ref={place} role="img" aria-label={inShort(turns)} />
    </div>
  );
}

function inShort({ turns }: Turns): string {
  const last = turns.at(-1);
  if (last === undefined) return "No request yet";
  const { context, cache_read } = last;
  const read = `the last read ${short(context)} tokens, ${short(cache_read)} of them from the cache`;
  return `Context over ${turns.length} requests; ${read}`;
}

function data({ turns }: Turns): uPlot.AlignedData {
  const { x, read, written, whole } = stacked(turns);
  const money = turns.map(({ money: of }) => of);
  return [x, whole, written, read, ...(priced(turns) ? [money] : [])];
}

const priced = (turns: Turns["turns"]) => turns.some(({ money }) => money !== null);

interface Colours {
  ground: string;
  text: string;
  line: string;
  read: string;
  written: string;
  fresh: string;
  money: string;
  commit: string;
  missed: string;
}

function colours(element: HTMLElement): Colours {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    ground: of("--surface"),
    text: of("--quiet"),
    line: of("--line"),
    read: of("--cache-read"),
    written: of("--cache-written"),
    fresh: of("--cache-fresh"),
    money: of("--kind-system"),
    commit: of("--accent"),
    missed: of("--bad"),
  };
}

function options(turns: Turns, width: number, colour: Colours): uPlot.Options {
  const bars = uPlot.paths.bars?.({ size: [0.86, 36] });
  const area = (label: string, stroke: string): uPlot.Series => ({
    label,
    stroke,
    // Opaque: the bars overlap, and each hides all but the top of the next.
    fill: mixed(stroke, colour.ground),
    width: 0,
    points: { show: false },
    ...(bars === undefined ? {} : { paths: bars }),
  });
  const withMoney = priced(turns.turns);
  return {
    width,
    height: HEIGHT,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false } },
    scales: { x: { time: false, range: (_, min, max) => [Math.min(min, 1) - 0.5, max + 0.5] } },
    axes: [
      axis(colour, {
        size: 26,
        values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? String(tick) : "")),
      }),
      axis(colour, { size: 48, values: (_, ticks) => ticks.map(short) }),
      ...(withMoney
        ? [
            axis(colour, {
              scale: "$",
              side: 1,
              size: 52,
              grid: { show: false },
              values: (_, ticks) => ticks.map(dollars),
            }),
          ]
        : []),
    ],
    series: [
      { label: "request" },
      area("not cached", colour.fresh),
      area("written to the cache", colour.written),
      area("from the cache", colour.read),
      ...(withMoney ? [{ label: "cost", scale: "$", stroke: colour.money, width: 1.5, points: { show: false } }] : []),
    ],
    hooks: { draw: [(plot) => drawCommits(plot, turns, colour.commit), (plot) => drawMisses(plot, turns, colour.missed)] },
  };
}

function axis({ text, line }: Colours, more: uPlot.Axis): uPlot.Axis {
  const font = "11px system-ui, sans-serif";
  return { stroke: text, font, ticks: { show: false }, grid: { stroke: line, width: 1 }, ...more };
}

function drawCommits(plot: uPlot, { commits }: Turns, stroke: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.setLineDash([3, 3]);
  for (const before of new Set(commits.map((commit) => commit.before))) {
    const x = Math.round(plot.valToPos(before + 0.5, "x", true)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function drawMisses(plot: uPlot, { turns, missed }: Turns, fill: string): void {
  const { ctx } = plot;
  const size = 4 * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = fill;
  for (const index of missed.keys()) {
    const x = plot.valToPos(index + 1, "x", true);
    const y = Math.max(plot.bbox.top + 2 * size, plot.valToPos(turns[index]?.context ?? 0, "y", true) - size / 2);
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x - size, y - 1.6 * size);
    ctx.lineTo(x + size, y - 1.6 * size);
    ctx.fill();
  }
  ctx.restore();
}
