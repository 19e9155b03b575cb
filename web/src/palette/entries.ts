// The entries of the palette that match the query, in groups.

import { fit } from "./rank";

export interface Choice {
  id: string;
  group: string;
  label: string;
  /** Stands behind the label, quietly; searched too. */
  detail?: string;
  /** More words by which it is found, not shown. */
  words?: string;
  /** Words to be marked in the label. */
  mark?: string;
  /** Not possible yet: found only by name, and names its precondition. */
  later?: true;
  /** A key of the table. */
  keys?: string;
  run: () => void;
}

export interface ChoiceGroup {
  name: string;
  choices: Choice[];
}

/** So many of one group at most, before and after something is typed. */
const AT_FIRST = 16;
const AT_MOST = 8;

/**
 * The groups in their order as long as nothing is typed; then the group with the best fit first. A choice that is
 * `found` fits already: the daemon has searched for it.
 */
export function grouped(choices: Choice[], query: string, found: Choice[] = []): ChoiceGroup[] {
  const typed = query.trim() !== "";
  const scored = choices
    .map((choice) => ({ choice, score: typed ? score(choice, query) : choice.later === true ? 0 : 1 }))
    .filter(({ score: of }) => of > 0);
  if (typed) scored.sort((left, right) => right.score - left.score);
  const groups = new Map<string, Choice[]>();
  for (const choice of [...scored.map((entry) => entry.choice), ...found]) {
    const group = groups.get(choice.group) ?? [];
    if (group.length < (typed ? AT_MOST : AT_FIRST)) group.push(choice);
    groups.set(choice.group, group);
  }
  return [...groups].map(([name, of]) => ({ name, choices: of }));
}

/** The label counts most; details and other words only help to find it. */
function score({ label, detail = "", words = "", later }: Choice, query: string): number {
  // Impossible entries are found only by name, below possible ones.
  if (later === true) return fit(label, query);
  return fit(label, query) * 2 || fit(`${label} ${detail} ${words}`, query);
}
