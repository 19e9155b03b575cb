// One side of a row: the content of a step, fetched when it becomes visible.

import { Badge } from "@mantine/core";
import { useMemo } from "react";

import type { Commit, FrameContent } from "../api";
import { tokens } from "../format/numbers";
import { BlockView } from "../messages/BlockView";
import { messagesOfStep } from "../messages/chunks";
import { goneWord, GoneView } from "../messages/GoneView";
import type { Gone } from "../messages/sent";
import { toolCalls } from "../messages/summaries";
import { PartProblem } from "../notices/Problem";
import { useFrame } from "../queries";
import { CallView } from "./CallView";
import styles from "./chat.module.css";
import { type Item, speeches } from "./items";
import type { Cell } from "./rows";

interface Props {
  conversation: string;
  cell: Cell;
  commits: ReadonlyMap<string, Commit>;
  /** The other side shows the removed content. */
  brief: boolean;
}

export function CellView({ conversation, cell, commits, brief }: Props) {
  const { data, error } = useFrame(conversation, cell.chunk, cell.at);
  if (data === undefined && error === null) {
    return <div className={styles.waiting} style={{ height: cell.height }} aria-hidden />;
  }
  if (data === undefined) return <PartProblem error={error} />;
  return <Speeches content={data} cell={cell} commits={commits} brief={brief} />;
}

function Speeches({ content, cell, commits, brief }: Omit<Props, "conversation"> & { content: FrameContent }) {
  const tools = useMemo(() => toolCalls(content.messages), [content]);
  const said = useMemo(
    () => speeches(messagesOfStep(content.messages, cell.step)),
    [content, cell.step],
  );
  const scope = `${cell.at ?? "sent"} ${cell.frame}/${cell.step} `;

  const draw = (item: Item) => {
    const name = scope + item.key;
    const { calibrated } = content;
    if (item.kind === "gone") {
      if (brief) return <BriefGone key={item.key} gone={item.gone} commits={commits} calibrated={calibrated} />;
      const { key, gone } = item;
      return <GoneView key={key} gone={gone} name={name} tools={tools} calibrated={calibrated} commits={commits} />;
    }
    if (item.kind === "call") {
      return (
        <CallView
          key={item.key}
          call={item.call}
          result={item.result}
          name={name}
          calibrated={calibrated}
          pending={item.pending}
        />
      );
    }
    return <BlockView key={item.key} block={item.block} tools={tools} calibrated={calibrated} scope={scope} />;
  };

  return said.map(({ key, role, made, items }, index) => (
    <div key={key} className={styles.speech} data-role={role} data-made={made || undefined}>
      {/* From the second step on it is clear who goes on. */}
      {role !== "" && (cell.step < 2 || index > 0 || role !== "assistant" || made || items.some(isPending)) && (
        <div className={styles.speaker}>
          <span className={styles.role}>{role === "tool" ? "tools" : role}</span>
          {made && <Badge color="orange">by an edit</Badge>}
          {items.some(isPending) && <Badge color="teal">pending reply</Badge>}
        </div>
      )}
      <div className={styles.items}>{items.map(draw)}</div>
    </div>
  ));
}

function isPending(item: Item): boolean {
  return item.kind !== "gone" && item.pending;
}

function BriefGone({ gone, commits, calibrated }: { gone: Gone; commits: Props["commits"]; calibrated: boolean }) {
  const commit = gone.by === null ? undefined : commits.get(gone.by);
  return (
    <div className={styles.brief} title={gone.rule ?? commit?.summary}>
      {goneWord(commit, gone.rule !== null)}
      <span className={styles.weight} title="Tokens no longer sent">−{tokens(gone.tokens, calibrated)} tokens</span>
    </div>
  );
}
