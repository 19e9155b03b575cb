// What people spend: the choices of the view, and how a row reads.

import type { Me } from "../api/team";
import { audits } from "./roles";

export const GROUPINGS = ["person", "group", "model", "project"] as const;
export type Grouping = (typeof GROUPINGS)[number];

const LABELS: Record<Grouping, string> = { person: "Person", group: "Group", model: "Model", project: "Project" };

/** The groupings for a person. A member sees only their own figures, so people and groups would say nothing. */
export function groupingsFor(me: Pick<Me, "role">): { value: Grouping; label: string }[] {
  const shown = audits(me) ? GROUPINGS : GROUPINGS.filter((by) => by === "model" || by === "project");
  return shown.map((value) => ({ value, label: LABELS[value] }));
}

export const PERIODS = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "all", label: "All" },
];

const DAY = 86_400_000;

/** The beginning of a period that ends today; none for all time. It stays the same for a day, and so does the request. */
export function since(period: string, now: number): number | undefined {
  const days = Number(period);
  return Number.isFinite(days) ? Math.floor(now / DAY) * DAY - (days - 1) * DAY : undefined;
}

const UNKNOWN: Record<Grouping, string> = {
  person: "unknown",
  group: "without a group",
  model: "unknown",
  project: "unknown",
};

/** The name of a row. */
export const named = (by: Grouping, key: string | null | undefined) => key ?? UNKNOWN[by];

/** The part of the sum, from 0 to 1. */
export const share = (cost: number, total: number) => (total > 0 ? cost / total : 0);
