// The browser has no valid session: asks the user to open the daemon's link again.

import type { ApiError } from "../api";
import { SignIn } from "../team/SignIn";
import { Command } from "./Command";
import styles from "./notices.module.css";

/** The response of a team's daemon to a browser without a session. */
const NEEDS_KEY = ["key-needed", "key-wrong", "key-unchecked"];

export function Locked({ error }: { error: ApiError }) {
  if (NEEDS_KEY.includes(error.code)) return <SignIn />;
  return (
    <main className={styles.centre}>
      <h1 className={styles.heading}>This browser is not signed in</h1>
      <p>
        To sign in, run this command in a terminal and open the link that it prints:
      </p>
      <Command text="ctx ui" />
      <p className={styles.quiet}>The daemon responded: {error.message}</p>
    </main>
  );
}
