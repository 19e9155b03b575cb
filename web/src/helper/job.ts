// Requests a text from the helper model and waits for it.

import { ApiError, type EditResult, askHelper, getJob, type Job, type Operation } from "../api";

/** The polling interval of a job. */
const EVERY = 400;

/**
 * The result, or null if the user stopped the job. With `make`, the text becomes a commit at once; otherwise nothing
 * changes. `report` receives the progress.
 */
export async function askFor(
  conversation: string,
  operations: Operation[],
  make: boolean,
  report: (job: Job) => void,
): Promise<EditResult | null> {
  let job = await askHelper(conversation, { operations }, !make);
  for (;;) {
    report(job);
    if (job.state !== "asking") return outcome(job);
    await new Promise((done) => setTimeout(done, EVERY));
    job = await getJob(job.job);
  }
}

export function outcome(job: Job): EditResult | null {
  if (job.state === "done" && job.applied != null) return job.applied;
  if (job.state === "cancelled") return null;
  const { code, message, hint } = job.error ?? {
    code: "helper-nonsense",
    message: "The helper model wrote no text.",
    hint: "Try again, or write the text yourself.",
  };
  throw new ApiError(422, code, message, hint);
}
