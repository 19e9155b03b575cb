// The fold states of a list, kept outside its rows, because a row that scrolls away loses its state.

import { createContext, type ReactNode, useContext, useState } from "react";

const Folds = createContext<Map<string, boolean> | null>(null);

export function RememberFolds({ children }: { children: ReactNode }) {
  const [folds] = useState(() => new Map<string, boolean>());
  return <Folds value={folds}>{children}</Folds>;
}

/** Like `useState` for a boolean; `name` identifies it in the list. */
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
