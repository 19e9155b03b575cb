// The cost of the conversation, the savings by edits, and the cache misses with their causes.

import { UnstyledButton } from "@mantine/core";

import { count, dollars, percent, short } from "../format/numbers";
import { clock, moment } from "../format/time";
import styles from "./Money.module.css";
import { missesOf, type Misses, type Spending } from "./money";

interface Props {
  spent: Spending;
  misses: Misses;
  onOpen: (id: string) => void;
}

const AT_MOST = 6;

export function Money({ spent, misses, onOpen }: Props) {
  const missed = missesOf(misses);
  const hidden = missed.length - AT_MOST + misses.more;
  return (
    <section className={styles.money} aria-label="Costs and cache">
      <header className={styles.header}>
        <h3 className={styles.heading}>Costs and cache</h3>
        <Sums spent={spent} misses={misses} />
      </header>
      {missed.length === 0 ? (
        <p className={styles.none}>No cache misses.</p>
      ) : (
        <ul className={styles.list}>
          {missed.slice(0, AT_MOST).map(({ request, at, tokens, words, place }) => (
            <li key={request} className={styles.entry}>
              <time title={moment(at)}>{clock(at)}</time>
              <span>
                {words}
                {place !== null && (
                  <>
                    {" "}
                    <UnstyledButton className={styles.place} onClick={() => onOpen(place)}>
                      Open {place}
                    </UnstyledButton>
                  </>
                )}
              </span>
              <span className={styles.tokens} title={`${count(tokens)} tokens, with request ${request}`}>
                {short(tokens)} tokens read again
              </span>
            </li>
          ))}
          {hidden > 0 && <li className={styles.more}>{count(hidden)} more; the history lists all</li>}
        </ul>
      )}
    </section>
  );
}

function Sums({ spent, misses: { foreseen, came_true } }: Omit<Props, "onOpen">) {
  const { cost, saved, removed, unpriced, nearest, requests } = spent;
  const about = nearest > 0 ? "≈" : "";
  const isPriced = requests > unpriced;
  return (
    <dl className={styles.sums}>
      {isPriced && (
        <div title={nearest > 0 ? "At list prices; for unknown models, those of the nearest model" : "At list prices"}>
          <dt>cost</dt>
          <dd>
            {about}
            {dollars(cost)}
          </dd>
        </div>
      )}
      {removed !== 0 && (
        <div data-tone={removed < 0 ? "warn" : "good"} title="All requests together, because of edits">
          <dt>{removed < 0 ? "sent additionally" : "not sent"}</dt>
          <dd>{short(Math.abs(removed))} tokens</dd>
        </div>
      )}
      {removed !== 0 && isPriced && (
        <div
          data-tone={saved < 0 ? "warn" : "good"}
          title="The cost of the same requests without edits, minus the actual cost"
        >
          <dt>{saved < 0 ? "cost of edits so far" : "saved by edits"}</dt>
          <dd>
            {about}
            {dollars(Math.abs(saved))}
          </dd>
        </div>
      )}
      {foreseen > 0 && (
        <div title={`The cache forecast was right for ${count(came_true)} of ${count(foreseen)} requests`}>
          <dt>forecast accuracy</dt>
          <dd>{percent(came_true / foreseen)}</dd>
        </div>
      )}
    </dl>
  );
}
