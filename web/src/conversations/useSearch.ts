// Full-text search over all conversations. Results are cached for a while, so that typing back and forth sends no
// further requests.

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

/** The most hits fetched for one conversation. */
const ALL = 500;

/** Every hit in one conversation, on request. */
export function useAllHits(words: string, conversation: string, enabled: boolean) {
  return useQuery({
    queryKey: ["search", words, conversation],
    queryFn: async () => (await search(words, ALL, conversation)).conversations[0]?.hits ?? [],
    enabled,
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
  const pattern = patternOf(words);
  if (pattern === null) return [{ text: snippet, hit: false }];
  return snippet
    .split(pattern)
    .map((text, index) => ({ text, hit: index % 2 === 1 }))
    .filter(({ text }) => text !== "");
}

/** A snippet that begins shortly before the first hit, so that a narrow line shows it. */
export function around(snippet: string, words: string, before = 24): string {
  const pattern = patternOf(words);
  const at = pattern === null ? -1 : snippet.search(pattern);
  if (at <= before) return snippet;
  const from = snippet.lastIndexOf(" ", at - before / 2) + 1;
  return `…${snippet.slice(from > at - before ? from : at - before)}`;
}

function patternOf(words: string): RegExp | null {
  const wanted = [...words.matchAll(/"([^"]+)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? "").filter(Boolean);
  if (wanted.length === 0) return null;
  const escaped = wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`(${escaped.join("|")})`, "gi");
}
