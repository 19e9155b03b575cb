// The lines of the branches beside one row. They span its whole height, so that an opened row does not interrupt them.

import styles from "./Graph.module.css";
import type { Placed } from "./lanes";

const LANE = 14;
/** The middle of a row's first line. */
const DOT = 16;

const x = (lane: number) => 8 + lane * LANE;

interface Props {
  width: number;
  placed?: Placed;
  past?: number[];
  /** The shape of the dot. */
  mark?: "head" | "off" | "on";
}

export function Graph({ width, placed, past = [], mark = "on" }: Props) {
  const whole = placed?.past ?? past;
  return (
    <span className={styles.graph} style={{ width: x(width - 1) + 10 }} aria-hidden>
      {whole.map((lane) => (
        <i key={`p${lane}`} className={styles.line} data-lane={lane % 5} style={{ left: x(lane) - 1 }} />
      ))}
      {placed?.goesOn === true && (
        <i className={styles.line} data-lane={placed.lane % 5} style={{ left: x(placed.lane) - 1, top: DOT }} />
      )}
      {placed !== undefined && (
        <svg className={styles.top} width={x(width - 1) + 10} height={DOT + 8}>
          {placed.from.map((lane) => (
            <path key={lane} className={styles.path} data-lane={lane % 5} d={curve(x(lane), x(placed.lane))} />
          ))}
          <circle
            className={styles.dot}
            data-lane={placed.lane % 5}
            data-mark={mark}
            cx={x(placed.lane)}
            cy={DOT}
            r={mark === "head" ? 5 : 4}
          />
        </svg>
      )}
    </span>
  );
}

function curve(from: number, to: number): string {
  return from === to ? `M${from} 0 V${DOT}` : `M${from} 0 C${from} ${DOT} ${to} 4 ${to} ${DOT}`;
}
