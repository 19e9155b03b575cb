// The side panel: a frame, step or part, its sent content, and its edits.

import { Loader, SegmentedControl } from "@mantine/core";
import { useMemo, useState } from "react";

import type { Conversation } from "../api";
import { frameOf, scopeOf } from "../edit/targets";
import { Copy } from "../messages/Copy";
import { RememberFolds } from "../messages/folds";
import { plain, sentOf } from "../messages/sent";
import { PartProblem } from "../notices/Problem";
import { useKeys } from "../palette/useKeys";
import { useFrame, useFrames, useHistory } from "../queries";
import { useRoute } from "../route";
import { Compare } from "./Compare";
import styles from "./details.module.css";
import { wholeFrame } from "./editing";
import { Facts } from "./Facts";
import { allFacts, fewFacts } from "./facts";
import { Heading } from "./Heading";
import { MessageList } from "./MessageList";
import { RawJson } from "./RawJson";
import { key, TextEditor } from "./TextEditor";
import { useDraft } from "./useDraft";

interface Props {
  conversation: Conversation;
  id: string;
  onOpen: (id: string) => void;
  onClose: () => void;
}

type Tab = "messages" | "compare" | "json";
const TABS = [
  { value: "messages", label: "Messages" },
  { value: "compare", label: "Compare" },
  { value: "json", label: "JSON" },
];

/** Items with more tokens are fetched whole only on request. */
const LIGHT = 150_000;

export function DetailsPanel({ conversation: { id: conversation }, id, onOpen, onClose }: Props) {
  const [tab, setTab] = useState<Tab>("messages");
  const [wide, setWide] = useState(false);
  const [draft, setDraft] = useDraft(conversation);
  const [{ at }] = useRoute();
  const { data: frames } = useFrames(conversation, at);
  const { data: history } = useHistory(conversation);
  useKeys({ cancel: onClose });

  const frame = frames?.frames.find((one) => one.id === frameOf(id));
  const step = frame?.step_list?.find((one) => one.id === id);
  const weight = Math.max(step?.source_tokens ?? frame?.source_tokens ?? 0, step?.tokens ?? frame?.tokens ?? 0);
  const { data, error } = useFrame(conversation, id, at, tab !== "messages" || weight < LIGHT);
  // While another item loads, the previous one is not shown.
  const content = data?.id === id ? data : undefined;

  const commits = useMemo(() => new Map(history?.commits.map((commit) => [commit.id, commit])), [history]);
  const madeSoBy = content?.by ?? step?.by ?? (frame?.id === id ? frame.by : []);
  const known = { id, frame, step, content };
  const head = frames?.head ?? "none";
  const isTurn = scopeOf(id) === "frame" && frame?.kind === "turn";
  const whole = isTurn && content !== undefined ? wholeFrame(id, content.messages) : null;
  const writesWhole = at === null && draft?.target === id && draft.open === id && whole !== null;

  return (
    <div className={styles.panel} data-wide={wide || undefined}>
      <Heading
        conversation={conversation}
        id={id}
        frame={frame}
        content={content}
        past={at !== null}
        wide={wide}
        onWide={setWide}
        onOpen={onOpen}
        onClose={onClose}
      />
      <Facts
        few={fewFacts(known)}
        all={allFacts(known)}
        commits={madeSoBy.map((commit) => commits.get(commit)).filter((commit) => commit !== undefined)}
      />
      <div className={styles.bar}>
        <SegmentedControl
          size="xs"
          data={TABS}
          value={tab}
          onChange={(value) => setTab(value as Tab)}
          aria-label="View"
        />
        <span className={styles.grow} />
        {content !== undefined && <Copy text={() => plain(sentOf(content.messages))} label="Copy the sent content" />}
      </div>
      <PartProblem error={error} />
      {tab === "messages" && !writesWhole && error === null && (
        <RememberFolds key={id}>
          <MessageList
            conversation={conversation}
            id={id}
            at={at}
            frame={frame}
            head={head}
            commits={commits}
            draft={draft?.open === id ? draft : null}
            onDraft={setDraft}
          />
        </RememberFolds>
      )}
      {tab !== "messages" && content === undefined && error === null && (
        <Loader size="sm" m="md" aria-label="Loading" />
      )}
      {tab === "compare" && content !== undefined && <Compare content={content} />}
      {tab === "json" && content !== undefined && !writesWhole && (
        <RawJson
          content={content}
          onEdit={
            whole === null || at !== null
              ? null
              : () => setDraft({ open: id, target: id, choice: key(whole.id, whole.kind), text: whole.text, head })
          }
        />
      )}
      {writesWhole && tab !== "compare" && draft !== null && (
        <TextEditor conversation={conversation} draft={draft} choices={[whole]} onChange={setDraft} />
      )}
    </div>
  );
}
