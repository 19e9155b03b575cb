// Text exactly as it is, with line breaks. Invisible characters are named.

import { Fragment, memo } from "react";

import { Clipped } from "./Clipped";
import { pieces } from "./hidden";
import styles from "./Words.module.css";

interface Props {
  text: string;
  mono?: boolean;
  /** The size shown at first. */
  first?: number;
}

export const Words = memo(function Words({ text, mono = false, first }: Props) {
  return (
    <Clipped text={text} {...(first === undefined ? {} : { first })}>
      {(shown, isCut) => (
        <div className={styles.text} data-mono={mono || undefined} dir="auto">
          <Signs text={shown} />
          {isCut && "…"}
        </div>
      )}
    </Clipped>
  );
});

/** Text with its invisible characters named. */
export function Signs({ text }: { text: string }) {
  return pieces(text).map((piece, index) =>
    piece.hidden ? (
      <span key={index} className={styles.hidden} title="Invisible characters">
        {piece.text}
      </span>
    ) : (
      <Fragment key={index}>{piece.text}</Fragment>
    ),
  );
}
