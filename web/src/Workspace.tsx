// One conversation: its header, the use of the model's window, and its views.

import { Button, Loader, Menu, SegmentedControl } from "@mantine/core";
import { ChevronDownIcon } from "@radix-ui/react-icons";
import type { ComponentType } from "react";

import type { Conversation } from "./api";
import { Gauge } from "./context/Gauge";
import { agentName, folderName } from "./conversations/names";
import { Dock } from "./edit/FormAt";
import { OperationItems } from "./edit/OperationMenu";
import { OPERATIONS } from "./edit/operations";
import { useOperate } from "./edit/useOperate";
import { plural } from "./format/numbers";
import { CompositionStrip } from "./frames/CompositionStrip";
import { FramesView } from "./frames/FramesView";
import { type Later, later } from "./later";
import { HealNotice } from "./notices/HealNotice";
import { TrustNotice } from "./notices/TrustNotice";
import { type KeyMap, useKeys } from "./palette/useKeys";
import { useFrames } from "./queries";
import { useRoute, type View } from "./route";
import { LOAD } from "./views";
import styles from "./Workspace.module.css";

type ViewComponent = ComponentType<{ conversation: Conversation }>;

const LOADING = <Loader size="sm" aria-label="Loading" />;

/** A view scrolls by itself. */
const VIEWS: Record<View, { label: string; Show: ViewComponent & Partial<Later<{ conversation: Conversation }>> }> = {
  chat: { label: "Chat", Show: later(LOAD.chat, LOADING) },
  frames: { label: "Frames", Show: FramesView },
  map: { label: "Map", Show: later(LOAD.map, LOADING) },
  history: { label: "History", Show: later(LOAD.history, LOADING) },
};

/** The code of a view is there. */
export async function viewFetched(view: View): Promise<void> {
  await VIEWS[view].Show.fetched?.();
}

const TABS = Object.entries(VIEWS).map(([value, { label }]) => ({ value, label }));

export function Workspace({ conversation }: { conversation: Conversation }) {
  const [{ view, open, at }, go] = useRoute();
  const { data: frames } = useFrames(conversation.id, at);
  const { Show } = VIEWS[view];

  return (
    <div className={styles.workspace}>
      <header className={styles.header}>
        <div className={styles.heading}>
          <h2 className={styles.title}>
            <bdi>{conversation.title || "Untitled"}</bdi>
          </h2>
          <Facts conversation={conversation} />
        </div>
        {frames !== undefined && <Gauge conversation={conversation.id} frames={frames} past={at !== null} />}
      </header>
      {frames !== undefined && <CompositionStrip frames={frames} open={open} onOpen={(id) => go({ open: id })} />}
      {frames !== undefined && <HealNotice conversation={conversation.id} head={frames.head} />}
      <TrustNotice conversation={conversation.id} />
      <div className={styles.bar}>
        <SegmentedControl
          className={styles.views ?? ""}
          size="xs"
          data={TABS}
          value={view}
          onChange={(value) => go({ view: value as View })}
          aria-label="View"
        />
        {open !== null && at === null && view !== "frames" && <OnOpen conversation={conversation.id} id={open} />}
      </div>
      <div className={styles.view} data-view={view}>
        <Show conversation={conversation} />
      </div>
      <Dock conversation={conversation.id} />
    </div>
  );
}

/** Operations on the frame in the panel, for views without selectable rows. */
function OnOpen({ conversation, id }: { conversation: string; id: string }) {
  const { operate } = useOperate(conversation);
  const operations: KeyMap = Object.fromEntries(
    OPERATIONS.map(({ name, key }) => [key, () => operate(name, [id])] as const),
  );
  useKeys(operations);
  return (
    <Menu position="bottom-end" shadow="md" width={230} withinPortal>
      <Menu.Target>
        <Button size="compact-xs" variant="default" rightSection={<ChevronDownIcon width={12} height={12} />}>
          Change {id}
        </Button>
      </Menu.Target>
      <Menu.Dropdown aria-label={`Change ${id}`}>
        <OperationItems conversation={conversation} ids={[id]} />
      </Menu.Dropdown>
    </Menu>
  );
}

function Facts({ conversation }: { conversation: Conversation }) {
  const facts = [
    conversation.owner == null ? null : `owner ${conversation.owner}`,
    conversation.class === "subagent" ? "sub-agent" : null,
    conversation.model,
    agentName(conversation.client),
    plural(conversation.messages, "message"),
    plural(conversation.requests, "request"),
  ].filter((fact) => fact !== null && fact !== "");
  return (
    <p className={styles.facts}>
      {conversation.folder !== null && (
        <span title={conversation.folder}>{folderName(conversation.folder)}</span>
      )}
      {facts.map((fact) => (
        <span key={fact}>{fact}</span>
      ))}
      {conversation.session !== null && (
        <span title={conversation.session}>session {conversation.session.slice(0, 8)}</span>
      )}
    </p>
  );
}
