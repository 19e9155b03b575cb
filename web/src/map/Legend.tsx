// The figures of the map as a list, for reading and for highlighting a kind.

import { UnstyledButton } from "@mantine/core";

import { percent, tokens } from "../format/numbers";
import styles from "./Legend.module.css";
import { type Part, partName } from "./parts";

interface Props {
  parts: Part[];
  total: number;
  calibrated: boolean;
  shown: string | null;
  onShow: (name: string | null) => void;
}

export function Legend({ parts, total, calibrated, shown, onShow }: Props) {
  return (
    <ul className={styles.legend} aria-label="Kinds">
      {parts.map((part) => {
        const name = partName(part);
        return (
          <li key={name} data-kind={part.kind}>
            <UnstyledButton
              className={styles.entry}
              aria-pressed={shown === name}
              onClick={() => onShow(shown === name ? null : name)}
            >
              <i className={styles.swatch} aria-hidden />
              <span className={styles.name}>{name}</span>
              <span className={styles.number}>{tokens(part.tokens, calibrated)}</span>
              <span className={styles.share}>{percent(part.tokens / total)}</span>
            </UnstyledButton>
          </li>
        );
      })}
    </ul>
  );
}
