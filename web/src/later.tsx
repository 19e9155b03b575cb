// Loads a component's code when it is first drawn. React's own `lazy` does that too, but delays the drawing by 300 ms
// after it has shown a fallback, even if the code arrives sooner.

import { type ComponentType, createElement, type ReactNode, useEffect, useState } from "react";

import { ApiError } from "./api";
import { Problem } from "./notices/Problem";

/** `fetched`: its code is loaded, so it is drawn at once. */
export type Later<Props> = ComponentType<Props> & { fetched: () => Promise<void> };

export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  meanwhile: ReactNode = null,
): Later<Props> {
  let found: ComponentType<Props> | null = null;
  const fetched = async () => {
    found ??= await load();
  };
  function Drawn(props: Props) {
    const [isHere, setHere] = useState(found !== null);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (!isHere) fetched().then(() => setHere(true), () => setFailed(true));
    }, [isHere]);
    if (failed) return <NotFetched />;
    return found === null ? meanwhile : createElement(found, props);
  }
  return Object.assign(Drawn, { fetched });
}

/** A newer daemon has other files than this page expects. */
function NotFetched() {
  const error = new ApiError(404, "not-fetched", "This part of the page could not be loaded.", "The daemon may have been updated.");
  return <Problem error={error} action={{ label: "Reload the page", run: () => window.location.reload() }} />;
}
