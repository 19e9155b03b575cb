// Errors in words a person understands.

import { ApiError } from "../api";

export interface Words {
  message: string;
  hint: string | null;
}

/** The daemon's refusals are in words already; what the browser throws is not. */
export function inWords(error: Error): Words {
  if (error instanceof ApiError) return { message: error.message, hint: error.hint };
  if (error instanceof TypeError) {
    return {
      message: "The daemon does not answer.",
      hint: "Start it with `ctx up`. This page goes on by itself once it is back.",
    };
  }
  return { message: error.message, hint: null };
}
