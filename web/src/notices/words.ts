// Words for errors.

import { ApiError } from "../api";
import { forPage, type Words } from "./refusals";

/** The daemon's refusals are sentences already; the browser's exceptions are not. */
export function inWords(error: Error): Words {
  if (error instanceof ApiError) return forPage(error);
  if (error instanceof TypeError) {
    return {
      message: "The daemon does not respond.",
      hint: "Start it with `ctx up`. The page reconnects by itself.",
    };
  }
  return { message: error.message, hint: null };
}
