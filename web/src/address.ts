// The state of the screen as an address, so that a reload or a copied link shows the same: #/<conversation or
// "active">/<view>[/<frame, step or part>][?at=<point of the history>]

export const VIEWS = ["chat", "frames", "map", "history"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  /** A conversation's id, or "active" to follow the one that was used last. */
  conversation: string;
  view: View;
  /** The frame, step or part in the side panel. */
  open: string | null;
  /** A commit, tag, branch or `source`: the context as it was then. */
  at: string | null;
}

export const FOLLOW_ACTIVE = "active";

/** Sections of the team's page: #team/<section>. Conversations have other addresses, which begin with a slash. */
export const SECTIONS = ["people", "keys", "spend", "shares", "notices", "audit", "daemons"] as const;
export type Section = (typeof SECTIONS)[number];

/** The section in an address; undefined if it is not one of the team's page. */
export function parseSection(hash: string): Section | null | undefined {
  const found = /^#team(?:\/(.*))?$/.exec(hash);
  if (found === null) return undefined;
  const [, section] = found;
  return SECTIONS.find((known) => known === section) ?? null;
}

export const formatSection = (section: Section) => `#team/${section}`;

/** The code of a pending login: #login/<code>. Null without a code, undefined for every other address. */
export function parseLogin(hash: string): string | null | undefined {
  const found = /^#login(?:\/(.*))?$/.exec(hash);
  if (found === null) return undefined;
  return decode(found[1] ?? "").trim() || null;
}

export const formatLogin = (code: string) => `#login/${encodeURIComponent(code.trim())}`;

export function parseRoute(hash: string): Route {
  if (parseSection(hash) !== undefined || parseLogin(hash) !== undefined) return parseRoute("");
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [conversation, view, open] = path.split("/").map(decode);
  return {
    conversation: conversation || FOLLOW_ACTIVE,
    view: VIEWS.find((known) => known === view) ?? (view === "timeline" ? "history" : "frames"),
    open: open || null,
    at: new URLSearchParams(query).get("at") || null,
  };
}

export function formatRoute({ conversation, view, open, at }: Route): string {
  const parts = open === null ? [conversation, view] : [conversation, view, open];
  const query = at === null ? "" : `?at=${encodeURIComponent(at)}`;
  return `#/${parts.map(encodeURIComponent).join("/")}${query}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
