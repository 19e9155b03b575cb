// Several ordinary requests as one line that opens into them.

import { UnstyledButton } from "@mantine/core";
import { ChevronDownIcon, ChevronRightIcon } from "@radix-ui/react-icons";

import type { Usage } from "../api";
import { dollars, plural, short } from "../format/numbers";
import { clock, moment } from "../format/time";
import type { Exchange } from "./exchanges";
import { ExchangeRow, Reading } from "./ExchangeRow";
import styles from "./RunRow.module.css";

interface Props {
  conversation: string;
  exchanges: Exchange[];
  open: boolean;
  onToggle: () => void;
}

export function RunRow({ conversation, exchanges, open, onToggle }: Props) {
  const usage = together(exchanges);
  const at = exchanges[0]?.at ?? 0;
  const nearest = exchanges.some(({ answer }) => answer?.priced_as != null);
  const money = exchanges.reduce((sum, { answer }) => sum + (answer?.money ?? 0), 0);
  const added = exchanges.reduce((sum, { request }) => sum + (request?.new ?? 0), 0);
  return (
    <div className={styles.run}>
      <UnstyledButton className={styles.line} aria-expanded={open} onClick={onToggle} data-row="run">
        <time className={styles.time} title={moment(at)}>
          {clock(at)}
        </time>
        <span className={styles.what}>
          {plural(exchanges.length, "request")}
          <span className={styles.quiet}>{numbersOf(exchanges)}</span>
          <span className={styles.quiet}>+{plural(added, "message")}</span>
        </span>
        <Reading usage={usage} />
        <span className={styles.quiet}>
          {short(usage.output)} out{money > 0 && ` · ${nearest ? "≈" : ""}${dollars(money)}`}
        </span>
        {open ? <ChevronDownIcon aria-hidden /> : <ChevronRightIcon aria-hidden />}
      </UnstyledButton>
      {open && (
        <ol className={styles.inner}>
          {exchanges.map((exchange) => (
            <li key={exchange.seq}>
              <ExchangeRow conversation={conversation} exchange={exchange} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

/** "r3 … r9": the first and the last of them. */
function numbersOf(exchanges: Exchange[]): string {
  const numbers = exchanges.flatMap(({ request, answer }) => request?.request ?? answer?.request ?? []);
  return numbers.length === 0 ? "" : `r${Math.min(...numbers)} … r${Math.max(...numbers)}`;
}

function together(exchanges: Exchange[]): Usage {
  const sum: Usage = { input: 0, cache_read: 0, cache_write: 0, output: 0 };
  for (const { answer } of exchanges) {
    sum.input += answer?.usage?.input ?? 0;
    sum.cache_read += answer?.usage?.cache_read ?? 0;
    sum.cache_write += answer?.usage?.cache_write ?? 0;
    sum.output += answer?.usage?.output ?? 0;
  }
  return sum;
}
