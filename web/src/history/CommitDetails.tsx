// An opened commit: its operations with reasons, the actions on it with their effect, its diff.

import { ActionIcon, Button, CopyButton, Tooltip } from "@mantine/core";
import { CheckIcon, CopyIcon } from "@radix-ui/react-icons";
import { type ReactNode, useState } from "react";

import { ApiError, type Commit } from "../api";
import { count } from "../format/numbers";
import { Problem } from "../notices/Problem";
import { shortcut } from "../palette/keys";
import { go as goTo } from "../route";
import styles from "./CommitDetails.module.css";
import { branchOf, namedIn, said } from "./commits";
import { DiffView } from "./DiffView";
import { NameForm } from "./NameForm";
import { type Alike, alike, type Made, targetsOf, withWhat } from "./operations";
import type { Step, Ways } from "./useWays";
import { WayPrice } from "./WayPrice";

interface Props {
  conversation: string;
  commit: Commit;
  commits: Commit[];
  head: string | null;
  branch: string;
  ways: Ways;
  onOpenFrame: (frame: string) => void;
}

export function CommitDetails({ conversation, commit, commits, head, branch, ways, onOpenFrame }: Props) {
  const [naming, setNaming] = useState<"branch" | "tag" | null>(null);
  const [refused, setRefused] = useState<ApiError | null>(null);
  const [pondering, setPondering] = useState<Step | null>(null);
  const elsewhere = commit.here ? null : branchOf(commit, commits);

  const go = async (step: Step) => {
    setRefused(null);
    setPondering(null);
    try {
      await ways.go(step, false);
    } catch (error) {
      setRefused(error instanceof ApiError ? error : new ApiError(0, "unknown", String(error), null));
    }
  };
  const price = (step: Step) => ({
    onMouseEnter: () => setPondering(step),
    onFocus: () => setPondering(step),
    onMouseLeave: () => setPondering(null),
    onBlur: () => setPondering(null),
  });
  const revert: Step = { action: "revert", target: commit.id };
  const rollback: Step = { action: "rollback", target: commit.id };

  return (
    <div className={styles.details}>
      {commit.operations.length > 0 && (
        <ul className={styles.operations}>
          {alike(commit).map((group, index) => (
            <Operations key={index} group={group} onOpenFrame={onOpenFrame} />
          ))}
        </ul>
      )}
      <div className={styles.actions}>
        {commit.here && commit.active && (
          <Button
            size="compact-sm"
            variant="default"
            data-does="revert"
            onClick={() => void go(revert)}
            {...price(revert)}
          >
            Revert
          </Button>
        )}
        {commit.here && commit.id !== head && (
          <Button
            size="compact-sm"
            variant="default"
            data-does="rollback"
            onClick={() => void go(rollback)}
            {...price(rollback)}
          >
            Roll back to here
          </Button>
        )}
        {elsewhere !== null && (
          <Button size="compact-sm" variant="default" onClick={() => void go({ action: "checkout", name: elsewhere })}>
            Go to branch {elsewhere}
          </Button>
        )}
        <Tooltip label={`New branch of edits from this commit (${shortcut("branch")})`}>
          <Button size="compact-sm" variant="default" data-does="branch" onClick={() => setNaming("branch")}>
            Branch from here
          </Button>
        </Tooltip>
        <Tooltip label={`Name this commit (${shortcut("tag")})`}>
          <Button size="compact-sm" variant="default" data-does="tag" onClick={() => setNaming("tag")}>
            Tag
          </Button>
        </Tooltip>
        <Tooltip label="The frames as they were after this commit">
          <Button
            size="compact-sm"
            variant="subtle"
            color="gray"
            onClick={() => goTo({ view: "frames", at: commit.id, open: null })}
          >
            View frames at this commit
          </Button>
        </Tooltip>
        {commit.tags.map((name) => (
          <Button
            key={name}
            size="compact-sm"
            variant="subtle"
            color="gray"
            onClick={() => void go({ action: "remove_tag", name })}
          >
            Delete tag {name}
          </Button>
        ))}
        <CopyButton value={commit.id}>
          {({ copied, copy }) => (
            <Tooltip label={copied ? "Copied" : "Copy the id"}>
              <ActionIcon variant="subtle" color={copied ? "teal" : "gray"} onClick={copy} aria-label="Copy the id">
                {copied ? <CheckIcon /> : <CopyIcon />}
              </ActionIcon>
            </Tooltip>
          )}
        </CopyButton>
        {pondering !== null && <WayPrice conversation={conversation} head={head} step={pondering} />}
      </div>
      {naming !== null && (
        <NameForm
          label={naming === "branch" ? "Name of the new branch" : "Name of this commit"}
          onCancel={() => setNaming(null)}
          onName={(name) => {
            setNaming(null);
            void go({ action: naming, name, target: commit.id });
          }}
        />
      )}
      {refused !== null && (
        <Refused
          error={refused}
          commit={commit}
          commits={commits}
          onCascade={() => void go({ action: "revert", target: commit.id, cascade: true })}
        />
      )}
      <DiffView conversation={conversation} from={commit.parent ?? "source"} to={commit.id} onOpen={onOpenFrame} />
      {!commit.here && <p className={styles.elsewhere}>This commit is not on {branch}, the checked-out branch.</p>}
    </div>
  );
}

/** More operations are folded into one line: the automatic editor makes dozens. */
const FEW = 3;

function Operations({ group, onOpenFrame }: { group: Alike; onOpenFrame: Props["onOpenFrame"] }) {
  const { op, reason, operations } = group;
  const why = reason !== null && <span className={styles.reason}>because {reason}</span>;
  const line = (operation: Made, index: number, more: ReactNode) => (
    <li key={index}>
      <span className={styles.op}>{op}</span>
      {targetsOf(operation).map((id) => (
        <button key={id} type="button" className={styles.target} onClick={() => onOpenFrame(id)}>
          {id}
        </button>
      ))}
      <bdi className={styles.with}>{withWhat(operation)}</bdi>
      {more}
    </li>
  );
  if (operations.length <= FEW) return operations.map((operation, index) => line(operation, index, why));
  return (
    <li>
      <details>
        <summary>
          <span className={styles.op}>
            {count(operations.length)} × {op}
          </span>{" "}
          {why}
        </summary>
        <ul className={styles.operations}>{operations.map((operation, index) => line(operation, index, null))}</ul>
      </details>
    </li>
  );
}

interface RefusedProps {
  error: ApiError;
  commit: Commit;
  commits: Commit[];
  onCascade: () => void;
}

/** Lists the commits that depend on this one; they can be reverted with it. */
function Refused({ error, commit, commits, onCascade }: RefusedProps) {
  if (error.code !== "needed") return <Problem error={error} />;
  const names = namedIn(error.message)
    .filter((id) => id !== commit.id)
    .map((id) => `“${said(commits.find((other) => other.id === id)?.summary ?? id, commits)}”`);
  const more = /\d+ more/.exec(error.message)?.[0];
  return (
    <Problem
      error={
        new Error(`Later commits depend on this one: ${[...names, ...(more === undefined ? [] : [more])].join(", ")}.`)
      }
      action={{ label: "Revert them too", run: onCascade }}
    />
  );
}
