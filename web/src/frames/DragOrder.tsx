// Drags frames to another place. A drop puts a move with its price into the tray and changes nothing yet.

import {
  DndContext,
  type DragEndEvent,
  type DragMoveEvent,
  DragOverlay,
  type DragStartEvent,
  PointerSensor,
  pointerWithin,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import { createContext, type ReactNode, useMemo, useState } from "react";

import type { Frames, Where } from "../api";
import { plural } from "../format/numbers";
import styles from "./frames.module.css";
import { dropPlace } from "./order";

interface Drop {
  /** The target row of a drop, and its side. */
  over: string;
  behind: boolean;
}

/** For the rows: where the line is drawn, and what is being dragged. */
export const Dragging = createContext<{ moving: readonly string[]; drop: Drop | null }>({ moving: [], drop: null });

interface Props {
  frames: Frames;
  chosen: readonly string[];
  onMove: (ids: string[], to: Where) => void;
  children: ReactNode;
}

const ANNOUNCEMENTS = {
  onDragStart: ({ active }: { active: { id: string | number } }) => `Dragging ${active.id}.`,
  onDragOver: ({ over }: { over: { id: string | number } | null }) => (over === null ? "" : `At ${over.id}.`),
  onDragEnd: ({ over }: { over: { id: string | number } | null }) =>
    over === null ? "Not moved." : `Dropped at ${over.id}.`,
  onDragCancel: () => "Not moved.",
};

export function DragOrder({ frames, chosen, onMove, children }: Props) {
  const sensors = useSensors(useSensor(PointerSensor, { activationConstraint: { distance: 6 } }));
  const [moving, setMoving] = useState<readonly string[]>([]);
  const [drop, setDrop] = useState<Drop | null>(null);

  const start = ({ active }: DragStartEvent) => {
    const id = String(active.id);
    const turns = frames.frames.filter(({ kind }) => kind === "turn").map((frame) => frame.id);
    // A selected frame takes the rest of the selection along, in the order of the conversation.
    setMoving(chosen.includes(id) ? turns.filter((turn) => chosen.includes(turn)) : [id]);
  };

  const move = (event: DragMoveEvent) => {
    const place = placeOf(event);
    setDrop(place === null || dropPlace(frames, moving, place.over, place.behind) === null ? null : place);
  };

  const end = (event: DragEndEvent) => {
    const place = placeOf(event);
    const to = place === null ? null : dropPlace(frames, moving, place.over, place.behind);
    if (to !== null) onMove([...moving], to);
    cancel();
  };

  const cancel = () => {
    setMoving([]);
    setDrop(null);
  };

  return (
    <DndContext
      sensors={sensors}
      collisionDetection={pointerWithin}
      onDragStart={start}
      onDragMove={move}
      onDragEnd={end}
      onDragCancel={cancel}
      accessibility={{
        announcements: ANNOUNCEMENTS,
        screenReaderInstructions: { draggable: "Press Alt and an arrow key to move it." },
      }}
    >
      <Dragging value={useMemo(() => ({ moving, drop }), [moving, drop])}>{children}</Dragging>
      <DragOverlay dropAnimation={null}>
        {moving.length > 0 && (
          <div className={styles.dragged}>{moving.length === 1 ? moving[0] : plural(moving.length, "frame")}</div>
        )}
      </DragOverlay>
    </DndContext>
  );
}

/** The upper half of a row means before it, the lower half after it. */
function placeOf({ activatorEvent, delta, over }: DragMoveEvent | DragEndEvent): Drop | null {
  if (over === null || !(activatorEvent instanceof MouseEvent)) return null;
  const y = activatorEvent.clientY + delta.y;
  const data = over.data.current as { frame?: string; step?: boolean } | undefined;
  const behind = data?.step === true || y > over.rect.top + over.rect.height / 2;
  return { over: data?.frame ?? String(over.id), behind };
}
