// A key as printed on the keyboard.

import { caps } from "./keys";
import styles from "./Caps.module.css";

const MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.userAgent);

export function Caps({ keys }: { keys: string }) {
  return (
    <span className={styles.caps}>
      {caps(keys, MAC).map((cap) => (
        <kbd key={cap} className={styles.cap}>
          {cap}
        </kbd>
      ))}
    </span>
  );
}
