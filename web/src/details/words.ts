// Asking the helper model for a title. A title changes nothing that is sent, so it is made a commit at once and can be
// undone; a preview would not ask the helper at all.

import { ApiError, type Applied, askHelper, getJob, type Job } from "../api";

/** How often a job is looked at. */
const EVERY = 400;

/** What came of it, or null if somebody stopped it. `report` is told how far it is. */
export async function askForTitle(
  conversation: string,
  frame: string,
  report: (job: Job) => void,
): Promise<Applied | null> {
  let job = await askHelper(conversation, { operations: [{ op: "retitle", id: frame, auto: true }] });
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
