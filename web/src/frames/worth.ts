// What of a conversation is worth removing: enough of it to be worth a line, and the line itself.

import type { Frames, Operation, PlanView } from "../api";
import { percent, plural, short } from "../format/numbers";
import { suggestions } from "../map/waste";

export interface Removable {
  tokens: number;
  operations: Operation[];
}

/** Less is not worth a line. */
const LEAST_SHARE = 0.05;
const LEAST_TOKENS = 1000;

/** Results that are out of date, and large ones of earlier steps. Tools are the agent's own business. */
export function removable(frames: Pick<Frames, "frames" | "tokens">): Removable | null {
  const found = suggestions(frames);
  const tokens = found.reduce((sum, one) => sum + one.tokens, 0);
  if (tokens < LEAST_TOKENS || tokens < frames.tokens * LEAST_SHARE) return null;
  return { tokens, operations: found.map(({ operation }) => operation) };
}

/** "46% of this context is stale or superseded: −38k tokens a turn, costs 21k once, pays off after 5 turns." */
export function worthWords({ tokens_before, tokens_after, preview, cost }: PlanView): string {
  const saved = tokens_before - tokens_after;
  const once = preview.tokens_reread;
  const after = (cost.money ?? cost).pays_off_after;
  const price = [
    `−${short(saved)} tokens a turn`,
    once === 0 ? "costs nothing" : `costs ${short(once)} once`,
    after === null ? "does not pay off" : after <= 1 ? "pays off at once" : `pays off after ${plural(after, "turn")}`,
  ];
  return `${percent(saved / Math.max(1, tokens_before))} of this context is stale or superseded: ${price.join(", ")}.`;
}
