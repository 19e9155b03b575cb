// An operation of a commit in a few words.

import type { Commit } from "../api";

export type Made = Commit["operations"][number];

const TEXT_AT_MOST = 160;

export interface Alike {
  op: Made["op"];
  reason: string | null;
  operations: Made[];
}

/** Operations of one kind and for one reason, in the order in which the first of each was made. */
export function alike({ operations, reasons }: Pick<Commit, "operations" | "reasons">): Alike[] {
  const groups = new Map<string, Alike>();
  for (const [index, operation] of operations.entries()) {
    const reason = reasons[index] ?? null;
    const key = JSON.stringify([operation.op, reason]);
    const group = groups.get(key) ?? { op: operation.op, reason, operations: [] };
    group.operations.push(operation);
    groups.set(key, group);
  }
  return [...groups.values()];
}

export function targetsOf(operation: Made): string[] {
  if ("ids" in operation) return operation.ids;
  return "id" in operation ? [operation.id] : [];
}

/** Its arguments: the text, the place, the filter. */
export function withWhat(operation: Made): string {
  const parts: string[] = [];
  if ("select" in operation && operation.select != null) {
    for (const [name, value] of Object.entries<unknown>(operation.select)) {
      if (value != null && value !== false) {
        parts.push(value === true ? name.replaceAll("_", " ") : `${name.replaceAll("_", " ")} ${String(value)}`);
      }
    }
  }
  if ("to" in operation) parts.push(place(operation.to));
  if ("after" in operation && operation.after != null) parts.push(`after ${operation.after}`);
  if ("at" in operation && operation.at !== undefined && operation.at.length > 0) {
    parts.push(`before message ${operation.at.join(", ")}`);
  }
  if ("at_step" in operation && operation.at_step !== undefined && operation.at_step.length > 0) {
    parts.push(`at step ${operation.at_step.join(", ")}`);
  }
  if ("each_step" in operation && operation.each_step === true) parts.push("each step");
  for (const text of [
    "title" in operation ? operation.title : null,
    "text" in operation ? operation.text : null,
    "summary" in operation ? operation.summary : null,
  ]) {
    if (text != null && text !== "") parts.push(`“${cut(text)}”`);
  }
  return parts.join(" · ");
}

function place(to: unknown): string {
  if (typeof to === "string") return `to the ${to}`;
  if (typeof to === "object" && to !== null) {
    return Object.entries(to)
      .map(([where, id]) => `${where} ${String(id)}`)
      .join(" ");
  }
  return "";
}

function cut(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > TEXT_AT_MOST ? `${line.slice(0, TEXT_AT_MOST)}…` : line;
}
