// All keys of the page.

import { Modal } from "@mantine/core";

import { Caps } from "./Caps";
import { GROUPS, type Key, KEYS } from "./keys";
import styles from "./KeysDialog.module.css";

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const keys: Key[] = Object.values(KEYS);
  return (
    <Modal
      opened
      onClose={onClose}
      title="Keys"
      size={860}
      lockScroll={false}
      transitionProps={{ duration: 0 }}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <div className={styles.groups}>
        {GROUPS.map((group) => (
          <section key={group} className={styles.group}>
            <h3 className={styles.heading}>{group}</h3>
            <dl className={styles.keys}>
              {keys
                .filter((key) => key.group === group)
                .map(({ words, keys: [first = "", ...others] }) => (
                  <div key={words} className={styles.key}>
                    <dt>{words}</dt>
                    <dd>
                      <Caps keys={first} />
                      {others.map((other) => (
                        <span key={other} className={styles.other}>
                          or <Caps keys={other} />
                        </span>
                      ))}
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  );
}
