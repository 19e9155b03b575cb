// One side of a row: the words of a step, fetched when it comes into sight.

import { Badge } from "@mantine/core";
import { useMemo } from "react";

import type { Commit, FrameContent } from "../api";
import { BlockView } from "../messages/BlockView";
import { GoneView } from "../messages/GoneView";
import { toolNames } from "../messages/summaries";
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
}

export function CellView({ conversation, cell, commits }: Props) {
  const { data, error } = useFrame(conversation, cell.chunk, cell.at);
  if (data === undefined && error === null) {
    return <div className={styles.waiting} style={{ height: cell.height }} aria-hidden />;
  }
  if (data === undefined) return <PartProblem error={error} />;
  return <Speeches content={data} cell={cell} commits={commits} />;
}

function Speeches({ content, cell, commits }: { content: FrameContent; cell: Cell; commits: Props["commits"] }) {
  const tools = useMemo(() => toolNames(content.messages), [content]);
  const said = useMemo(
    () => speeches(content.messages.filter(({ step }) => step === cell.step)),
    [content, cell.step],
  );
  const scope = `${cell.at ?? "sent"} ${cell.frame}/${cell.step} `;

  const draw = (item: Item) => {
    const name = scope + item.key;
    const { calibrated } = content;
    if (item.kind === "gone") {
      return <GoneView key={item.key} gone={item.gone} name={name} tools={tools} calibrated={calibrated} commits={commits} />;
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

  return said.map(({ key, role, made, items }) => (
    <div key={key} className={styles.speech} data-role={role} data-made={made || undefined}>
      {role !== "" && (
        <div className={styles.speaker}>
          <span className={styles.role}>{role === "tool" ? "tools" : role}</span>
          {made && <Badge color="orange">by an edit</Badge>}
          {items.some((item) => item.kind !== "gone" && item.pending) && <Badge color="teal">pending reply</Badge>}
        </div>
      )}
      <div className={styles.items}>{items.map(draw)}</div>
    </div>
  ));
}
