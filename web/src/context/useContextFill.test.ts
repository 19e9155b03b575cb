import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { expect, test, vi } from "vitest";

import { expectedHead } from "../head";
import { framesKey } from "../queries";
import { useClear } from "./useContextFill";

// The commit was heard of, so nothing is asked for again.
vi.mock("../live", async (original) => ({ ...(await original<typeof import("../live")>()), isHeard: () => true }));
vi.mock("../api", async (original) => ({
  ...(await original<typeof import("../api")>()),
  clearNow: () =>
    Promise.resolve({ commit: "b", summary: "cleared", preview: { thinking_dropped: 0, repairs: [] }, files: [] }),
}));

test("what is cleared by hand is a commit of this tab", async () => {
  const queries = new QueryClient();
  queries.setQueryData(framesKey("c1"), { head: "a" });
  let clear: ReturnType<typeof useClear> = () => Promise.resolve(false);
  const Reader = () => {
    clear = useClear("c1");
    return null;
  };
  renderToString(createElement(QueryClientProvider, { client: queries }, createElement(Reader)));
  expect(await clear(null)).toBe(true);
  expect(expectedHead("c1", "a")).toBe("b");
});
