// The selected version of the chat, remembered between visits.

import { useState } from "react";

import type { Mode } from "./rows";

const KEY = "ctx.chat.mode";

export function useMode(): [Mode, (mode: Mode) => void] {
  const [mode, setMode] = useState<Mode>(read);
  return [
    mode,
    (next) => {
      setMode(next);
      try {
        localStorage.setItem(KEY, next);
      } catch {
        // Only the remembered mode is lost.
      }
    },
  ];
}

function read(): Mode {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "agent" || kept === "both" ? kept : "sent";
  } catch {
    return "sent";
  }
}
