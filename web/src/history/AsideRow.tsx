// A phase, a signal, a note or a refusal as one line of the history.

import { Badge } from "@mantine/core";

import { type AsideEvent, aside } from "./asides";
import styles from "./HistoryView.module.css";
import { Note } from "./Note";

export function AsideRow({ event }: { event: AsideEvent }) {
  const { badge, color, words, more } = aside(event);
  return (
    <Note at={event.at}>
      <span className={styles.edit}>
        <Badge color={color}>{badge}</Badge>
        <bdi>{words}</bdi>
        {more !== null && <span className={styles.until}>{more}</span>}
      </span>
    </Note>
  );
}
