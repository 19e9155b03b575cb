// What the conversation has cost, what edits have saved of it, and what the provider's cache missed, with the cause.

import { UnstyledButton } from "@mantine/core";

import { count, dollars, percent, short } from "../format/numbers";
import { clock, moment } from "../format/time";
import styles from "./Money.module.css";
import { missesOf, type Misses, type Spent } from "./money";

interface Props {
  spent: Spent;
  misses: Misses;
  onOpen: (id: string) => void;
}

const AT_MOST = 6;

export function Money({ spent, misses, onOpen }: Props) {
  const missed = missesOf(misses);
  const hidden = missed.length - AT_MOST + misses.more;
  return (
    <section className={styles.money} aria-label="Money and the cache">
      <header className={styles.header}>
        <h3 className={styles.heading}>Money and the cache</h3>
        <Sums spent={spent} misses={misses} />
      </header>
      {missed.length === 0 ? (
        <p className={styles.none}>The provider had everything in its cache that it could have had there.</p>
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
          {hidden > 0 && <li className={styles.more}>{count(hidden)} more before that; the history has them all</li>}
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
        <div title={nearest > 0 ? "At list prices; for some requests those of the nearest model" : "At list prices"}>
          <dt>cost</dt>
          <dd>
            {about}
            {dollars(cost)}
          </dd>
        </div>
      )}
      {removed !== 0 && (
        <div data-tone={removed < 0 ? "warn" : "good"} title="Of all requests together, because of edits">
          <dt>{removed < 0 ? "sent in addition" : "not sent"}</dt>
          <dd>{short(Math.abs(removed))} tokens</dd>
        </div>
      )}
      {removed !== 0 && isPriced && (
        <div
          data-tone={saved < 0 ? "warn" : "good"}
          title="What the same requests would have cost unedited, less what they did cost"
        >
          <dt>{saved < 0 ? "edits have cost so far" : "edits have saved"}</dt>
          <dd>
            {about}
            {dollars(Math.abs(saved))}
          </dd>
        </div>
      )}
      {foreseen > 0 && (
        <div title={`Of ${count(came_true)} of ${count(foreseen)} requests as much was read from the cache as was foreseen`}>
          <dt>cache as foreseen</dt>
          <dd>{percent(came_true / foreseen)}</dd>
        </div>
      )}
    </dl>
  );
}
