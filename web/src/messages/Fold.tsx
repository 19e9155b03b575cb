// A line that names hidden content and its size, and unfolds it.

import { ChevronRightIcon } from "@radix-ui/react-icons";
import type { ReactNode } from "react";

import styles from "./Fold.module.css";
import { useFold } from "./folds";
import { line } from "./hidden";

interface Props {
  /** Identifies it among the folds of the list. */
  name: string;
  /** Colours the edge. */
  kind: string;
  label: string;
  /** One line of what is inside; not shown while it is open. */
  summary?: string;
  /** Marks behind the label. */
  marks?: ReactNode;
  sizes: readonly string[];
  error?: boolean;
  open?: boolean;
  children: () => ReactNode;
}

export function Fold({ name, kind, label, summary = "", marks, sizes, error = false, ...rest }: Props) {
  const [open, setOpen] = useFold(name, rest.open ?? false);
  return (
    <div className={styles.fold} data-kind={kind} data-error={error || undefined}>
      <button type="button" className={styles.line} aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRightIcon className={styles.chevron} aria-hidden />
        <span className={styles.label}>{label}</span>
        {marks != null && marks !== false && <span className={styles.marks}>{marks}</span>}
        <bdi className={styles.summary}>{open ? "" : line(summary)}</bdi>
        {sizes.map((size, index) => (
          <span key={index} className={styles.size}>
            {size}
          </span>
        ))}
      </button>
      {open && <div className={styles.inside}>{rest.children()}</div>}
    </div>
  );
}
