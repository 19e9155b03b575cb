// What is folded and what is not, remembered beside the list: a row that is scrolled away is forgotten with all its
// state, and should come back as it was left.

import { createContext, type ReactNode, useContext, useState } from "react";

const Folds = createContext<Map<string, boolean> | null>(null);

export function RememberFolds({ children }: { children: ReactNode }) {
  const [folds] = useState(() => new Map<string, boolean>());
  return <Folds value={folds}>{children}</Folds>;
}

/** Like `useState` for "open or not"; `name` tells it from all others in the list. */
export function useFold(name: string, initially: boolean): [boolean, (open: boolean) => void] {
  const folds = useContext(Folds);
  const [open, setOpen] = useState(() => folds?.get(name) ?? initially);
  return [
    open,
    (next) => {
      folds?.set(name, next);
      setOpen(next);
    },
  ];
}
