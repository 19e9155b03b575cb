import { expect, test } from "vitest";

import { forPage, forTray } from "./refusals";

const gone = {
  code: "gone",
  message: "Operation 2 (`offload`): `t2` was already removed.",
  hint: "`ctx history` shows the commit that removed it; `ctx revert` restores it.",
};

test("a hint for a shell becomes one for the page", () => {
  expect(forPage(gone).hint).toBe("The history shows the commit that removed it. Revert that commit to restore it.");
  const stale = { code: "stale", message: "The conversation has moved on.", hint: "Look at `ctx history`, then say it again." };
  expect(forPage(stale).message).toMatch(/has changed since you started/);
  expect(JSON.stringify(forPage(stale))).not.toMatch(/ctx /);
});

test("what is useful in a hint stays, commands and options go", () => {
  const hint = (text: string) => forPage({ code: "unknown-id", message: "No.", hint: text }).hint;
  expect(hint("The last frames are t2, t3; `ctx list` shows the ids.")).toBe("The last frames are t2, t3.");
  expect(hint("Select fewer, for example with `--larger-than 2000`; `ctx drop-results` needs no text.")).toBe(null);
  expect(hint("Name one of `t2`, `t3`.")).toBe("Name one of `t2`, `t3`.");
});

test("what only a shell can mend keeps its command", () => {
  const store = { code: "store", message: "The store cannot be read.", hint: "Run `ctx doctor` to find the cause." };
  expect(forPage(store).hint).toBe(store.hint);
});

test("two operations of the tray on one frame are told by their numbers", () => {
  const staged = [
    { label: "Delete", frames: ["t2"] },
    { label: "Offload", frames: ["t2", "t5"] },
  ];
  expect(forTray(gone, staged)).toEqual({
    message: "Operations 1 (Delete) and 2 (Offload) both change t2, and one leaves nothing for the other.",
    hint: "Remove one of them from the tray.",
  });
  expect(forTray(gone, [{ label: "Delete", frames: ["t1"] }, staged[1]!]).hint).toMatch(/The history shows/);
});
