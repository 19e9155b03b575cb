// Shown before the first request: the exact commands that connect an agent.

import { Command } from "./Command";
import styles from "./notices.module.css";

export function FirstSteps() {
  return (
    <div className={styles.centre}>
      <h2 className={styles.heading}>No conversation yet</h2>
      <p>Start your agent through ctx; everything it sends to the model appears here:</p>
      <Command text="ctx run -- claude" />
      <p>Or set it up to always use ctx:</p>
      <Command text="ctx install claude-code" />
      <p>Or point any client of the Anthropic API to ctx:</p>
      <Command text={`ANTHROPIC_BASE_URL=${window.location.origin} claude`} />
      <p className={styles.quiet}>
        The conversation appears with its first request, without a reload.
      </p>
    </div>
  );
}
