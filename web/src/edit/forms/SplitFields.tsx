// Fields of split: the messages, with a mark wherever a cut is possible.

import { Button, Loader } from "@mantine/core";
import { Fragment } from "react";

import { short } from "../../format/numbers";
import { useFrame } from "../../queries";
import styles from "../edit.module.css";
import type { FieldsProps } from "../OperationForm";
import { cutsOf, firstLine, numberOf, stepCutsOf } from "./contents";

export function SplitFields({ conversation, draft, set }: FieldsProps) {
  const id = draft.targets[0] ?? "";
  const { data: content } = useFrame(conversation, id);
  if (content?.id !== id) return <Loader size="sm" aria-label="Loading" />;

  const possible = cutsOf(content.messages);
  const cuts = draft.values.cuts ?? [];
  const toggle = (at: number) => set({ cuts: cuts.includes(at) ? cuts.filter((cut) => cut !== at) : [...cuts, at] });

  return (
    <div className={styles.fields}>
      <div className={styles.row}>
        <p className={styles.hint}>
          {possible.size === 0
            ? "This frame cannot be split: a call and its result stay together."
            : "Click between two messages to split there. A call and its result stay together."}
        </p>
        <Button size="compact-xs" variant="default" onClick={() => set({ cuts: stepCutsOf(content.messages) })}>
          At every step
        </Button>
        {cuts.length > 0 && (
          <Button size="compact-xs" variant="subtle" color="gray" onClick={() => set({ cuts: [] })}>
            Clear splits
          </Button>
        )}
      </div>
      <div className={styles.list}>
        {content.messages.map((message) => {
          const at = numberOf(message);
          const cut = cuts.includes(at);
          const block = message.blocks.find(({ kind }) => kind !== "thinking") ?? message.blocks[0];
          return (
            <Fragment key={message.id}>
              {possible.has(at) && (
                <button
                  type="button"
                  className={styles.gap}
                  aria-pressed={cut}
                  aria-label={`Split before message ${at}`}
                  onClick={() => toggle(at)}
                >
                  <span>{cut ? "cut" : "split here"}</span>
                </button>
              )}
              <div className={styles.item}>
                <span className={styles.id}>#{at}</span>
                <span className={styles.size}>{message.role}</span>
                <bdi>
                  {block?.kind === "tool_use" ? `${block.tool ?? "tool"} ` : ""}
                  {firstLine(block?.text ?? "", 140)}
                </bdi>
                <span className={styles.size}>{short(message.tokens)}</span>
              </div>
            </Fragment>
          );
        })}
      </div>
    </div>
  );
}
