// A call of a tool and what came back, as one line: what was called with what, and how large the result is.

import { Badge } from "@mantine/core";

import type { Block } from "../api";
import { bytes, tokens } from "../format/numbers";
import { Content } from "../messages/BlockView";
import { BlockTools } from "../messages/BlockTools";
import blockStyles from "../messages/BlockView.module.css";
import { Fold } from "../messages/Fold";
import { callSummary, size } from "../messages/summaries";
import styles from "./chat.module.css";

interface Props {
  call: Block;
  result: Block | null;
  name: string;
  calibrated: boolean;
  pending: boolean;
}

export function CallView({ call, result, name, calibrated, pending }: Props) {
  const weight = tokens(call.tokens + (result?.tokens ?? 0), calibrated);
  const failed = result?.is_error ?? false;
  return (
    <Fold
      name={name}
      kind="tool_use"
      label={call.tool ?? "Call"}
      summary={callSummary(call.raw)}
      marks={
        <>
          {failed && <Badge color="red">failed</Badge>}
          {result?.replaced != null && <Badge color="orange">result replaced</Badge>}
          {result === null && !pending && <Badge color="gray">no result</Badge>}
        </>
      }
      sizes={[result === null ? "" : bytes(size(result.text)), weight]}
      error={failed}
    >
      {() => (
        <>
          <Labelled label="Call" block={call} />
          {result !== null && <Labelled label={failed ? "Failed" : "Result"} block={result} />}
        </>
      )}
    </Fold>
  );
}

function Labelled({ label, block }: { label: string; block: Block }) {
  return (
    <div>
      <div className={styles.label}>{label}</div>
      <div className={blockStyles.block}>
        <Content block={block} />
        <BlockTools block={block} />
      </div>
    </div>
  );
}
