import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";

import { askAgain } from "./queries";

test("what changed before the event stream opened is asked for again, whatever it is", async () => {
  const queries = new QueryClient();
  const known = ["frames", "history", "explanation", "map", "frame", "context"].map((what) => ["conversation", "c1", what]);
  for (const key of known) queries.setQueryData(key, "old");
  await askAgain(queries);
  for (const key of known) expect(queries.getQueryState(key)?.isInvalidated, String(key)).toBe(true);
});
