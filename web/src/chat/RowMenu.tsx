// The context menu of a frame or step in the chat.

import { Menu } from "@mantine/core";

import { OperationItems } from "../edit/OperationMenu";
import styles from "./chat.module.css";

export interface MenuPlace {
  id: string;
  x: number;
  y: number;
}

export function RowMenu({ conversation, at, onClose }: { conversation: string; at: MenuPlace; onClose: () => void }) {
  return (
    <Menu opened onClose={onClose} position="bottom-start" offset={0} shadow="md" width={230} trapFocus>
      <Menu.Target>
        <button
          type="button"
          tabIndex={-1}
          aria-label={`Operations on ${at.id}`}
          className={styles.menuPlace}
          style={{ left: at.x, top: at.y }}
        />
      </Menu.Target>
      <Menu.Dropdown aria-label={`Operations on ${at.id}`}>
        <Menu.Label>{at.id}</Menu.Label>
        <OperationItems conversation={conversation} ids={[at.id]} />
      </Menu.Dropdown>
    </Menu>
  );
}
