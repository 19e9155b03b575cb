// The workbench: one row a frame.

import { Loader } from "@mantine/core";

import type { Conversation } from "../api";
import { PartProblem } from "../notices/Problem";
import { useFrames } from "../queries";
import { useRoute } from "../route";
import { FrameList } from "./FrameList";

export function FramesView({ conversation }: { conversation: Conversation }) {
  const { data: frames, error } = useFrames(conversation.id);
  const [{ open }, go] = useRoute();
  return (
    <>
      <PartProblem error={error} />
      {frames === undefined && error === null && <Loader size="sm" aria-label="Loading" />}
      {frames !== undefined && <FrameList frames={frames} open={open} onOpen={(id) => go({ open: id })} />}
    </>
  );
}
