// The price of operations: tokens saved per turn, tokens re-read once, money, break-even, thinking lost.

import { Loader, Tooltip } from "@mantine/core";

import { ApiError, type Operation, type PlanView, type When } from "../api";
import { targetsOf as namedIn } from "../history/operations";
import { WithCode } from "../notices/Problem";
import { forTray } from "../notices/refusals";
import { inWords } from "../notices/words";
import { entryOf } from "./operations";
import { figures, warnings } from "./price";
import styles from "./PriceTag.module.css";
import { isNothing, isStale, usePrice } from "./usePrice";

interface Props {
  conversation: string;
  operations: readonly Operation[];
  /** The head that they were made against. */
  head: string | null;
  calibrated?: boolean;
  /** Only the figures. */
  brief?: boolean;
  /** The condition of a deferred edit. */
  when?: When;
}

export function PriceTag({ conversation, operations, head, calibrated = true, brief = false, when = "now" }: Props) {
  const { data, error, isFetching } = usePrice(conversation, operations, head);
  if (operations.length === 0) return null;
  // A stale head is explained by the component that shows the tag, with a way out.
  if (error !== null) return isStale(error) ? null : isNothing(error) && operations.length === 1 ? <Nothing /> : <Refused error={error} operations={operations} />;
  if (data === undefined) {
    return (
      <span className={styles.tag} role="status">
        <Loader size={12} /> Calculating the price…
      </span>
    );
  }
  return <Priced plan={data} calibrated={calibrated} busy={isFetching} brief={brief} when={when} />;
}

interface PricedProps {
  plan: PlanView;
  calibrated: boolean;
  busy?: boolean;
  brief?: boolean;
  when?: When;
}

export function Priced({ plan, calibrated, busy = false, brief = false, when = "now" }: PricedProps) {
  const warned = brief ? [] : warnings(plan);
  return (
    <div className={styles.price} data-busy={busy || undefined} data-testid="price">
      <span className={styles.tag} role="status" aria-label="Price">
        {figures(plan, calibrated, when, brief).map(({ text, tone, tip }) => (
          <Tooltip key={text} label={tip}>
            <span className={styles.figure} data-tone={tone}>
              {text}
            </span>
          </Tooltip>
        ))}
      </span>
      {warned.length > 0 && (
        <ul className={styles.warnings}>
          {warned.slice(0, 4).map(({ level, text }) => (
            <li key={text} data-level={level}>
              <WithCode text={text} />
            </li>
          ))}
          {warned.length > 4 && <li>and {warned.length - 4} more</li>}
        </ul>
      )}
    </div>
  );
}

function Nothing() {
  return <span className={styles.tag}>This has no effect.</span>;
}

/** The reason why operations cannot be applied; in the tray, also which ones conflict. */
export function Refused({ error, operations }: { error: Error; operations: readonly Operation[] }) {
  const staged = operations.map((operation) => ({ label: entryOf(operation.op).label, frames: namedIn(operation) }));
  const { message, hint } = error instanceof ApiError && staged.length > 1 ? forTray(error, staged) : inWords(error);
  return (
    <p className={styles.refused} role="alert">
      <WithCode text={message} />
      {hint !== null && (
        <span>
          {" "}
          <WithCode text={hint} />
        </span>
      )}
    </p>
  );
}
