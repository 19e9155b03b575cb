// A frame's row and, unfolded, the rows of its steps.

import { Badge, Tooltip } from "@mantine/core";
import { ChevronRightIcon, DrawingPinFilledIcon } from "@radix-ui/react-icons";

import type { Frame, Step } from "../api";
import { count, percent, plural, tokens } from "../format/numbers";
import styles from "./FrameList.module.css";
import { barLengths, share } from "./shares";

interface Props {
  frame: Frame;
  total: number;
  calibrated: boolean;
  length: number;
  unfolded: boolean;
  open: string | null;
  onUnfold: () => void;
  onOpen: (id: string) => void;
}

export function FrameRow({ frame, total, calibrated, length, unfolded, open, onUnfold, onOpen }: Props) {
  const steps = frame.step_list ?? [];
  const stepLengths = barLengths(steps.map(({ tokens }) => tokens));
  return (
    <li className={styles.frame}>
      <div className={styles.row} data-open={open === frame.id || undefined}>
        {steps.length > 0 ? (
          <button
            type="button"
            className={styles.unfold}
            aria-expanded={unfolded}
            aria-label={`Steps of ${frame.id}`}
            onClick={onUnfold}
          >
            <ChevronRightIcon />
          </button>
        ) : (
          <span />
        )}
        <button type="button" className={styles.cells} onClick={() => onOpen(frame.id)}>
          <span className={styles.id} data-kind={frame.kind}>
            {frame.id}
          </span>
          <span className={styles.title}>
            {frame.pinned && <DrawingPinFilledIcon aria-label="pinned" />}
            <bdi>{frame.title || "Untitled"}</bdi>
            {frame.pending && (
              <Tooltip label="The reply is known from the response only; the client has not sent it back yet">
                <Badge color="teal" leftSection={<span className={styles.breathing} />}>
                  pending reply
                </Badge>
              </Tooltip>
            )}
            {frame.state.map((state) => (
              <Badge key={state} color="orange">
                {state}
              </Badge>
            ))}
          </span>
          <span className={styles.number} title={plural(frame.messages, "message")}>
            {frame.steps > 0 ? frame.steps : ""}
          </span>
          <Weight value={frame.tokens} source={frame.source_tokens} calibrated={calibrated} />
          <Bar kind={frame.kind} length={length} share={share(frame.tokens, total)} />
        </button>
      </div>
      {unfolded && (
        <ul className={styles.steps}>
          {steps.map((step, index) => (
            <StepRow
              key={step.id}
              step={step}
              total={total}
              calibrated={calibrated}
              length={stepLengths[index] ?? 0}
              open={open === step.id}
              onOpen={() => onOpen(step.id)}
            />
          ))}
        </ul>
      )}
    </li>
  );
}

interface StepProps {
  step: Step;
  total: number;
  calibrated: boolean;
  length: number;
  open: boolean;
  onOpen: () => void;
}

function StepRow({ step, total, calibrated, length, open, onOpen }: StepProps) {
  return (
    <li className={styles.row} data-open={open || undefined}>
      <span />
      <button type="button" className={styles.cells} onClick={onOpen}>
        <span className={styles.id}>{step.id}</span>
        <span className={styles.title}>
          <bdi>{step.title || step.tools.join(", ") || "Reply"}</bdi>
        </span>
        <span className={styles.number} />
        <Weight value={step.tokens} source={step.tokens} calibrated={calibrated} />
        <Bar kind="step" length={length} share={share(step.tokens, total)} />
      </button>
    </li>
  );
}

function Weight({ value, source, calibrated }: { value: number; source: number; calibrated: boolean }) {
  const edited = source !== value ? `, ${count(source)} before edits` : "";
  return (
    <span className={styles.number} title={`${count(value)} tokens${edited}`}>
      {tokens(value, calibrated)}
    </span>
  );
}

function Bar({ kind, length, share }: { kind: string; length: number; share: number }) {
  return (
    <span className={styles.share}>
      <span className={styles.track}>
        <span className={styles.bar} data-kind={kind} style={{ width: `${length * 100}%` }} />
      </span>
      <span className={styles.percent}>{percent(share)}</span>
    </span>
  );
}
