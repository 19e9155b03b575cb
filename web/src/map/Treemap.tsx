// The whole context as a treemap: an area per kind, a tile per frame or step. A click opens it.

import { useElementSize } from "@mantine/hooks";
import { memo, useMemo, useRef } from "react";

import { percent, short } from "../format/numbers";
import { type Part, partName, type Place } from "./parts";
import { type Box, squarify } from "./squarify";
import styles from "./Treemap.module.css";

const HEIGHT = 340;
/** The size from which a kind has a heading. */
const HEADING = 18;
const GAP = 2;
/** Tiles too small to see or click are not drawn; the area behind has the colour of their kind. */
const SMALLEST = 3;

interface Props {
  parts: Part[];
  total: number;
  open: string | null;
  /** Content worth removing is hatched. */
  waste: ReadonlySet<string>;
  /** The highlighted kind. */
  shown: string | null;
  onOpen: (id: string) => void;
}

interface Area extends Box {
  part: Part;
  name: string;
  headed: boolean;
  tiles: (Box & { item: Place })[];
}

export const Treemap = memo(function Treemap({ parts, total, open, waste, shown, onOpen }: Props) {
  const { ref, width } = useElementSize();
  const picture = useRef<HTMLDivElement>(null);
  const areas = useMemo(() => layOut(parts, width), [parts, width]);

  const onKeyDown = (event: React.KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const tiles = [...(picture.current?.querySelectorAll<HTMLElement>("button") ?? [])];
    const at = tiles.findIndex((tile) => tile === document.activeElement);
    tiles[(at + step + tiles.length) % tiles.length]?.focus();
  };

  let first = true;
  return (
    <div ref={ref}>
      <div
        ref={picture}
        className={styles.map}
        style={{ height: HEIGHT }}
        role="group"
        aria-label="Composition of the context; arrow keys move between tiles"
        onKeyDown={onKeyDown}
      >
        {areas.map(({ part, name, headed, tiles, ...box }) => (
          <div
            key={name}
            className={styles.area}
            style={at(box)}
            data-kind={part.kind}
            data-dim={(shown !== null && shown !== name) || undefined}
          >
            {headed && (
              <span className={styles.heading} aria-hidden>
                {name} <b>{short(part.tokens)}</b>
              </span>
            )}
            {tiles.map(({ item, ...tile }) => {
              const label =
                `${item.id} ${item.title}: ${name}, ${short(item.tokens)} tokens, ${percent(item.tokens / total)}` +
                (waste.has(item.id) ? "; worth removing" : "");
              const tabIndex = first ? 0 : -1;
              first = false;
              return (
                <button
                  key={item.id}
                  type="button"
                  className={styles.tile}
                  style={at(tile)}
                  tabIndex={tabIndex}
                  title={label}
                  aria-label={label}
                  data-open={item.id === open || undefined}
                  data-waste={waste.has(item.id) || undefined}
                  onClick={() => onOpen(item.id)}
                >
                  {tile.width > 34 && tile.height > 15 && (
                    <span className={styles.id}>{part.kind === "tools" ? item.title : item.id}</span>
                  )}{" "}
                  {part.kind !== "tools" && tile.width > 70 && tile.height > 34 && (
                    <bdi className={styles.title}>{item.title}</bdi>
                  )}
                </button>
              );
            })}
          </div>
        ))}
      </div>
    </div>
  );
});

function layOut(parts: Part[], width: number): Area[] {
  const outer = squarify(parts, ({ tokens }) => tokens, { x: 0, y: 0, width, height: HEIGHT });
  return outer.map(({ item: part, ...box }) => {
    const inner = { x: box.x, y: box.y, width: box.width - GAP, height: box.height - GAP };
    const headed = inner.width > 64 && inner.height > 44;
    const top = headed ? HEADING : 0;
    const room = { x: 0, y: top, width: inner.width, height: inner.height - top };
    const tiles = squarify(part.places, ({ tokens }) => tokens, room).filter(
      ({ width: across, height: down }) => across >= SMALLEST && down >= SMALLEST,
    );
    return { ...inner, part, name: partName(part), headed, tiles };
  });
}

function at({ x, y, width, height }: Box): React.CSSProperties {
  return { left: x, top: y, width: Math.max(0, width), height: Math.max(0, height) };
}
