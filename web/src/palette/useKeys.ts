// Dispatches key presses. Parts register handlers for keys of the table; the newest part is asked first, so that a
// dialog or a list hears a key before the page behind it. While a form is open, single keys are text and reach no other
// part.

import { useEffect, useLayoutEffect, useRef } from "react";

import { heardWhileTyping, isText, keyNamed, type KeyName } from "./keys";

/** `false` says "not now": the next part that knows the key is asked. */
export type KeyHandler = (event: KeyboardEvent) => void | boolean;
export type KeyMap = { readonly [name in KeyName]?: KeyHandler | undefined };

const registered: { current: KeyMap }[] = [];

/** Forms that are open. */
let forms = 0;

/** Keeps single keys from the rest of the page while the component, a form, is mounted. */
export function useHoldsKeys(): void {
  useLayoutEffect(() => {
    forms += 1;
    return () => void (forms -= 1);
  }, []);
}

/** Handles the keys of `map` while the component is mounted. The map may change with every render. */
export function useKeys(map: KeyMap, enabled = true): void {
  const latest = useRef(map);
  useEffect(() => {
    latest.current = map;
  });
  useEffect(() => {
    if (!enabled) return;
    if (registered.length === 0) window.addEventListener("keydown", hear);
    registered.push(latest);
    return () => {
      registered.splice(registered.indexOf(latest), 1);
      if (registered.length === 0) window.removeEventListener("keydown", hear);
    };
  }, [enabled]);
}

function hear(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const name = keyNamed(event);
  if (name === null || !mayHear(event, name)) return;
  if (forms > 0 && isText(event)) return;
  for (let index = registered.length - 1; index >= 0; index -= 1) {
    const handler = registered[index]?.current[name];
    if (handler !== undefined && handler(event) !== false) {
      event.preventDefault();
      return;
    }
  }
}

const EDITOR = "[contenteditable]:not([contenteditable=false]), [role=textbox]:not(input, textarea)";
const FIELD = "input:not([type=checkbox], [type=radio], [type=button]), textarea, select";
const ITSELF = "button, a[href], summary, [role=button], [role=tab], [role=switch], input";
const CLOSED = "[role=dialog], [role=menu], [role=listbox]";

/** A key belongs to the field that has the focus, to an open dialog or menu, and Enter and Space to a focused button. */
function mayHear({ target, key }: KeyboardEvent, name: KeyName): boolean {
  if (!(target instanceof Element)) return true;
  if (target.closest(EDITOR) !== null) return name === "commit";
  if (target.closest(FIELD) !== null) return heardWhileTyping(name);
  if (target.closest(CLOSED) !== null) return heardWhileTyping(name);
  return !((key === "Enter" || key === " ") && !heardWhileTyping(name) && target.closest(ITSELF) !== null);
}
