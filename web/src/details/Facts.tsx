// Facts about the open item, and the commits that changed it; unfolded on request.

import { useState } from "react";

import type { Commit } from "../api";
import { ago, moment } from "../format/time";
import { useNow } from "../format/useNow";
import { Copy } from "../messages/Copy";
import { line } from "../messages/hidden";
import { go } from "../route";
import styles from "./details.module.css";
import type { Fact } from "./facts";

interface Props {
  few: Fact[];
  all: Fact[];
  /** Newest first. */
  commits: readonly Commit[];
}

export function Facts({ few, all, commits }: Props) {
  const [more, setMore] = useState(false);
  const now = useNow();
  return (
    <section className={styles.facts} aria-label="Facts">
      <dl>
        {(more ? all : few).map(({ name, value, copy }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <bdi>{line(value)}</bdi>
              {copy === true && <Copy text={() => value} label={`Copy ${name.toLowerCase()}`} />}
            </dd>
          </div>
        ))}
        {commits.length > 0 && (
          <div>
            <dt>Changed by</dt>
            <dd>
              <ul className={styles.commits}>
                {(more ? commits : commits.slice(0, 3)).map((commit) => (
                  <li key={commit.id}>
                    <button type="button" className={styles.link} onClick={() => go({ view: "history" })}>
                      {commit.id}
                    </button>{" "}
                    <bdi>{line(commit.summary)}</bdi>{" "}
                    <span className={styles.by} title={moment(commit.at)}>
                      {commit.author}, {ago(commit.at, now)}
                    </span>{" "}
                    <button
                      type="button"
                      className={styles.link}
                      aria-label={`The chat after ${commit.id}`}
                      onClick={() => go({ view: "chat", at: commit.id })}
                    >
                      chat at this commit
                    </button>
                  </li>
                ))}
                {!more && commits.length > 3 && <li>and {commits.length - 3} more</li>}
              </ul>
            </dd>
          </div>
        )}
      </dl>
      <button type="button" className={styles.link} aria-expanded={more} onClick={() => setMore(!more)}>
        {more ? "Fewer fields" : "All fields"}
      </button>
    </section>
  );
}
