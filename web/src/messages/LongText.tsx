// Text exactly as it is, line breaks and all; a very long one begins short, because laying out megabytes takes seconds.

import { Button } from "@mantine/core";
import { useState } from "react";

import { count } from "../format/numbers";
import styles from "./LongText.module.css";
import { clip } from "./summaries";

const FIRST = 4000;
/** More than this at once makes the browser stutter. */
const EACH_TIME = 200_000;

export function LongText({ text, mono = false }: { text: string; mono?: boolean }) {
  const [limit, setLimit] = useState(FIRST);
  const { shown, hidden } = clip(text, limit);
  return (
    <>
      <div className={styles.text} data-mono={mono || undefined} dir="auto">
        {shown}
        {hidden > 0 && "…"}
      </div>
      {hidden > 0 && (
        <Button size="compact-xs" variant="light" mt={6} onClick={() => setLimit(limit + EACH_TIME)}>
          Show {hidden > EACH_TIME ? `${count(EACH_TIME)} more of ${count(hidden)}` : `the other ${count(hidden)}`}{" "}
          characters
        </Button>
      )}
    </>
  );
}
