// One commit: effect, author, savings. Opened, it shows diff and actions.

import { Badge, Tooltip, UnstyledButton } from "@mantine/core";
import { ChevronDownIcon, ChevronRightIcon } from "@radix-ui/react-icons";

import type { Commit } from "../api";
import { short } from "../format/numbers";
import { clock, moment } from "../format/time";
import { CommitDetails } from "./CommitDetails";
import styles from "./CommitRow.module.css";
import { isOff, said } from "./commits";
import type { Ways } from "./useWays";

interface Props {
  conversation: string;
  commit: Commit;
  commits: Commit[];
  head: string | null;
  branch: string;
  open: boolean;
  ways: Ways;
  onToggle: () => void;
  onOpenFrame: (frame: string) => void;
}

export function CommitRow({ commit, commits, head, open, onToggle, ...rest }: Props) {
  const off = isOff(commit, commits);
  const saved = commit.tokens_before - commit.tokens_after;
  return (
    <div className={styles.commit} data-off={off || undefined} data-elsewhere={!commit.here || undefined}>
      <UnstyledButton
        className={styles.line}
        aria-expanded={open}
        data-row={commit.id}
        data-commit={commit.id}
        onClick={onToggle}
      >
        <time className={styles.time} title={moment(commit.at)}>
          {clock(commit.at)}
        </time>
        <span className={styles.what}>
          <bdi className={styles.summary}>{said(commit.summary, commits)}</bdi>
          {commit.id === head && <Badge color="blue">now</Badge>}
          {commit.branches.map((name) => (
            <Badge key={name} color="indigo">
              {name}
            </Badge>
          ))}
          {commit.tags.map((name) => (
            <Badge key={name} color="teal">
              {name}
            </Badge>
          ))}
          {commit.author === "policy" && (
            <Tooltip label="Made by automatic editing">
              <Badge color="grape">policy</Badge>
            </Tooltip>
          )}
          {off && <Badge color="gray">reverted</Badge>}
          {commit.here && commit.active && commit.asleep && (
            <Tooltip label="The edited content left the conversation; the edit applies again if it returns">
              <Badge color="gray">asleep</Badge>
            </Tooltip>
          )}
          {commit.source_changed && (
            <Tooltip label="The agent has rewritten the edited content">
              <Badge color="orange">source changed</Badge>
            </Tooltip>
          )}
          {commit.note !== null && <span className={styles.note}>{commit.note}</span>}
        </span>
        <span className={styles.author}>{commit.author}</span>
        <span className={styles.saved} data-saved={saved > 0 ? "less" : saved < 0 ? "more" : undefined}>
          {saved === 0 ? "" : `${saved > 0 ? "−" : "+"}${short(Math.abs(saved))}`}
        </span>
        <span className={styles.id}>{commit.id}</span>
        {open ? <ChevronDownIcon aria-hidden /> : <ChevronRightIcon aria-hidden />}
      </UnstyledButton>
      {open && <CommitDetails commit={commit} commits={commits} head={head} {...rest} />}
    </div>
  );
}
