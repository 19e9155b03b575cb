// Asking the helper model for words: which question to ask, and what of the answer to use. Nothing is changed by it;
// the words are put into the field, and whoever asked decides.

import { ApiError, askHelper, getJob, type Job, type Operation } from "../api";

export type Wanted = "title" | "summary";

/** How often a job is looked at. */
const EVERY = 400;
const TITLE = 80;

export class Cancelled extends Error {}

/** The words, once they are found. `report` tells how far it is; `cancelled` is asked before every look. */
export async function askForWords(
  conversation: string,
  frame: string,
  wanted: Wanted,
  report: (job: Job) => void,
): Promise<string> {
  try {
    const words = await asked(conversation, question(frame, wanted), report);
    return wanted === "title" ? asTitle(words) : words;
  } catch (error) {
    // A title that somebody gave stays unless it is given by hand, which this is for: the summary makes one too.
    if (wanted === "title" && error instanceof ApiError && error.code === "titled") {
      return asTitle(await asked(conversation, question(frame, "summary"), report));
    }
    throw error;
  }
}

function question(frame: string, wanted: Wanted): Operation {
  return wanted === "title" ? { op: "retitle", id: frame, auto: true } : { op: "compact", ids: [frame] };
}

async function asked(conversation: string, operation: Operation, report: (job: Job) => void): Promise<string> {
  let job = await askHelper(conversation, { operations: [operation] }, true);
  for (;;) {
    report(job);
    if (job.state !== "asking") return outcome(job);
    await new Promise((done) => setTimeout(done, EVERY));
    job = await getJob(job.job);
  }
}

export function outcome(job: Job): string {
  const words = job.applied?.written?.[0]?.text.trim() ?? "";
  if (job.state === "done" && words !== "") return words;
  if (job.state === "cancelled") throw new Cancelled();
  const { code, message, hint } = job.error ?? {
    code: "helper-nonsense",
    message: "The helper found no words.",
    hint: "Try again, or write them yourself.",
  };
  throw new ApiError(422, code, message, hint);
}

/** One line, without marks around it, short enough for a list. */
export function asTitle(words: string): string {
  const line = words
    .split("\n")
    .map((one) => one.replace(/^[#>*\-\s"']+|["'*\s]+$/g, ""))
    .find((one) => one !== "");
  const sentence = (line ?? "").split(/(?<=[.!?])\s/, 1)[0] ?? "";
  return sentence.length > TITLE ? `${sentence.slice(0, TITLE - 1).trimEnd()}…` : sentence.replace(/\.$/, "");
}
