// Fields of drop-results and summarize-results: the results, and the texts that replace them.

import { Button, Checkbox, Loader, Textarea } from "@mantine/core";
import { useEffect, useState } from "react";

import { short } from "../../format/numbers";
import { AskHelper } from "../../helper/AskHelper";
import styles from "../edit.module.css";
import type { FieldsProps } from "../OperationForm";
import { resultsOf } from "./contents";
import { useContents } from "./useContents";
import { useWords } from "./useWords";

export function ResultsFields({ conversation, draft, set, prefill }: FieldsProps) {
  const summarize = draft.name === "summarize-results";
  const contents = useContents(conversation, draft.targets);
  const words = useWords(conversation, { op: "summarize-results", ids: draft.targets }, summarize);
  const [wanted, setWanted] = useState<string | null | undefined>();
  const all = resultsOf(contents.data);
  const { results, words: written = {} } = draft.values;
  // The first summary is unfolded until another one is.
  const reading = wanted === undefined ? (results?.[0] ?? null) : wanted;
  const found = words.data;

  // Everything is meant at first; when summaries are wanted, everything that has one that is shorter.
  useEffect(() => {
    if (results !== undefined || !contents.ready) return;
    const every = all.map(({ id }) => id);
    if (!summarize) prefill({ results: every, every });
    else if (found !== undefined) {
      prefill({
        results: found.map(({ of }) => of),
        words: Object.fromEntries(found.map(({ of, text }) => [of, text])),
      });
    }
  }, [results, contents.ready, summarize, found, all, prefill]);

  if (!contents.ready || (summarize && words.isPending)) return <Loader size="sm" aria-label="Loading" />;
  if (all.length === 0) return <p className={styles.hint}>No tool result here is still sent.</p>;

  const chosen = new Set(results ?? []);
  const choose = (ids: string[], on: boolean) => {
    const next = new Set(chosen);
    for (const id of ids) {
      if (on) next.add(id);
      else next.delete(id);
    }
    set({ results: all.map(({ id }) => id).filter((id) => next.has(id)) });
  };
  const tools = [...new Set(all.map(({ tool }) => tool))];

  return (
    <div className={styles.fields}>
      <div className={styles.row}>
        <Checkbox
          size="xs"
          label={`${chosen.size} of ${all.length}`}
          checked={chosen.size === all.length}
          indeterminate={chosen.size > 0 && chosen.size < all.length}
          onChange={({ currentTarget }) =>
            choose(
              all.map(({ id }) => id),
              currentTarget.checked,
            )
          }
        />
        {tools.length > 1 &&
          tools.map((tool) => {
            const ids = all.filter((result) => result.tool === tool).map(({ id }) => id);
            return (
              <Button
                key={tool}
                size="compact-xs"
                variant={ids.every((id) => chosen.has(id)) ? "light" : "default"}
                onClick={() => set({ results: ids })}
              >
                only {tool} ({ids.length})
              </Button>
            );
          })}
        {summarize && chosen.size > 0 && (
          <AskHelper
            conversation={conversation}
            operations={[{ op: "summarize-results", ids: [...chosen] }]}
            stopWhenGone
            onDone={(applied) => {
              const words = (applied.written ?? []).map(({ of, text }) => [of, text] as const);
              set({ words: { ...written, ...Object.fromEntries(words) } });
            }}
          />
        )}
      </div>
      <ul className={styles.list}>
        {all.map(({ id, tool, line, tokens, failed, replaced }) => (
          <li key={id} className={summarize && reading === id ? styles.result : undefined}>
            <label className={styles.item}>
              <Checkbox
                size="xs"
                aria-label={`Result ${id}`}
                checked={chosen.has(id)}
                onChange={({ currentTarget }) => choose([id], currentTarget.checked)}
              />
              <span className={styles.id}>{id}</span>
              <span className={styles.size}>{failed ? `${tool} failed` : tool}</span>
              <bdi>{line}</bdi>
              {replaced && <span className={styles.size}>already shortened</span>}
              <span className={styles.size}>{short(tokens)}</span>
              {summarize && chosen.has(id) && (
                <Button
                  size="compact-xs"
                  variant="subtle"
                  aria-expanded={reading === id}
                  onClick={() => setWanted(reading === id ? null : id)}
                >
                  Words
                </Button>
              )}
            </label>
            {summarize && reading === id && (
              <Textarea
                className={styles.text ?? ""}
                aria-label={`Summary of ${id}`}
                value={written[id] ?? ""}
                onChange={({ currentTarget }) => set({ words: { ...written, [id]: currentTarget.value } })}
                autosize
                minRows={2}
                maxRows={10}
                size="xs"
              />
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
