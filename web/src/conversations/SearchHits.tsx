// Where words occur in the text of all conversations; a hit leads to its place.

import { Loader } from "@mantine/core";

import type { Hit } from "../api";
import { plural } from "../format/numbers";
import { inWords } from "../notices/words";
import styles from "./SearchHits.module.css";
import { marked, useSearch } from "./useSearch";

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
  const matches = found?.conversations.reduce((sum, { matches: of }) => sum + of, 0) ?? 0;
  return (
    <section className={styles.hits} aria-label="In the text">
      <h3 className={styles.heading} role="status">
        {error !== null
          ? inWords(error).message
          : found === undefined
            ? "Searching the text…"
            : `In the text: ${found.more ? "more than " : ""}${plural(matches, "place")}`}
        {isFetching && <Loader size={10} aria-label="Searching" />}
      </h3>
      {found?.conversations.map((conversation) => (
        <div key={conversation.id} className={styles.conversation}>
          <bdi className={styles.title}>{conversation.title || "Untitled"}</bdi>
          <ul className={styles.list}>
            {conversation.hits.map((hit) => (
              <li key={hit.id}>
                <button type="button" className={styles.hit} onClick={() => onOpen(conversation.id, hit.id)}>
                  <span className={styles.where}>
                    <span className={styles.id}>{hit.frame}</span> {about(hit)}
                    {!hit.sent && <span className={styles.gone}>no longer sent</span>}
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
        </div>
      ))}
    </section>
  );
}

function about({ role, kind, tool }: Hit): string {
  const what = KINDS[kind] ?? kind;
  if (tool !== null) return `${what} ${tool}`;
  return kind === "text" || kind === "thinking" ? `${role} ${what}` : what;
}
