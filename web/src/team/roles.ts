// The rights of the roles of a team. The daemon decides; the page hides buttons that it would refuse.

import type { Section } from "../address";
import type { Me } from "../api/team";

export const ROLES = ["member", "auditor", "admin"];

export const audits = ({ role }: Pick<Me, "role">) => role === "auditor" || role === "admin";

export const manages = ({ role }: Pick<Me, "role">) => role === "admin";

/** The sections of the team's page for a person. */
export function sectionsFor(me: Pick<Me, "role">): { value: Section; label: string }[] {
  return [
    ...(audits(me) ? [{ value: "people" as const, label: "People" }] : []),
    { value: "keys", label: audits(me) ? "Keys" : "My keys" },
    { value: "spend", label: audits(me) ? "Spend" : "My spend" },
    { value: "shares", label: audits(me) ? "Shares" : "What I share" },
    { value: "notices", label: "Opened by others" },
    ...(audits(me)
      ? [
          { value: "audit" as const, label: "Audit log" },
          { value: "daemons" as const, label: "Daemons" },
        ]
      : []),
  ];
}

/** "core, web" as a list. */
export const listed = (text: string) => [...new Set(text.split(/[\s,]+/).filter((word) => word !== ""))].sort();
