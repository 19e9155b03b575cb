// Focuses the first field of a form as soon as it exists. Fields may appear later than the form; until then the form
// itself has the focus, so that keys reach nothing else.

import { type RefObject, useEffect } from "react";

const FIELD = "[data-autofocus], textarea, input:not([type=checkbox], [type=radio])";
const CONTROL = "input, select, button";
const isUsable = (element: HTMLElement) => !element.matches(":disabled") && element.offsetParent !== null;

/** The first field, otherwise the first control; never a submit button, which a space in a text would press. */
function firstOf(form: HTMLFormElement): HTMLElement | null {
  const find = (selector: string) => [...form.querySelectorAll<HTMLElement>(selector)].find(isUsable) ?? null;
  return find(FIELD) ?? find(`[data-fields] :is(${CONTROL})`);
}

export function useFormFocus(form: RefObject<HTMLFormElement | null>): void {
  useEffect(() => {
    const inside = form.current;
    if (inside === null) return;
    /** The element focused here; once a person moves the focus, it is left alone. */
    let given: Element | null = inside;
    inside.focus({ preventScroll: true });

    const give = () => {
      const { activeElement } = document;
      if (activeElement !== given && activeElement !== document.body) return stop();
      const next = firstOf(inside);
      if (next === null) return;
      given = next;
      if (next !== activeElement) next.focus({ preventScroll: true });
      if (next.matches(FIELD)) stop();
    };
    const watch = new MutationObserver(give);
    const stop = () => {
      watch.disconnect();
      window.removeEventListener("pointerdown", stop);
    };
    watch.observe(inside, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] });
    window.addEventListener("pointerdown", stop);
    give();
    return stop;
  }, [form]);
}

/** Scrolls a new form, or one with new fields, into view, until the user scrolls. */
export function useInSight(form: RefObject<HTMLFormElement | null>): void {
  useEffect(() => {
    const inside = form.current;
    if (inside === null) return;
    const watch = new ResizeObserver(() => inside.scrollIntoView({ block: "nearest" }));
    const stop = () => watch.disconnect();
    watch.observe(inside);
    window.addEventListener("wheel", stop, { once: true, passive: true });
    return () => {
      stop();
      window.removeEventListener("wheel", stop);
    };
  }, [form]);
}
