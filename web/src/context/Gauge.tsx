// The gauge of the model's window above a conversation. Opened, it shows preserved and clearable content and savings,
// and clears.

import { Badge, Popover, UnstyledButton } from "@mantine/core";
import { ChevronDownIcon } from "@radix-ui/react-icons";
import { useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";

import type { ContextFill, Frames } from "../api";
import { tokens } from "../format/numbers";
import { useNow } from "../format/useNow";
import { contextKey, useStatus } from "../queries";
import { ClearNow } from "./ClearNow";
import styles from "./context.module.css";
import { useContextFill } from "./useContextFill";
import { clearable, facts, filled, parts, STANDINGS } from "./words";

interface Props {
  conversation: string;
  frames: Frames;
  /** A past state has only its composition. */
  past: boolean;
}

export function Gauge({ conversation, frames, past }: Props) {
  const { data: fill } = useContextFill(conversation, !past);
  const queries = useQueryClient();
  const [opened, setOpened] = useState(false);
  const name = useId();
  if (past || fill === undefined) {
    return (
      <div className={styles.gauge}>
        <Figures frames={frames} />
      </div>
    );
  }
  const change = (open: boolean) => {
    // Settings can change without an event.
    if (open) void queries.invalidateQueries({ queryKey: contextKey(conversation) });
    setOpened(open);
  };
  return (
    <Popover opened={opened} onChange={change} position="bottom-end" shadow="md" width={380} trapFocus returnFocus>
      <Popover.Target>
        <UnstyledButton className={styles.gauge} data-gauge={fill.status} onClick={() => change(!opened)}>
          <Figures frames={frames} fill={fill} />
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown className={styles.dropdown ?? ""} aria-labelledby={name}>
        <h3 id={name}>Context usage</h3>
        <About fill={fill} calibrated={frames.calibrated} />
        <ClearNow conversation={conversation} tokens={clearable(fill)} onDone={() => change(false)} />
      </Popover.Dropdown>
    </Popover>
  );
}

function Figures({ frames, fill }: { frames: Frames; fill?: ContextFill }) {
  const { window, calibrated } = frames;
  // The frames do not reflect what the provider itself clears.
  const used = fill?.provider_edits === true ? fill.tokens : frames.tokens;
  const standing = fill === undefined ? undefined : STANDINGS[fill.status];
  return (
    <>
      <span className={styles.first}>
        {standing !== undefined && <Badge color={standing.color}>{standing.label}</Badge>}
        <strong>{tokens(used, calibrated)}</strong>
      </span>
      <span>
        {window === null ? "tokens" : `of ${tokens(window, true)} tokens · ${filled(used, window)}`}
        {fill !== undefined && fill.mode !== "off" && <span className={styles.mode}> · auto {fill.mode}</span>}
        {fill !== undefined && <ChevronDownIcon className={styles.chevron} aria-hidden />}
      </span>
    </>
  );
}

function About({ fill, calibrated }: { fill: ContextFill; calibrated: boolean }) {
  const now = useNow();
  const { data: status } = useStatus();
  const { threshold, ...shares } = parts(fill);
  return (
    <>
      <div className={styles.track} data-status={fill.status} aria-hidden>
        {Object.entries(shares).map(([part, share]) => (
          <span key={part} data-part={part} style={{ flexGrow: share }} title={part} />
        ))}
        <i className={styles.threshold} style={{ left: `${threshold * 100}%` }} />
      </div>
      <dl className={styles.facts}>
        {facts(fill, calibrated, now, status?.week).map(({ name, value, part, list = [] }) => (
          <div key={name}>
            <dt data-part={part}>{name}</dt>
            <dd>
              {value}
              {list.length > 0 && (
                <ul>
                  {list.map((line) => (
                    <li key={line}>{line}</li>
                  ))}
                </ul>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
