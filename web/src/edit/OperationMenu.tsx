// The operations as menu entries. Impossible ones give the reason.

import { Kbd, Menu } from "@mantine/core";
import { Fragment } from "react";

import { shortcut } from "../palette/keys";
import { useFrames } from "../queries";
import styles from "./OperationMenu.module.css";
import { OPERATIONS, type OperationEntry } from "./operations";
import { targetsOf } from "./targets";
import { useOperate } from "./useOperate";

const GROUPS: readonly OperationEntry["group"][] = ["less", "change", "order", "display"];

/** To be put into a `Menu.Dropdown`. */
export function OperationItems({ conversation, ids }: { conversation: string; ids: readonly string[] }) {
  const { data: frames } = useFrames(conversation);
  const { operate } = useOperate(conversation);
  const targets = frames === undefined ? [] : targetsOf(ids, frames);
  return GROUPS.map((group, index) => (
    <Fragment key={group}>
      {index > 0 && <Menu.Divider />}
      {OPERATIONS.filter((entry) => entry.group === group).map(({ name, label, words, key, refuses }) => {
        const why = refuses(targets);
        return (
          <Menu.Item
            key={name}
            disabled={why !== null}
            title={why ?? words}
            rightSection={<Kbd className={styles.kbd ?? ""}>{shortcut(key)}</Kbd>}
            onClick={() => operate(name, ids)}
          >
            {label}
          </Menu.Item>
        );
      })}
    </Fragment>
  ));
}
