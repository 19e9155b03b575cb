// A tool call and its result as one line: tool, input, size of the result.

import { Badge } from "@mantine/core";

import type { Block } from "../api";
import { bytes, tokens } from "../format/numbers";
import { Inside } from "../messages/BlockView";
import { Fold } from "../messages/Fold";
import { callPath, callSummary, size } from "../messages/summaries";
import styles from "./chat.module.css";

interface Props {
  call: Block;
  result: Block | null;
  name: string;
  calibrated: boolean;
  pending: boolean;
}

export function CallView({ call, result, name, calibrated, pending }: Props) {
  const weight = `${tokens(call.tokens + (result?.tokens ?? 0), calibrated)} tokens`;
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
          <Labelled label="Call" block={call} name={`${name}/call`} path={null} />
          {result !== null && (
            <Labelled label={failed ? "Failed" : "Result"} block={result} name={`${name}/result`} path={callPath(call.raw)} />
          )}
        </>
      )}
    </Fold>
  );
}

interface LabelledProps {
  label: string;
  block: Block;
  name: string;
  path: string | null;
}

function Labelled({ label, ...inside }: LabelledProps) {
  return (
    <div>
      <div className={styles.label}>{label}</div>
      <Inside {...inside} />
    </div>
  );
}
