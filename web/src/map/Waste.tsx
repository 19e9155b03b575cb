// Content that is probably worth removing, with a button each that stages its removal.

import { Button, UnstyledButton } from "@mantine/core";
import { useState } from "react";

import type { Frames } from "../api";
import { PriceTag } from "../edit/PriceTag";
import { useStage } from "../edit/stage";
import { useOperate } from "../edit/useOperate";
import { percent, short } from "../format/numbers";
import styles from "./Waste.module.css";
import type { Suggestion } from "./waste";

interface Props {
  conversation: string;
  frames: Frames;
  suggestions: Suggestion[];
  onOpen: (id: string) => void;
}

export function Waste({ conversation, frames, suggestions, onOpen }: Props) {
  const { stage } = useOperate(conversation);
  const { operations } = useStage(conversation);
  const [priced, setPriced] = useState<string | null>(null);
  const staged = new Set(operations.map((operation) => JSON.stringify(operation)));
  const left = suggestions.filter(({ operation }) => !staged.has(JSON.stringify(operation)));
  const possible = suggestions.reduce((sum, { tokens }) => sum + tokens, 0);

  return (
    <section className={styles.waste} aria-label="Worth removing">
      <header className={styles.header}>
        <h3 className={styles.heading}>Worth removing</h3>
        {suggestions.length > 0 && (
          <span className={styles.possible}>
            {short(possible)} tokens, {percent(possible / Math.max(1, frames.tokens))} of the context; striped above
          </span>
        )}
        {left.length > 1 && (
          <Button size="compact-xs" variant="default" onClick={() => stage(...left.map(({ operation }) => operation))}>
            Stage all
          </Button>
        )}
      </header>
      {suggestions.length === 0 && (
        <p className={styles.none}>Nothing found: no large old results, outdated reads or unused tools.</p>
      )}
      <ul className={styles.list}>
        {suggestions.map(({ key, title, why, tokens, ids, operation }) => {
          const isStaged = staged.has(JSON.stringify(operation));
          return (
            <li key={key} className={styles.entry}>
              <UnstyledButton className={styles.words} onClick={() => onOpen(ids[0] ?? "")} title="Open it">
                <bdi className={styles.title}>{title}</bdi>
                <bdi className={styles.why}>{why}</bdi>
              </UnstyledButton>
              <UnstyledButton
                className={styles.saved}
                aria-expanded={priced === key}
                title="Savings and cost"
                onClick={() => setPriced(priced === key ? null : key)}
              >
                −{short(tokens)}
              </UnstyledButton>
              <Button
                size="compact-xs"
                variant={isStaged ? "subtle" : "default"}
                disabled={isStaged}
                aria-label={`Stage: ${title}`}
                onClick={() => stage(operation)}
              >
                {isStaged ? "Staged" : "Stage"}
              </Button>
              {priced === key && (
                <div className={styles.price}>
                  <PriceTag
                    conversation={conversation}
                    operations={[operation]}
                    head={frames.head ?? "none"}
                    calibrated={frames.calibrated}
                  />
                </div>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
