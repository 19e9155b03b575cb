// Nothing has come through yet: how to make it so, with the exact commands.

import { Command } from "./Command";
import styles from "./notices.module.css";

export function FirstSteps() {
  return (
    <div className={styles.centre}>
      <h2 className={styles.heading}>No conversation yet</h2>
      <p>Start your agent through the proxy, and everything it sends to the model appears here:</p>
      <Command text="ctx run -- claude" />
      <p>Or point any client of the Anthropic API at it:</p>
      <Command text={`ANTHROPIC_BASE_URL=${window.location.origin} claude`} />
    </div>
  );
}
