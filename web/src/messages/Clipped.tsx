// Shows the beginning of a very long text, because laying out megabytes takes seconds; more on request.

import { Button } from "@mantine/core";
import { type ReactNode, useState } from "react";

import { count } from "../format/numbers";
import { clip } from "./summaries";

const FIRST = 4000;
/** More than this at once makes the browser stutter. */
const EACH_TIME = 100_000;

interface Props {
  text: string;
  /** The size shown at first. */
  first?: number;
  children: (shown: string, isCut: boolean) => ReactNode;
}

export function Clipped({ text, first = FIRST, children }: Props) {
  const [limit, setLimit] = useState(first);
  const { shown, hidden } = clip(text, limit);
  return (
    <>
      {children(shown, hidden > 0)}
      {hidden > 0 && (
        <Button size="compact-xs" variant="light" w="fit-content" onClick={() => setLimit(limit + EACH_TIME)}>
          Show {hidden > EACH_TIME ? `${count(EACH_TIME)} more of ${count(hidden)}` : `the other ${count(hidden)}`}{" "}
          characters
        </Button>
      )}
    </>
  );
}
