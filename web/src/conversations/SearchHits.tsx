// Hits of the full-text search; each opens its place.

import { Button, Loader } from "@mantine/core";
import { useState } from "react";

import type { ConversationHits, Hit } from "../api";
import type { LeftReason } from "../api/more";
import { count, plural } from "../format/numbers";
import { LEFT_WORDS } from "../frames/useLeftFrames";
import { inWords } from "../notices/words";
import styles from "./SearchHits.module.css";
import { marked, useAllHits, useSearch } from "./useSearch";

interface Props {
  words: string;
  onOpen: (conversation: string, id: string) => void;
}

const KINDS: Record<string, string> = {
  text: "says",
  thinking: "thinks",
  tool_use: "calls",
  tool_result: "result of",
  reminder: "reminder",
  system: "system prompt",
  tool: "tool",
};

export function SearchHits({ words, onOpen }: Props) {
  const { data: found, error, isFetching } = useSearch(words);
  const total = (of: (one: ConversationHits) => number) => found?.conversations.reduce((sum, one) => sum + of(one), 0) ?? 0;
  const [matches, shown] = [total((one) => one.matches), total((one) => one.hits.length)];
  return (
    <section className={styles.hits} aria-label="In the text">
      <h3 className={styles.heading} role="status">
        {error !== null
          ? inWords(error).message
          : found === undefined
            ? "Searching the text…"
            : `In the text: ${found.more ? "more than " : ""}${plural(matches, "place")}${shown < matches ? `, ${shown} shown` : ""}`}
        {isFetching && <Loader size={10} aria-label="Searching" />}
      </h3>
      {found?.conversations.map((conversation) => (
        <InConversation key={`${words} ${conversation.id}`} found={conversation} words={words} onOpen={onOpen} />
      ))}
    </section>
  );
}

/** The hits in one conversation: the first few, all on request. */
function InConversation({ found, words, onOpen }: Props & { found: ConversationHits }) {
  const [wantsAll, setWantsAll] = useState(false);
  const { data: all, isFetching } = useAllHits(words, found.id, wantsAll);
  const hits = all ?? found.hits;
  return (
    <div className={styles.conversation}>
      <bdi className={styles.title}>{found.title || "Untitled"}</bdi>
      <ul className={styles.list}>
        {hits.map((hit) => (
          <li key={hit.id}>
            <button type="button" className={styles.hit} onClick={() => onOpen(found.id, hit.id)}>
              <span className={styles.where}>
                <span className={styles.id}>{hit.frame}</span> {about(hit)}
                {!hit.sent && <span className={styles.gone}>{goneWords(hit)}</span>}
              </span>
              <bdi className={styles.snippet}>
                {marked(hit.snippet, words).map(({ text, hit: here }, index) =>
                  here ? <mark key={index}>{text}</mark> : text,
                )}
              </bdi>
            </button>
          </li>
        ))}
      </ul>
      {hits.length < found.matches && (
        <Button size="compact-xs" variant="subtle" loading={isFetching} onClick={() => setWantsAll(true)}>
          Show all {count(found.matches)}
        </Button>
      )}
    </div>
  );
}

/** Why a hit is not sent: an edit took it out, or the agent left it behind. */
function goneWords(hit: Hit & { left?: LeftReason | null }): string {
  return hit.left == null ? "no longer sent" : LEFT_WORDS[hit.left];
}

function about({ role, kind, tool }: Hit): string {
  const what = KINDS[kind] ?? kind;
  if (tool !== null) return `${what} ${tool}`;
  return kind === "text" || kind === "thinking" ? `${role} ${what}` : what;
}
