// Texts about a conversation that the agent continued in another format.

import type { Frames } from "../api";
import { plural } from "../format/numbers";

export type Moved = NonNullable<Frames["moved_from"]>;

export function movedWords({ conversation, format, edits }: Moved): string {
  const apply = edits === 1 ? "does" : "do";
  return `This conversation continues ${conversation}, which used another format (${format}). ${plural(edits, "edit")} there ${apply} not apply here.`;
}
