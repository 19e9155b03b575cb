// Starts an operation, for menus, keys, the palette and the panels. Operations with a price open their form at the
// frame; others are applied at once.

import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

import { apply, type EditResult, ApiError, type Frames, getFrames, go, type Operation, type OperationName, type When } from "../api";
import { committing, expectedHead, shownHead } from "../head";
import { isHeard } from "../live";
import { remarksOf } from "../notices/remarks";
import { complain, settle, tell } from "../notices/toasts";
import { framesKey, refreshed } from "../queries";
import { go as show } from "../route";
import { useCancel } from "../waiting/useWaiting";
import { asked, type Draft, type Values } from "./draft";
import { entryOf } from "./operations";
import { addToStage, openDraft, stageOf } from "./stage";
import { frameOf, inShort, targetsOf } from "./targets";
import { isStale } from "./usePrice";

export interface Operate {
  /** Opens the form of an operation at its first target, or applies it at once if it has no price. */
  operate: (name: OperationName, targets: readonly string[], values?: Values) => void;
  /** Puts finished operations into the tray. */
  stage: (...operations: Operation[]) => void;
  /**
   * Makes operations one commit now. `expect`: the head that was on the screen when the user began; the present one
   * without it. `when`: the moment that they wait for. Refusals are thrown.
   */
  commit: (operations: readonly Operation[], expect?: string, when?: When) => Promise<EditResult>;
  /** Undoes the newest commit; with an id only if that is the newest. */
  undo: (newest?: string | null) => Promise<void>;
}

export function useOperate(conversation: string): Operate {
  const queries = useQueryClient();

  const head = useCallback(
    () => expectedHead(conversation, shownHead(queries, conversation) ?? "none"),
    [conversation, queries],
  );

  const cancel = useCancel(conversation);
  const changed = useCallback(() => refreshed(queries, [conversation]), [queries, conversation]);

  const undo = useCallback(
    async (newest: string | null = null) => {
      try {
        const call = () => go(conversation, { action: "undo", expect: newest });
        const undone = await committing(queries, conversation, call, ({ commit }) => commit);
        if (!isHeard(undone.commit)) void changed();
        settle(conversation);
        tell(`Undone: ${undone.summary}`, null, null, remarksOf(undone));
      } catch (error) {
        complain(error, isStale(error) ? { label: "Show the history", run: () => show({ view: "history" }) } : null);
      }
    },
    [conversation, queries, changed],
  );

  const commit = useCallback(
    async (operations: readonly Operation[], expect = head(), when: When = "now") => {
      const call = () => apply(conversation, { operations: [...operations], expect, when });
      const applied = await committing(queries, conversation, call, (made) => made.commit);
      if (!isHeard(applied.commit)) void changed();
      const { waiting } = applied;
      if (waiting != null) {
        tell(`Waits: ${applied.summary}`, { label: "Cancel", run: () => void cancel(waiting) }, null, remarksOf(applied));
        return applied;
      }
      tell(
        `Done: ${applied.summary}`,
        { label: "Undo", run: () => void undo(applied.commit) },
        { conversation, commit: applied.commit },
        remarksOf(applied),
      );
      return applied;
    },
    [conversation, queries, head, changed, undo, cancel],
  );

  const stage = useCallback(
    (...operations: Operation[]) => addToStage(conversation, operations, head()),
    [conversation, head],
  );

  const begin = useCallback(
    (frames: Frames, name: OperationName, ids: readonly string[], values: Values) => {
      const entry = entryOf(name);
      const targets = targetsOf(ids, frames);
      const why = entry.refuses(targets);
      if (why !== null) {
        complain(new ApiError(422, "not-here", `${entry.label} is not possible here.`, why));
        return;
      }
      const draft: Draft = {
        name,
        targets: targets.map(({ id }) => id),
        anchor: anchorOf(ids, frames),
        head: head(),
        values: { ...placed(name, ids), ...values },
      };
      if (entry.free !== true) {
        const { draft: before } = stageOf(conversation);
        openDraft(conversation, draft);
        if (before !== null) putAside(conversation, before);
        // On a narrow screen the panel would cover the form.
        if (window.matchMedia("(max-width: 760px)").matches) show({ open: null });
        return;
      }
      const wanted = asked(draft);
      if ("operations" in wanted) commit(wanted.operations).catch(complain);
    },
    [conversation, head, commit],
  );

  const operate = useCallback(
    (name: OperationName, ids: readonly string[], values: Values = {}) => {
      const frames = queries.getQueryData<Frames>(framesKey(conversation));
      if (frames !== undefined) return begin(frames, name, ids, values);
      // A key can precede the first response.
      const first = queries.fetchQuery({ queryKey: framesKey(conversation), queryFn: () => getFrames(conversation) });
      first.then((come) => begin(come, name, ids, values), complain);
    },
    [queries, conversation, begin],
  );

  return useMemo(() => ({ operate, stage, commit, undo }), [operate, stage, commit, undo]);
}

const WRITTEN: readonly OperationName[] = [
  "edit",
  "compact",
  "offload",
  "add",
  "split",
  "summarize-results",
  "retitle",
];

/** A form with input is set aside with a way back, not discarded. */
export function putAside(conversation: string, draft: Draft): void {
  if (draft.touched !== true || !WRITTEN.includes(draft.name)) return;
  const label = `${entryOf(draft.name).label} ${inShort(draft.targets)}`;
  tell(`Set aside: ${label}`, { label: "Reopen", run: () => openDraft(conversation, draft) });
}

/** The last of the named rows in the order of the list; the last frame if none is named. */
function anchorOf(ids: readonly string[], frames: Frames | undefined): string | null {
  const order = (frames?.frames ?? []).map(({ id }) => id);
  const last = ids.reduce<string | null>((best, id) => {
    const here = order.indexOf(frameOf(id));
    return best === null || here >= order.indexOf(frameOf(best)) ? id : best;
  }, null);
  return last ?? order.at(-1) ?? null;
}

/** Added content goes behind the selection. */
function placed(name: OperationName, ids: readonly string[]): Values {
  const last = ids.at(-1);
  if ((name !== "add" && name !== "import") || last === undefined) return {};
  const frame = frameOf(last);
  return { to: frame === "system" || frame === "tools" ? { start: true } : { after: frame } };
}
