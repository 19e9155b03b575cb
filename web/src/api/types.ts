// The types of the control API, under the page's names. All come from openapi.json.

import type { components } from "./schema";

export type Schemas = components["schemas"];

export type Status = Schemas["Status"];
export type Conversation = Schemas["ConversationView"];

export type FrameKind = "system" | "tools" | "turn";
/** `step_list` is there when steps were asked for. */
export type Frame = Omit<Schemas["FrameView"], "kind"> & { kind: FrameKind };
export type Step = Schemas["StepView"];
export type Frames = Omit<Schemas["Frames"], "frames"> & { frames: Frame[] };

export type BlockKind =
  "text" | "thinking" | "tool_use" | "tool_result" | "image" | "document" | "reminder" | "system" | "tool" | "other";
export type Block = Omit<Schemas["BlockView"], "kind"> & { kind: BlockKind };
export type Message = Omit<Schemas["MessageView"], "blocks"> & { blocks: Block[] };
export type FrameContent = Omit<Schemas["ContentView"], "messages"> & { messages: Message[] };

/** The generator drops properties beside a reference; here, the one that distinguishes the event. */
export type SignalEvent = Pick<Schemas["Event"], "seq" | "at" | "conversation"> & Schemas["SignalView"] & { kind: "signal" };
export type TimelineEvent = Extract<Schemas["Event"], { kind: string }> | SignalEvent;
export type OpenedEvent = Extract<TimelineEvent, { kind: "opened" }>;
export type RequestEvent = Extract<TimelineEvent, { kind: "request" }>;
export type AnswerEvent = Extract<TimelineEvent, { kind: "answer" }>;
export type CommitEvent = Extract<TimelineEvent, { kind: "commit" }>;
export type LineEvent = Extract<TimelineEvent, { kind: "line" }>;
/** Reports of the automatic editor and of the provider's own editing. */
export type PhaseEvent = Extract<TimelineEvent, { kind: "phase" }>;
export type NotedEvent = Extract<TimelineEvent, { kind: "noted" }>;
export type RefusedEvent = Extract<TimelineEvent, { kind: "refused" }>;
export type LiveEvent = Extract<Schemas["LiveEvent"], { kind: string }> | SignalEvent;
export type Usage = Schemas["Usage"];

export type Operation = Schemas["OperationInput"];
export type OperationName = Operation["op"];
export type Select = Schemas["Select"];
export type Where = Schemas["Where"];
/** Deferred edits, pending and finished. */
export type Waiting = Schemas["WaitingView"];
export type DeferredEdit = Schemas["WaitView"];
export type When = Schemas["When"];
/** The usage of the window, and the clearable part. */
export type ContextFill = Schemas["ContextView"];
export type Mode = Schemas["Mode"];
export type Standing = Schemas["Standing"];
/** A kind of result that may be cleared. */
export type ClearTarget = Schemas["Target"];
export type WaitingEvent = Extract<TimelineEvent, { kind: "waiting" }>;
export type EditResult = Schemas["EditResult"];
export type PlanView = Schemas["PlanView"];
export type HelperText = Schemas["HelperText"];
export type HistoryRequest = Schemas["HistoryRequest"];
export type History = Schemas["HistoryView"];
export type Commit = Schemas["CommitView"];
export type Branch = Schemas["BranchView"];
export type Tag = Schemas["TagView"];
export type Diff = Schemas["Diff"];
export type FrameDiff = Schemas["FrameDiff"];
export type Explanation = Schemas["Explanation"];
export type Helper = Schemas["HelperView"];
export type Job = Schemas["JobView"];
export type SearchResults = Schemas["SearchResults"];
export type ConversationHits = Schemas["ConversationHits"];
export type Hit = Schemas["Hit"];
