// Nothing has come through yet: how to make it so, with the exact commands.

import { Command } from "./Command";
import styles from "./notices.module.css";

export function FirstSteps() {
  return (
    <div className={styles.centre}>
      <h2 className={styles.heading}>No conversation yet</h2>
      <p>Start your agent through the proxy, and everything it sends to the model appears here:</p>
      <Command text="ctx run -- claude" />
      <p>Or let it always speak through the proxy:</p>
      <Command text="ctx install claude-code" />
      <p>Or point any client of the Anthropic API at it:</p>
      <Command text={`ANTHROPIC_BASE_URL=${window.location.origin} claude`} />
      <p className={styles.quiet}>
        This page shows it as soon as the first request has passed. Nothing needs a reload.
      </p>
    </div>
  );
}
