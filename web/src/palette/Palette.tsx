// The global keys and the two dialogs they open. They act on the selected conversation, if there is one.

import { useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useState } from "react";

import type { Conversation } from "../api";
import { asTree, shownByDefault } from "../conversations/tree";
import { useWays } from "../history/useWays";
import { later } from "../later";
import { go, type View } from "../route";
import { useKeys } from "./useKeys";
import { closePalette, openPalette, usePalette } from "./open";

const PaletteDialog = later(async () => (await import("./PaletteDialog")).PaletteDialog);
// Fetched before it is opened for the first time, but after all that the first view needs.
setTimeout(() => void PaletteDialog.fetched(), 2000);
const KeysDialog = later(async () => (await import("./KeysDialog")).KeysDialog);

interface Props {
  conversation: Conversation | undefined;
  conversations: Conversation[];
}

export function Palette({ conversation, conversations }: Props) {
  const asked = usePalette();
  const [keysShown, setKeysShown] = useState(false);
  const ways = useWays(conversation?.id ?? null);
  const switchScheme = useSchemeSwitch();

  const show = (view: View) => () => go({ view });
  const neighbour = (by: number) => () => {
    const order = asTree(conversations.filter(shownByDefault)).map((entry) => entry.conversation.id);
    const at = order.indexOf(conversation?.id ?? "");
    const next = order[Math.max(0, Math.min(order.length - 1, at + by))];
    if (next !== undefined) go({ conversation: next, open: null, at: null });
  };
  useKeys({
    palette: () => openPalette(),
    help: () => setKeysShown(true),
    search: () => {
      const field = document.querySelector<HTMLInputElement>("[data-search]");
      if (field === null) openPalette();
      else field.focus();
    },
    undo: () => void ways.undo(),
    redo: () => void ways.redo(),
    chat: show("chat"),
    frames: show("frames"),
    map: show("map"),
    history: show("history"),
    previousConversation: neighbour(-1),
    nextConversation: neighbour(1),
    scheme: switchScheme,
  });

  return (
    <>
      {asked !== null && (
        <PaletteDialog
          conversation={conversation}
          conversations={conversations}
          ways={ways}
          query={asked}
          onQuery={openPalette}
          onKeys={() => setKeysShown(true)}
          onScheme={switchScheme}
          onClose={closePalette}
        />
      )}
      {keysShown && <KeysDialog onClose={() => setKeysShown(false)} />}
    </>
  );
}

function useSchemeSwitch(): () => void {
  // Keeping transitions avoids the style element that would disable them.
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const dark = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark";
  return () => setColorScheme(dark ? "light" : "dark");
}
