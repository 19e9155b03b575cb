// An operation being filled in, and the request that it makes so far.

import type { Operation, OperationName, When, Where } from "../api";

/** The values of the forms' fields. A missing field is untouched. */
export interface Values {
  /** Of edit, compact and add; the summary of offload. */
  text?: string;
  /** Of edit: messages as they are sent. */
  json?: string;
  mode?: "text" | "json";
  title?: string;
  summary?: string;
  role?: "user" | "assistant";
  to?: Where;
  /** Of split: the numbers of the messages to split before. */
  cuts?: number[];
  /** Of drop-results and summarize-results: the blocks, and their new texts. */
  results?: string[];
  /** All results of what is selected. */
  every?: string[];
  words?: Record<string, string>;
  /** Of import: the conversation, and its frames. */
  from?: string;
  frames?: string[];
  force?: boolean;
}

export interface Draft {
  name: OperationName;
  targets: string[];
  /** The row that the form is below. */
  anchor: string | null;
  /** The head that was on the screen when it was begun. */
  head: string;
  values: Values;
  /** The condition of a deferred edit; none: now. */
  when?: When;
  /** The user has changed something in it. */
  touched?: boolean;
}

/** The operation of a draft, or its missing fields. */
export type Asked = { operations: Operation[] } | { lacks: string };

export function asked({ name, targets, values }: Draft): Asked {
  const ids = targets;
  const id = targets[0] ?? "";
  const text = values.text?.trim() ?? "";
  switch (name) {
    case "delete":
      return done({ op: "delete", ids, ...(values.force === true ? { force: true } : {}) });
    case "edit":
      return edit(id, values);
    case "compact":
      if (text === "") return { lacks: "Write the summary." };
      return done({ op: "compact", ids, text });
    case "offload":
      return done({ op: "offload", ids, ...(text === "" ? {} : { summary: text }) });
    case "restore":
      return done({ op: "restore", ids });
    case "move":
      if (values.to === undefined) return { lacks: "Select a place." };
      return done({ op: "move", ids, to: values.to });
    case "add":
      if (text === "") return { lacks: "Write the text." };
      return done({
        op: "add",
        text: values.text ?? "",
        role: values.role ?? "user",
        to: values.to ?? { end: true },
        ...(values.title?.trim() ? { title: values.title.trim() } : {}),
      });
    case "combine":
      return done({ op: "combine", ids, ...(values.to?.after == null ? {} : { after: values.to.after }) });
    case "split":
      if ((values.cuts ?? []).length === 0) return { lacks: "Mark at least one place to split." };
      return done({ op: "split", id, at: [...(values.cuts ?? [])].sort((a, b) => a - b) });
    case "drop-results":
      return results(values, (result) => ({ op: "drop-results", ids: isEvery(values) ? ids : result }));
    case "summarize-results":
      return summaries(values);
    case "retitle":
      return retitle(id, values);
    case "pin":
      return done({ op: "pin", ids });
    case "unpin":
      return done({ op: "unpin", ids });
    case "import":
      if (values.from === undefined) return { lacks: "Select a conversation." };
      if ((values.frames ?? []).length === 0) return { lacks: "Select at least one frame." };
      return done({ op: "import", from: values.from, ids: values.frames ?? [], to: values.to ?? { end: true } });
  }
}

function done(...operations: Operation[]): Asked {
  return { operations };
}

function edit(id: string, { mode = "text", text = "", json = "", force }: Values): Asked {
  const more = force === true ? { force: true } : {};
  if (mode === "text") {
    return text.trim() === ""
      ? { lacks: "Write the new text, or use Delete to remove the content." }
      : done({ op: "edit", id, text, ...more });
  }
  try {
    return done({ op: "edit", id, raw: JSON.parse(json) as unknown, ...more });
  } catch {
    return { lacks: "This is not valid JSON." };
  }
}

/** A commit names frames where it concerns all of their results. */
function isEvery({ results = [], every = [] }: Values): boolean {
  const chosen = new Set(results);
  return every.length > 0 && chosen.size === every.length && every.every((id) => chosen.has(id));
}

function results({ results = [] }: Values, make: (ids: string[]) => Operation): Asked {
  return results.length === 0 ? { lacks: "Select at least one result." } : done(make(results));
}

/** Every result has its own text, so each is an operation. */
function summaries({ results = [], words = {} }: Values): Asked {
  if (results.length === 0) return { lacks: "Select at least one result." };
  const without = results.find((id) => (words[id]?.trim() ?? "") === "");
  if (without !== undefined) return { lacks: `Write the summary of ${without}.` };
  return done(...results.map((id): Operation => ({ op: "summarize-results", ids: [id], text: words[id] ?? "" })));
}

function retitle(id: string, { title, summary }: Values): Asked {
  const named = title?.trim() ?? "";
  const summed = summary?.trim() ?? "";
  if (named === "" && summed === "") return { lacks: "Write a title." };
  return done({
    op: "retitle",
    id,
    ...(named === "" ? {} : { title: named }),
    ...(summed === "" ? {} : { summary: summed }),
  });
}
