// Loads the editors, which are large and rarely needed, with the first one shown.

import { Loader } from "@mantine/core";

import { later } from "../later";
import type { EditorProps } from "./Editor";
import type { MergeProps } from "./Merge";

const LOADING = <Loader size="sm" m="sm" aria-label="Loading" />;

export const Editor = later<EditorProps>(async () => (await import("./Editor")).default, LOADING);
export const Merge = later<MergeProps>(async () => (await import("./Merge")).default, LOADING);
