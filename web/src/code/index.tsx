// Editors are large and seldom needed: they are fetched when the first one is shown.

import { Loader } from "@mantine/core";
import { lazy, Suspense } from "react";

import type { EditorProps } from "./Editor";
import type { MergeProps } from "./Merge";

const LazyEditor = lazy(() => import("./Editor"));
const LazyMerge = lazy(() => import("./Merge"));

export function Editor(props: EditorProps) {
  return (
    <Suspense fallback={<Loader size="sm" m="sm" aria-label="Loading" />}>
      <LazyEditor {...props} />
    </Suspense>
  );
}

export function Merge(props: MergeProps) {
  return (
    <Suspense fallback={<Loader size="sm" m="sm" aria-label="Loading" />}>
      <LazyMerge {...props} />
    </Suspense>
  );
}
