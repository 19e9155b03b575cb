// Text exactly as it is, line breaks and all. What cannot be seen is named; a very long text begins short, because
// laying out megabytes takes seconds.

import { Button } from "@mantine/core";
import { Fragment, memo, useState } from "react";

import { count } from "../format/numbers";
import { pieces } from "./hidden";
import { clip } from "./summaries";
import styles from "./Words.module.css";

const FIRST = 4000;
/** More than this at once makes the browser stutter. */
const EACH_TIME = 100_000;

interface Props {
  text: string;
  mono?: boolean;
  /** How much is shown at first. */
  first?: number;
}

export const Words = memo(function Words({ text, mono = false, first = FIRST }: Props) {
  const [limit, setLimit] = useState(first);
  const { shown, hidden } = clip(text, limit);
  return (
    <>
      <div className={styles.text} data-mono={mono || undefined} dir="auto">
        <Signs text={shown} />
        {hidden > 0 && "…"}
      </div>
      {hidden > 0 && (
        <Button size="compact-xs" variant="light" w="fit-content" onClick={() => setLimit(limit + EACH_TIME)}>
          Show {hidden > EACH_TIME ? `${count(EACH_TIME)} more of ${count(hidden)}` : `the other ${count(hidden)}`}{" "}
          characters
        </Button>
      )}
    </>
  );
});

/** Text in which signs that nobody sees are named. */
function Signs({ text }: { text: string }) {
  return pieces(text).map((piece, index) =>
    piece.hidden ? (
      <span key={index} className={styles.hidden} title="Signs that are not seen">
        {piece.text}
      </span>
    ) : (
      <Fragment key={index}>{piece.text}</Fragment>
    ),
  );
}
