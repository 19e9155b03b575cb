// The browser has no valid cookie: the one thing to do is to come back with the daemon's own link.

import type { ApiError } from "../api";
import { Command } from "./Command";
import styles from "./notices.module.css";

export function Locked({ error }: { error: ApiError }) {
  return (
    <main className={styles.centre}>
      <h1 className={styles.heading}>This browser has no key yet</h1>
      <p>
        The page shows your conversations, so the daemon lets in only who can read its token. Ask it for a link and open
        that:
      </p>
      <Command text="ctx ui" />
      <p className={styles.quiet}>The daemon said: {error.message}</p>
    </main>
  );
}
