// The frames view: a row per frame that opens into its steps; selecting, ordering and editing them.

import { Button, Loader, Menu } from "@mantine/core";
import { useCallback, useMemo, useRef, useState } from "react";

import type { Conversation, Frames } from "../api";
import { OperationItems } from "../edit/OperationMenu";
import { OPERATIONS } from "../edit/operations";
import { select, useSelection } from "../edit/selection";
import { useOperate } from "../edit/useOperate";
import { plural } from "../format/numbers";
import { PartProblem } from "../notices/Problem";
import { type KeyMap, useKeys } from "../palette/useKeys";
import { useFrames } from "../queries";
import { useRoute } from "../route";
import { choose, type Click, withoutCovered } from "./choose";
import { DragOrder } from "./DragOrder";
import { Elsewhere } from "./Elsewhere";
import { FrameRows, type RowsHandle } from "./FrameRows";
import styles from "./frames.module.css";
import { LeftFrames } from "./LeftFrames";
import { neighbour } from "./order";
import { foldable, rowsOf } from "./rows";
import { TOLD_ABOVE, withoutThinking } from "./told";
import { Toolbar } from "./Toolbar";
import { useUnfolded } from "./useUnfolded";
import { WorthLine } from "./WorthLine";

export function FramesView({ conversation }: { conversation: Conversation }) {
  const [{ at }, go] = useRoute();
  const { data: frames, error } = useFrames(conversation.id, at);
  return (
    <div className={styles.view}>
      {at !== null && (
        <div className={styles.past} role="status">
          <span>
            The frames {at === "source" ? "as the agent sent them" : `as they were at ${at}`}, read-only.
          </span>
          <Button size="compact-xs" variant="light" onClick={() => go({ at: null })}>
            Back to now
          </Button>
        </div>
      )}
      <PartProblem error={error} />
      {frames === undefined && error === null && <Loader size="sm" aria-label="Loading" />}
      {frames !== undefined && <Workbench key={at} conversation={conversation.id} frames={frames} past={at !== null} />}
    </div>
  );
}

const NONE: readonly string[] = [];

interface MenuPlace {
  x: number;
  y: number;
}

interface WorkbenchProps {
  conversation: string;
  frames: Frames;
  /** A past state: read-only. */
  past: boolean;
}

function Workbench({ conversation, frames, past }: WorkbenchProps) {
  const [{ open }, go] = useRoute();
  const { unfolded, fold, reveal, set: setUnfolded } = useUnfolded(conversation, open);
  const chosen = useSelection(conversation);
  const { operate, stage } = useOperate(conversation);
  const [cursor, setCursor] = useState<string | null>(null);
  const [menu, setMenu] = useState<MenuPlace | null>(null);
  const from = useRef<string | null>(null);
  const list = useRef<RowsHandle>(null);

  const rows = useMemo(() => rowsOf(frames, unfolded), [frames, unfolded]);
  const order = useMemo(() => rows.map(({ id }) => id), [rows]);
  const thoughtless = useMemo(() => withoutThinking(frames.frames), [frames]);
  const targets = useMemo(
    () => withoutCovered(chosen.length > 0 ? chosen : cursor !== null && order.includes(cursor) ? [cursor] : []),
    [chosen, cursor, order],
  );

  const pick = useCallback(
    (id: string, click: Click) => {
      const next = choose({ ids: chosen, from: from.current }, id, click, order);
      from.current = next.from;
      setCursor(id);
      select(conversation, next.ids);
    },
    [chosen, order, conversation],
  );

  const show = useCallback((id: string) => go({ open: id }), [go]);

  const chooseRule = useCallback(
    (ids: readonly string[]) => {
      reveal(ids);
      select(conversation, ids);
      from.current = ids[0] ?? null;
      setCursor(ids[0] ?? null);
    },
    [conversation, reveal],
  );

  const openMenu = useCallback(
    (id: string, place: MenuPlace) => {
      if (past) return;
      if (!chosen.includes(id)) pick(id, { ctrl: false, shift: false });
      setMenu(place);
    },
    [past, chosen, pick],
  );

  const step = (by: number, shift: boolean) => {
    const at = cursor === null ? -1 : order.indexOf(cursor);
    const next = order[Math.max(0, Math.min(order.length - 1, cursor === null ? 0 : at + by))];
    if (next === undefined) return;
    pick(next, { ctrl: false, shift });
    list.current?.reveal(next);
  };

  const shiftBy = (by: -1 | 1) => {
    const to = neighbour(frames, targets, by);
    if (past || to === null) return false;
    stage({ op: "move", ids: targets, to });
  };

  const operations: KeyMap = Object.fromEntries(
    OPERATIONS.map(({ name, key }) => [key, () => operate(name, targets)] as const),
  );
  useKeys({
    ...(past ? {} : operations),
    down: () => step(1, false),
    up: () => step(-1, false),
    downChoosing: () => step(1, true),
    upChoosing: () => step(-1, true),
    first: () => step(-order.length, false),
    last: () => step(order.length, false),
    unfold: () => (cursor !== null && unfoldable(frames, cursor) ? fold(cursor, true) : false),
    fold: () => {
      if (cursor === null) return false;
      const frame = cursor.split("/")[0] ?? cursor;
      fold(frame, false);
      if (frame !== cursor) pick(frame, { ctrl: false, shift: false });
    },
    open: () => (cursor === null ? false : show(cursor)),
    choose: () => (cursor === null ? false : pick(cursor, { ctrl: true, shift: false })),
    chooseAll: () => select(conversation, order),
    cancel: () => (chosen.length === 0 ? false : select(conversation, [])),
    moveUp: () => shiftBy(-1),
    moveDown: () => shiftBy(1),
  });

  const { unread = 0, incomplete = false, left_frames } = frames;

  return (
    <>
      {!past && <WorthLine conversation={conversation} />}
      <Elsewhere conversation={conversation} frames={frames} past={past} />
      {!past && <LeftFrames conversation={conversation} count={left_frames} />}
      {(unread > 0 || incomplete) && (
        <p className={styles.note} role="status">
          {incomplete
            ? "This list may be incomplete: the newest requests could not be stored. The next request completes it."
            : `${plural(unread, "request")} still being read; this list may grow.`}
        </p>
      )}
      <Toolbar
        conversation={conversation}
        frames={frames}
        targets={targets}
        chosen={chosen}
        allUnfolded={frames.frames.filter(foldable).every(({ id }) => unfolded.has(id))}
        onUnfoldAll={(all) => setUnfolded(all ? frames.frames.filter(foldable).map(({ id }) => id) : [])}
        onChoose={chooseRule}
        past={past}
      >
        {thoughtless.length > 0 && (
          <p className={styles.note} role="note">
            Thinking is no longer sent in {plural(thoughtless.length, "frame")}: an edit changed the content before it.{" "}
            <Button size="compact-xs" variant="subtle" onClick={() => chooseRule(thoughtless)}>
              Select them
            </Button>
          </p>
        )}
      </Toolbar>
      <DragOrder
        frames={frames}
        chosen={chosen}
        onMove={(ids, to) => {
          if (!past) stage({ op: "move", ids, to });
        }}
      >
        <FrameRows
          ref={list}
          conversation={conversation}
          frames={frames}
          rows={rows}
          chosen={chosen}
          cursor={cursor}
          open={open}
          unfolded={unfolded}
          told={thoughtless.length > 0 ? TOLD_ABOVE : NONE}
          onPick={pick}
          onOpen={show}
          onFold={fold}
          onMenu={openMenu}
        />
      </DragOrder>
      {menu !== null && (
        <Menu
          opened
          onClose={() => setMenu(null)}
          position="bottom-start"
          withinPortal
          shadow="md"
          width={230}
          trapFocus
        >
          <Menu.Target>
            <button
              type="button"
              tabIndex={-1}
              aria-label="Operations"
              className={styles.menuPlace}
              style={{ left: menu.x, top: menu.y }}
            />
          </Menu.Target>
          <Menu.Dropdown aria-label="Operations">
            <OperationItems conversation={conversation} ids={targets} />
          </Menu.Dropdown>
        </Menu>
      )}
    </>
  );
}

function unfoldable({ frames }: Frames, id: string): boolean {
  const frame = frames.find((one) => one.id === id);
  return frame !== undefined && foldable(frame);
}
