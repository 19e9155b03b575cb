// Full-text search over all conversations. An answer stays good for a while: what is typed back and forth is not asked
// again.

import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { search } from "../api";

const HITS = 40;

/** Nothing is asked without words. */
export function useSearch(words: string) {
  return useQuery({
    queryKey: ["search", words],
    queryFn: () => search(words, HITS),
    enabled: words !== "",
    placeholderData: keepPreviousData,
    staleTime: 20_000,
    retry: false,
  });
}

export interface Mark {
  text: string;
  hit: boolean;
}

/** A snippet cut at the words that were searched for, for marking them. Quotes make a phrase. */
export function marked(snippet: string, words: string): Mark[] {
  const wanted = [...words.matchAll(/"([^"]+)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? "").filter(Boolean);
  if (wanted.length === 0) return [{ text: snippet, hit: false }];
  const escaped = wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`(${escaped.join("|")})`, "gi");
  return snippet
    .split(pattern)
    .map((text, index) => ({ text, hit: index % 2 === 1 }))
    .filter(({ text }) => text !== "");
}
