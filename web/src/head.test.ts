import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";

import { committing, expectedHead, shownHead } from "./head";
import { allHistory } from "./history/useAllHistory";
import { framesKey } from "./queries";

const CONVERSATION = "c1";

function screen(frames: { head: string | null; at: number } | null, history: { head: string | null; at: number } | null) {
  const queries = new QueryClient();
  const put = (queryKey: readonly unknown[], answer: { head: string | null; at: number } | null) =>
    answer !== null && queries.setQueryData(queryKey, { head: answer.head }, { updatedAt: answer.at });
  put(framesKey(CONVERSATION), frames);
  put(allHistory(CONVERSATION).queryKey, history);
  return shownHead(queries, CONVERSATION);
}

test("the answer that came last says what is on the screen", () => {
  expect(screen(null, null)).toBeUndefined();
  expect(screen({ head: null, at: 1 }, null)).toBe("none");
  expect(screen({ head: "old", at: 1 }, { head: "new", at: 2 })).toBe("new");
  expect(screen({ head: "new", at: 2 }, { head: "old", at: 1 })).toBe("new");
});

test("a commit of this tab is expected until the screen shows something else", async () => {
  const queries = new QueryClient();
  const shows = (head: string | null) => queries.setQueryData(framesKey("c2"), { head });
  const makes = (commit: string | null) =>
    committing(
      queries,
      "c2",
      () => Promise.resolve({ commit }),
      (made) => made.commit,
    );
  shows("a");
  expect(expectedHead("c2", "a")).toBe("a");
  expect(await makes("b")).toEqual({ commit: "b" });
  expect(expectedHead("c2", "a")).toBe("b");
  await makes(null);
  expect(expectedHead("c2", "a")).toBe("b");
  expect(expectedHead("c2", "somebody else's")).toBe("somebody else's");
  expect(expectedHead("c3", "a")).toBe("a");
});

test("a call that is refused is no commit", async () => {
  const refused = () => Promise.reject<{ commit: string }>(new Error("refused"));
  await expect(committing(new QueryClient(), "c4", refused, ({ commit }) => commit)).rejects.toThrow("refused");
  expect(expectedHead("c4", "none")).toBe("none");
});
