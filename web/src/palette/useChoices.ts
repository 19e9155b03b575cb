// All current choices of the palette.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { type Conversation, type SearchResults, type Frame, getFrames } from "../api";
import { folderName } from "../conversations/names";
import { around } from "../conversations/useSearch";
import { shownByDefault } from "../conversations/tree";
import { OPERATIONS } from "../edit/operations";
import { useSelection } from "../edit/selection";
import { inShort, targetsOf } from "../edit/targets";
import { useOperate } from "../edit/useOperate";
import { short } from "../format/numbers";
import type { Ways } from "../history/useWays";
import { tell } from "../notices/toasts";
import { framesKey } from "../queries";
import { go, useRoute } from "../route";
import type { Choice } from "./entries";
import { KEYS, shortcut } from "./keys";

interface Given {
  conversation: Conversation | undefined;
  conversations: Conversation[];
  ways: Ways;
  onKeys: () => void;
  onScheme: () => void;
}

export function useChoices({ conversation, conversations, ways, onKeys, onScheme }: Given): Choice[] {
  const id = conversation?.id ?? "";
  const { data: frames } = useQuery({
    queryKey: framesKey(id),
    queryFn: () => getFrames(id),
    enabled: conversation !== undefined,
  });
  const { operate } = useOperate(id);
  const selection = useSelection(id);
  const [{ open, view }] = useRoute();

  return useMemo(() => {
    const chosen = selection.length > 0 ? selection : open === null ? [] : [open];
    const targets = frames === undefined ? [] : targetsOf(chosen, frames);
    const operations: Choice[] =
      conversation === undefined
        ? []
        : OPERATIONS.map(({ name, label, words, key, free, refuses }): Choice => {
            const shared = { id: `do ${name}`, label, keys: KEYS[key].keys[0] };
            const why = refuses(targets);
            if (why !== null) {
              return {
                ...shared,
                group: "Not possible yet",
                detail: why,
                later: true,
                run: () => {
                  go({ view: "frames" });
                  tell(`${label}: ${why} Ctrl-click selects rows; then press ${shortcut(key)}.`);
                },
              };
            }
            return {
              ...shared,
              group: chosen.length === 0 ? "In this conversation" : `With ${inShort(chosen)}`,
              detail: words,
              words: name,
              run: () => {
                // Forms open at the frames they concern.
                if (free !== true && view !== "frames") go({ view: "frames" });
                operate(name, chosen);
              },
            };
          });
    const actions: Choice[] = [
      { ...named("undo"), run: () => void ways.undo() },
      { ...named("redo"), run: () => void ways.redo() },
      { ...named("scheme"), run: onScheme },
      { ...named("help"), run: onKeys },
    ];
    return [
      ...operations,
      ...(conversation === undefined ? [] : (["chat", "frames", "map", "history"] as const).map(place)),
      ...actions,
      ...(frames?.frames ?? []).map(frameChoice),
      ...conversations.filter(shownByDefault).map(conversationChoice),
    ];
  }, [conversation, conversations, frames, selection, open, view, operate, ways, onKeys, onScheme]);
}

function named(name: keyof typeof KEYS): Omit<Choice, "run"> {
  const { words, keys } = KEYS[name];
  return { id: name, group: "Anywhere", label: words, keys: keys[0] };
}

const place = (view: "chat" | "frames" | "map" | "history"): Choice => ({
  ...named(view),
  group: "Go to",
  run: () => go({ view }),
});

function frameChoice({ id, title, tokens, state }: Frame): Choice {
  return {
    id: `frame ${id}`,
    group: "Frames",
    label: `${id} ${title}`,
    detail: [`${short(tokens)} tokens`, ...state].join(" · "),
    run: () => go({ open: id }),
  };
}

function conversationChoice({ id, title, client, folder, model }: Conversation): Choice {
  return {
    id: `conversation ${id}`,
    group: "Conversations",
    label: title || "Untitled",
    detail: [id, folderName(folder)].filter(Boolean).join(" · "),
    words: [client, folder, model].filter(Boolean).join(" "),
    run: () => go({ conversation: id, open: null, at: null }),
  };
}

/** Full-text hits in all conversations. */
export function useHits(found: SearchResults | undefined, words: string): Choice[] {
  return useMemo(
    () =>
      (found?.conversations ?? []).flatMap(({ id, title, hits }) =>
        hits.map((hit) => ({
          id: `hit ${id} ${hit.id}`,
          group: "In the text",
          label: around(hit.snippet, words),
          mark: words,
          detail: `${hit.frame} of ${title}`,
          run: () => go({ conversation: id, view: "frames", open: hit.id, at: null }),
        })),
      ),
    [found, words],
  );
}
