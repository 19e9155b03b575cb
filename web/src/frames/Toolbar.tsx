// The bar above the rows: selecting by rule, the selection and its operations, the column heads.

import { ActionIcon, Button, Menu, Tooltip } from "@mantine/core";
import { ChevronRightIcon, Cross2Icon, DotsHorizontalIcon, PlusIcon } from "@radix-ui/react-icons";
import type { ReactNode } from "react";

import type { Frames, OperationName } from "../api";
import { entryOf } from "../edit/operations";
import { OperationItems } from "../edit/OperationMenu";
import { select } from "../edit/selection";
import { targetsOf } from "../edit/targets";
import { useOperate } from "../edit/useOperate";
import { plural, tokens } from "../format/numbers";
import { shortcut } from "../palette/keys";
import styles from "./frames.module.css";
import { RuleMenu } from "./RuleMenu";

interface Props {
  conversation: string;
  frames: Frames;
  /** The targets of an operation: the selection, otherwise the row of the cursor. */
  targets: readonly string[];
  chosen: readonly string[];
  allUnfolded: boolean;
  onUnfoldAll: (all: boolean) => void;
  onChoose: (ids: readonly string[]) => void;
  past: boolean;
  /** Between the operations and the names of the columns. */
  children?: ReactNode;
}

const BUTTONS: readonly OperationName[] = ["delete", "compact", "offload", "drop-results", "edit", "move", "split"];

export function Toolbar({ conversation, frames, targets, chosen, allUnfolded, onUnfoldAll, onChoose, past, children }: Props) {
  const { operate } = useOperate(conversation);
  const found = targetsOf(targets, frames);
  const weight = found.reduce((sum, { tokens }) => sum + tokens, 0);
  const unfold = allUnfolded ? "Fold all steps" : "Unfold all steps";
  return (
    <div className={styles.toolbar}>
      <div className={styles.tools} role="toolbar" aria-label="Operations">
        <RuleMenu frames={frames} onChoose={onChoose} />
        {chosen.length > 0 ? (
          <span className={styles.chosen} role="status">
            {plural(chosen.length, "row")} · {tokens(weight, frames.calibrated)} tokens
            <ActionIcon
              size={18}
              variant="subtle"
              color="gray"
              aria-label="Deselect all"
              onClick={() => select(conversation, [])}
            >
              <Cross2Icon width={12} height={12} />
            </ActionIcon>
          </span>
        ) : (
          <span className={styles.tip}>
            Click to open, Ctrl- or Shift-click to select, right-click for operations
          </span>
        )}
        <span className={styles.gap} />
        {chosen.length > 0 &&
          !past &&
          BUTTONS.map((name) => {
            const { label, words, key, refuses } = entryOf(name);
            const why = refuses(found);
            if (why !== null) return null;
            return (
              <Tooltip key={name} label={`${words} (${shortcut(key)})`}>
                <Button
                  className={styles.button ?? ""}
                  size="compact-xs"
                  variant="default"
                  onClick={() => operate(name, targets)}
                >
                  {label}
                </Button>
              </Tooltip>
            );
          })}
        {past ? null : chosen.length > 0 ? (
          <Menu position="bottom-end" shadow="md" width={230} withinPortal>
            <Menu.Target>
              <ActionIcon size={22} variant="default" aria-label="All operations">
                <DotsHorizontalIcon />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown aria-label="All operations">
              <OperationItems conversation={conversation} ids={targets} />
            </Menu.Dropdown>
          </Menu>
        ) : (
          <Button
            size="compact-xs"
            variant="default"
            leftSection={<PlusIcon width={12} height={12} />}
            onClick={() => operate("add", targets)}
          >
            Add
          </Button>
        )}
      </div>
      {children}
      <div className={styles.head}>
        <span />
        <Tooltip label={unfold}>
          <button
            type="button"
            className={styles.unfold}
            aria-label={unfold}
            aria-expanded={allUnfolded}
            onClick={() => onUnfoldAll(!allUnfolded)}
          >
            <ChevronRightIcon />
          </button>
        </Tooltip>
        <span>Frame</span>
        <span>Title</span>
        <span className={styles.steps}>Steps</span>
        <Tooltip label="Estimates, calibrated by the provider’s counts" disabled={frames.calibrated}>
          <span className={styles.weight}>Tokens</span>
        </Tooltip>
        <span
          className={styles.share}
          title="Size relative to the largest frame; for steps, to the largest step of the frame."
        >
          Share
        </span>
      </div>
    </div>
  );
}
