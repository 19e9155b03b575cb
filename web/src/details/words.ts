// Asking the helper model for a title or a summary. Both change nothing that is sent, so they are made a commit at once
// and can be undone.

import { ApiError, type Applied, askHelper, getJob, type Job, type Operation } from "../api";

export type Words = "title" | "summary";

/** How often a job is looked at. */
const EVERY = 400;

/** What came of it, or null if somebody stopped it. `report` is told how far it is, `commit` makes a commit. */
export async function askFor(
  words: Words,
  conversation: string,
  frame: string,
  report: (job: Job) => void,
  commit: (operations: Operation[]) => Promise<Applied>,
): Promise<Applied | null> {
  if (words === "title") return ended(conversation, [{ op: "retitle", id: frame, auto: true }], false, report);
  // A frame's summary is what would stand in its place, were it compacted. It is not.
  const found = await ended(conversation, [{ op: "compact", ids: [frame] }], true, report);
  const summary = found?.written?.[0]?.text;
  return summary === undefined ? null : commit([{ op: "retitle", id: frame, summary }]);
}

async function ended(
  conversation: string,
  operations: Operation[],
  dryRun: boolean,
  report: (job: Job) => void,
): Promise<Applied | null> {
  let job = await askHelper(conversation, { operations }, dryRun);
  for (;;) {
    report(job);
    if (job.state !== "asking") return outcome(job);
    await new Promise((done) => setTimeout(done, EVERY));
    job = await getJob(job.job);
  }
}

export function outcome(job: Job): Applied | null {
  if (job.state === "done" && job.applied != null) return job.applied;
  if (job.state === "cancelled") return null;
  const { code, message, hint } = job.error ?? {
    code: "helper-nonsense",
    message: "The helper found no words.",
    hint: "Try again, or write them yourself.",
  };
  throw new ApiError(422, code, message, hint);
}
