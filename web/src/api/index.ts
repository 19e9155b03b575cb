// A typed function for each call of the control API that the page uses. Independent of React; queries.ts decides when
// to call them.

import createClient from "openapi-fetch";

import { asked } from "../first";
import { taken } from "./errors";
import { KEY_HEADERS, KEY_PARAMETER } from "./key";
import type { paths } from "./schema";
import type { EditResult, FrameContent, Frames, Operation, PlanView, TimelineEvent, HistoryRequest, When } from "./types";

export { ApiError } from "./errors";
export type * from "./types";

const ROOT = "/control/v1";

/** Replies in progress are reported only on request. */
export const EVENTS_URL = `${ROOT}/events?streaming=true&brief=true&${KEY_PARAMETER}`;

/** For calls without a function below. */
export const client = createClient<paths>({
  baseUrl: ROOT,
  headers: KEY_HEADERS,
  fetch: (request) => asked(request) ?? fetch(request),
});

/** The page's author name in the history. */
const AUTHOR = "ui";

export const getStatus = () => taken(client.GET("/status"));

export const getConversations = async () => (await taken(client.GET("/conversations"))).conversations;

/** Without steps, the daemon lists the frames in a quarter of the time. */
export async function getFrames(conversation: string, at: string | null = null, steps = true): Promise<Frames> {
  const query = { ...(steps ? { steps } : {}), ...(at === null ? {} : { at }) };
  return (await taken(
    client.GET("/conversations/{conversation}/frames", { params: { path: { conversation }, query } }),
  )) as Frames;
}

/** A frame, step, message, block or part, with its content; `at` is a commit or `source`. */
export async function getFrame(conversation: string, id: string, at: string | null = null): Promise<FrameContent> {
  const query = at === null ? {} : { at };
  return (await taken(
    client.GET("/conversations/{conversation}/frames/{id}", { params: { path: { conversation, id }, query } }),
  )) as FrameContent;
}

/** The explanation of a provider rule or an error code. */
export const getTerm = (name: string) => taken(client.GET("/explain/{name}", { params: { path: { name } } }));

export const getExplanation = (conversation: string, at: string | null = null) =>
  taken(
    client.GET("/conversations/{conversation}/explain", {
      params: { path: { conversation }, query: at === null ? {} : { at } },
    }),
  );

export const getDiff = (conversation: string, from: string, to: string) =>
  taken(client.GET("/conversations/{conversation}/diff", { params: { path: { conversation }, query: { from, to } } }));

export const getHistory = (conversation: string, limit?: number) =>
  taken(
    client.GET("/conversations/{conversation}/history", {
      params: { path: { conversation }, query: { brief: true, ...(limit === undefined ? {} : { limit }) } },
    }),
  );

export const getTimeline = async (conversation: string, limit: number): Promise<TimelineEvent[]> =>
  (
    await taken(
      client.GET("/conversations/{conversation}/timeline", {
        params: { path: { conversation }, query: { limit, brief: true } },
      }),
    )
  ).events as TimelineEvent[];

export const search = (q: string, limit?: number, conversation?: string) =>
  taken(
    client.GET("/search", {
      params: {
        query: {
          q,
          ...(limit === undefined ? {} : { limit }),
          ...(conversation === undefined ? {} : { conv: conversation }),
        },
      },
    }),
  );

/** A history action: undo, redo, revert, rollback, branch, checkout, tag. */
export const go = (conversation: string, way: Partial<HistoryRequest> & Pick<HistoryRequest, "action">): Promise<EditResult> =>
  taken(
    client.POST("/conversations/{conversation}/history", {
      params: { path: { conversation } },
      body: {
        target: null,
        name: null,
        when: "now",
        cascade: false,
        note: null,
        expect: null,
        dry_run: false,
        ...way,
        author: AUTHOR,
      },
    }),
  );

interface Wanted {
  operations: Operation[];
  /** The head that they were made against; `none`: no commit yet. Another one is refused as `stale`. */
  expect?: string | null;
  note?: string | null;
  /** The condition of a deferred edit. */
  when?: When;
}

function editBody({ operations, expect = null, note = null, when = "now" }: Wanted, dry_run: boolean) {
  return { operations, expect, note, dry_run, author: AUTHOR, when };
}

/** The effect of operations: frames, tokens, and the texts written for them. Nothing is changed. */
export const preview = (conversation: string, wanted: Wanted, signal?: AbortSignal): Promise<EditResult> =>
  taken(
    client.POST("/conversations/{conversation}/operations", {
      params: { path: { conversation } },
      body: editBody(wanted, true),
      ...(signal === undefined ? {} : { signal }),
    }),
  );

/** Applies operations as one commit, now or deferred. */
export const apply = (conversation: string, wanted: Wanted): Promise<EditResult> =>
  taken(
    client.POST("/conversations/{conversation}/operations", {
      params: { path: { conversation } },
      body: editBody(wanted, false),
    }),
  );

/** Removes what the provider refuses, as a commit. */
export const heal = (conversation: string, expect: string): Promise<EditResult> =>
  taken(
    client.POST("/conversations/{conversation}/heal", {
      params: { path: { conversation } },
      body: { author: AUTHOR, note: null, expect, dry_run: false, when: "now" },
    }),
  );

/** Effect and cost of operations, one by one and together. Nothing is changed. */
export const plan = (conversation: string, wanted: Wanted, signal?: AbortSignal): Promise<PlanView> =>
  taken(
    client.POST("/conversations/{conversation}/plan", {
      params: { path: { conversation } },
      body: {
        operations: wanted.operations.map((operation) => ({ ...operation, reason: null })),
        note: wanted.note ?? null,
        expect: wanted.expect ?? null,
        only: [],
        author: AUTHOR,
        apply: false,
        when: "now",
      },
      ...(signal === undefined ? {} : { signal }),
    }),
  );

/** Deferred edits, pending and finished. */
export const getWaiting = (conversation: string) =>
  taken(client.GET("/conversations/{conversation}/waiting", { params: { path: { conversation } } }));

export const cancelDeferred = (conversation: string, edit: string) =>
  taken(
    client.POST("/conversations/{conversation}/waiting/{edit}/cancel", {
      params: { path: { conversation, edit } },
      body: { author: AUTHOR },
    }),
  );

/** Applies a deferred edit now, whatever its condition. */
export const acceptDeferred = (conversation: string, edit: string) =>
  taken(
    client.POST("/conversations/{conversation}/waiting/{edit}/accept", {
      params: { path: { conversation, edit } },
      body: { author: AUTHOR },
    }),
  );

export const getContext = (conversation: string) =>
  taken(client.GET("/conversations/{conversation}/context", { params: { path: { conversation } } }));

/** Clears everything that the automatic editor may clear, now. */
export const clearNow = (conversation: string, reason: string | null): Promise<EditResult> =>
  taken(
    client.POST("/conversations/{conversation}/clear", {
      params: { path: { conversation } },
      body: { author: AUTHOR, reason },
    }),
  );

export const getHelper = () => taken(client.GET("/helper"));

/** Has the helper model write the missing texts of operations and commit them; returns the job. */
export const askHelper = (conversation: string, wanted: Wanted, dry_run = false) =>
  taken(
    client.POST("/conversations/{conversation}/helper", {
      params: { path: { conversation } },
      body: editBody(wanted, dry_run),
    }),
  );

export const getJob = (job: string) => taken(client.GET("/helper/jobs/{job}", { params: { path: { job } } }));

export const cancelJob = (job: string) =>
  taken(client.POST("/helper/jobs/{job}/cancel", { params: { path: { job } } }));
