// Remarks about an edit, as `ctx` prints them below a commit.

import type { EditResult, Schemas } from "../api";
import { plural } from "../format/numbers";
import { withoutCommands } from "./refusals";

export interface Remark {
  text: string;
  /** An unintended loss. */
  isWarning: boolean;
}

/** Warnings first. */
export function remarksOf(applied: EditResult): Remark[] {
  const { preview, problem, remarks = [], warnings = [], written = [], files, waiting } = applied;
  const others = [
    problem,
    ...remarks.map(withoutCommands),
    thinking(preview),
    ...preview.repairs.map(repaired),
    // A deferred edit is priced by the cache of its own moment.
    waiting == null ? readAgain(preview) : null,
    ...written.map(wordsFor),
    ...files.map((file) => `written to ${file}`),
  ];
  return [...warnings.map((text) => ({ text: `warning: ${text}`, isWarning: true })), ...plain(others)];
}

/** Remarks of the daemon that come without an edit's figures, such as those of an accepted proposal. */
export function plainRemarks(remarks: readonly string[] = []): Remark[] {
  return plain(remarks.map(withoutCommands));
}

function plain(texts: readonly (string | null)[]): Remark[] {
  return texts.filter((text) => text !== null).map((text) => ({ text, isWarning: false }));
}

type Preview = EditResult["preview"];

function thinking({ thinking_dropped: blocks, thinking_tokens: tokens }: Preview): string | null {
  if (blocks === 0) return null;
  const are = blocks === 1 ? "is" : "are";
  return `${plural(blocks, "thinking block")} ${are} no longer sent (${plural(tokens, "token")}): thinking is bound to the content before it`;
}

function repaired({ rule, name, what }: Schemas["RepairView"]): string {
  return `repaired by rule ${rule}${name === "" ? "" : ` (${name})`}: ${what}`;
}

function readAgain({ tokens_reread: tokens, first_change: first }: Preview): string | null {
  if (tokens === 0) return null;
  return `the provider re-reads ${plural(tokens, "token")} once${first === null ? "" : `; the first change is in ${first}`}`;
}

/** The author of words that the daemon found without a model. */
const SELF = "ctx";

function wordsFor({ kind, of, by, text }: Schemas["HelperText"]): string {
  const author = by === SELF ? "ctx itself" : by;
  if (kind === "title") return `${of} is titled "${text}" (by ${author})`;
  return `the summary of ${of} is by ${author}: ${plural([...text].length, "character")}`;
}
