// One conversation: who is speaking, how full the model's window is, and its views.

import { Loader, SegmentedControl, Tooltip } from "@mantine/core";

import type { Conversation, Frames } from "../api";
import { count, percent, plural, tokens } from "../format/numbers";
import { CompositionStrip } from "../frames/CompositionStrip";
import { FrameList } from "../frames/FrameList";
import { share } from "../frames/shares";
import { PartProblem } from "../notices/Problem";
import { useFrames } from "../queries";
import type { View } from "../route";
import { Timeline } from "../timeline/Timeline";
import styles from "./ConversationView.module.css";

interface Props {
  conversation: Conversation;
  view: View;
  open: string | null;
  onView: (view: View) => void;
  onOpen: (id: string) => void;
}

const VIEWS = [
  { value: "frames", label: "Frames" },
  { value: "timeline", label: "Timeline" },
];

export function ConversationView({ conversation, view, open, onView, onOpen }: Props) {
  const { data: frames, error } = useFrames(conversation.id);

  return (
    <div className={styles.view}>
      <header className={styles.header}>
        <div className={styles.heading}>
          <h2 className={styles.title}>
            <bdi>{conversation.title || "Untitled"}</bdi>
          </h2>
          <Facts conversation={conversation} />
        </div>
        {frames !== undefined && <Fill frames={frames} />}
      </header>
      {frames !== undefined && <CompositionStrip frames={frames} open={open} onOpen={onOpen} />}
      <SegmentedControl
        className={styles.views ?? ""}
        size="xs"
        data={VIEWS}
        value={view}
        onChange={(value) => onView(value as View)}
        aria-label="View"
      />
      <PartProblem error={error} />
      {frames === undefined && error === null && <Loader size="sm" aria-label="Loading" />}
      {frames !== undefined && view === "frames" && <FrameList frames={frames} open={open} onOpen={onOpen} />}
      {view === "timeline" && <Timeline conversation={conversation.id} />}
    </div>
  );
}

function Facts({ conversation }: { conversation: Conversation }) {
  const facts = [
    conversation.class === "subagent" ? "sub-agent" : null,
    conversation.model,
    conversation.client,
    plural(conversation.messages, "message"),
    plural(conversation.requests, "request"),
  ].filter((fact) => fact !== null && fact !== "");
  return (
    <p className={styles.facts}>
      {facts.map((fact) => (
        <span key={fact}>{fact}</span>
      ))}
      {conversation.session !== null && (
        <span title={conversation.session}>session {conversation.session.slice(0, 8)}</span>
      )}
    </p>
  );
}

/** How much of the model's window the conversation fills. */
function Fill({ frames }: { frames: Frames }) {
  const { window, calibrated } = frames;
  const label = calibrated
    ? `${count(frames.tokens)} tokens, measured by the provider's own count`
    : `About ${count(frames.tokens)} tokens: an estimate until the provider has counted once`;
  return (
    <Tooltip label={label}>
      <div className={styles.fill}>
        <strong>{tokens(frames.tokens, calibrated)}</strong>
        <span>
          {window === null ? "tokens" : `of ${tokens(window, true)} tokens · ${percent(share(frames.tokens, window))}`}
        </span>
      </div>
    </Tooltip>
  );
}
