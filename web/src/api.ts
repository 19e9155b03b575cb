// The daemon's control API: its types and one function for each question the page asks.
// Nothing here knows about React; what is asked when is in queries.ts.

export interface Status {
  version: string;
  pid: number;
  listen: string | null;
  upstream: string;
  home: string;
  started_at: number;
  conversations: number;
  requests: { total: number; in_flight: number; failed: number };
  recorder: { queued: number; queued_bytes: number; dropped: number; unreadable: number };
  store: { path: string; bytes: number; records: number; blobs: number; unsaved: number };
  /** Where the system tells. */
  memory_bytes: number | null;
  page: boolean;
}

export interface Conversation {
  id: string;
  active: boolean;
  class: string;
  title: string;
  model: string | null;
  client: string | null;
  session: string | null;
  agent: string | null;
  parent: string | null;
  forked_from: string | null;
  frames: number;
  messages: number;
  requests: number;
  tokens: number;
  calibrated: boolean;
  last_activity: number;
}

export interface Step {
  id: string;
  title: string;
  tokens: number;
  messages: number;
  tools: string[];
}

export interface Frame {
  id: string;
  kind: "system" | "tools" | "turn";
  title: string;
  tokens: number;
  /** What it weighs in the client's own request, before any edit. */
  source_tokens: number;
  messages: number;
  steps: number;
  state: string[];
  pinned: boolean;
  /** The reply is still only in the response stream. */
  pending: boolean;
  step_list?: Step[];
}

export interface Frames {
  conversation: string;
  model: string | null;
  calibrated: boolean;
  tokens: number;
  window: number | null;
  frames: Frame[];
}

export type BlockKind =
  "text" | "thinking" | "tool_use" | "tool_result" | "image" | "document" | "reminder" | "system" | "tool" | "other";

export interface Block {
  id: string;
  kind: BlockKind;
  tokens: number;
  text: string;
  tool: string | null;
  tool_use_id: string | null;
  is_error: boolean;
  /** The block as it stands in the request; null where that is no valid JSON. */
  raw: unknown;
}

export interface Message {
  id: string;
  role: string;
  tokens: number;
  /** The step it belongs to; 0 before the model's first move. */
  step: number;
  /** Known from the response only. */
  pending: boolean;
  blocks: Block[];
}

export interface FrameContent {
  conversation: string;
  id: string;
  kind: string;
  title: string;
  tokens: number;
  calibrated: boolean;
  messages: Message[];
}

/** The conversation begins. */
export interface OpenedEvent {
  seq: number;
  at: number;
  kind: "opened";
}

export interface RequestEvent {
  seq: number;
  at: number;
  kind: "request";
  /** Counts the requests of the conversation from 1. */
  request: number;
  class: string;
  verdict: string;
  known: number;
  new: number;
  changed: number;
  detail: string | null;
  model: string | null;
  bytes: number;
}

export interface Usage {
  input: number;
  cache_read: number;
  cache_write: number;
  output: number;
}

export interface AnswerEvent {
  seq: number;
  at: number;
  kind: "answer";
  /** The number of the request that it answers. */
  request: number;
  /** 0 when there was no answer. */
  status: number;
  stop_reason: string | null;
  usage: Usage | null;
  first_byte_ms: number | null;
  total_ms: number;
  error: { kind: string; message: string } | null;
  applied_edits: unknown[];
  transformations: unknown[];
  cache_miss_reason: string | null;
  ending: string;
}

export type TimelineEvent = OpenedEvent | RequestEvent | AnswerEvent;

/** What the live stream carries: the timeline's events with the conversation they belong to. */
export type LiveEvent = TimelineEvent & { conversation: string };

/** An answer of the daemon that is not the one asked for, in words for a person. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | null,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export const EVENTS_URL = "/control/v1/events";

export const getStatus = () => get<Status>("/control/v1/status");

export const getConversations = async () =>
  (await get<{ conversations: Conversation[] }>("/control/v1/conversations")).conversations;

export const getFrames = (conversation: string) => get<Frames>(`${of(conversation)}/frames?steps=true`);

export const getFrame = (conversation: string, id: string) =>
  get<FrameContent>(`${of(conversation)}/frames/${encodeURIComponent(id)}`);

export const getTimeline = async (conversation: string, limit: number) =>
  (await get<{ events: TimelineEvent[] }>(`${of(conversation)}/timeline?limit=${limit}`)).events;

function of(conversation: string): string {
  return `/control/v1/conversations/${encodeURIComponent(conversation)}`;
}

async function get<Answer>(path: string): Promise<Answer> {
  const response = await fetch(path, { headers: { accept: "application/json" } });
  if (!response.ok) {
    throw await readError(response);
  }
  return (await response.json()) as Answer;
}

async function readError(response: Response): Promise<ApiError> {
  let error: { code?: unknown; message?: unknown; hint?: unknown } = {};
  try {
    error = ((await response.json()) as { error?: typeof error }).error ?? {};
  } catch {
    // Not the daemon's own shape: the status line has to do.
  }
  const text = (value: unknown) => (typeof value === "string" ? value : null);
  return new ApiError(
    response.status,
    text(error.code) ?? `http-${response.status}`,
    text(error.message) ?? `The daemon answered ${response.status} ${response.statusText}`.trim(),
    text(error.hint),
  );
}
