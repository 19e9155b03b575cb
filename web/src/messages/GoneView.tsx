// A place of removed content: its kind, the savings, the commit; unfolded, the content itself.

import type { Commit } from "../api";
import { plural, tokens } from "../format/numbers";
import { WithCode } from "../notices/Problem";
import { BlockView } from "./BlockView";
import { Fold } from "./Fold";
import styles from "./MessageView.module.css";
import type { Gone } from "./sent";
import { firstLine, type ToolCalls } from "./summaries";

interface Props {
  gone: Gone;
  name: string;
  tools: ToolCalls;
  calibrated: boolean;
  commits: ReadonlyMap<string, Commit>;
}

export function GoneView({ gone, name, tools, calibrated, commits }: Props) {
  const first = gone.messages[0]?.blocks[0];
  const blocks = gone.messages.reduce((sum, { blocks }) => sum + blocks.length, 0);
  const howMuch = gone.messages.length > 1 ? plural(gone.messages.length, "message") : plural(blocks, "block");
  const commit = gone.by === null ? undefined : commits.get(gone.by);
  return (
    <Fold
      name={`${name}/gone`}
      kind="gone"
      label={goneWord(commit, gone.rule !== null)}
      summary={gone.rule ?? `${howMuch}: ${firstLine(first?.text ?? "")}`}
      sizes={[gone.by ?? "", `−${tokens(gone.tokens, calibrated)} tokens`].filter((size) => size !== "")}
    >
      {() => (
        <>
          {gone.rule !== null && (
            <p className={styles.empty}>
              <WithCode text={gone.rule} />
            </p>
          )}
          {gone.messages.map((message, index) => (
            <div key={index} className={styles.gone}>
              <span className={styles.role}>{message.role}</span>
              {message.blocks.map((block) => (
                <BlockView key={block.id} block={block} tools={tools} calibrated={calibrated} scope={`${name}/gone/`} />
              ))}
            </div>
          ))}
        </>
      )}
    </Fold>
  );
}

const WORDS: Record<string, string> = {
  delete: "Deleted",
  edit: "Replaced",
  compact: "Compacted",
  offload: "Offloaded",
  combine: "Combined",
  "drop-results": "Dropped",
  "summarize-results": "Summarized",
};

/** The operation, if the commit has only one kind. */
export function goneWord(commit: Commit | undefined, byRule: boolean): string {
  if (byRule) return "Not sent: the provider would refuse it";
  const kinds = new Set(commit?.operations.map(({ op }) => WORDS[op]).filter((word) => word !== undefined));
  const [only] = kinds;
  return kinds.size === 1 && only !== undefined ? only : "Removed";
}
