// @ts-nocheck
// Made-up conversations that show every kind of thing the page draws.

import type {
  AnswerEvent,
  Block,
  BlockKind,
  Conversation,
  Frame,
  FrameContent,
  Frames,
  LiveEvent,
  Message,
  RequestEvent,
  Status,
  Step,
  TimelineEvent,
} from "../src/api/index.ts";

const START = Date.now() - 47 * 60_000;
const MODEL = "claude-opus-5-5";

const conversations: Conversation[] = [
  conversation("c3f9a1", "Make the recorder keep up with large bodies", { active: true, last: -4_000, tokens: 64_310 }),
  conversation("a81d07", "Explore: where bodies are copied", {
    class: "subagent",
    parent: "c3f9a1",
    agent: "a1b2c3d4e5f60718",
    last: -130_000,
    tokens: 21_870,
  }),
  conversation("77be20", "Why does the nightly build fail on the small machine?", {
    last: -19 * 60_000,
    tokens: 8_412,
  }),
  conversation("e0c452", "Rename the storage module", { last: -3 * 3_600_000, forked_from: "77be20", tokens: 31_002 }),
  conversation("09ffab", "<script>alert('a title is only a title')</script>", { last: -26 * 3_600_000, tokens: 1_204 }),
  conversation("5d1c33", "اشرح لي هذا الملف من فضلك", { last: -2 * 86_400_000, tokens: 15_120 }),
];

function conversation(
  id: string,
  title: string,
  more: Partial<Omit<Conversation, "last_activity">> & { last: number },
): Conversation {
  const { last, ...rest } = more;
  return {
    id,
    title,
    active: false,
    class: "main",
    model: MODEL,
    client: "claude-cli/2.1.325",
    session: "6f1f0c1e-8a55-4f0e-9d0b-0f6f7f1f2a3b",
    agent: null,
    parent: null,
    forked_from: null,
    frames: 6,
    messages: 57,
    requests: 29,
    tokens: 10_000,
    calibrated: id !== "77be20",
    last_activity: Date.now() + last,
    ...rest,
  };
}

const steps: [string, string, number][] = [
  ["Grep", "Bytes::clone", 2_110],
  ["Read", "crates/server/src/proxy/request.rs", 9_480],
  ["Read", "crates/composer/src/recorder.rs", 7_905],
  ["Bash", "cargo test -p ctx-composer recorder", 3_320],
  ["Edit", "crates/composer/src/recorder.rs", 1_260],
  ["Bash", "cargo test -p ctx-composer recorder", 1_480],
  ["", "The queue now holds reference-counted chunks; nothing is copied twice.", 410],
];

function stepList(frame: string, source: [string, string, number][]): Step[] {
  return source.map(([tool, what, tokens], index) => ({
    id: `${frame}/${index + 1}`,
    title: tool === "" ? what : `${tool} ${what}`,
    tokens,
    messages: tool === "" ? 1 : 2,
    tools: tool === "" ? [] : [tool],
  }));
}

const many = Array.from({ length: 60 }, (_, index): [string, string, number] => [
  ["Read", "Bash", "Edit", "Grep"][index % 4] ?? "Read",
  `crates/wire/src/json/part_${index}.rs`,
  80 + ((index * 7919) % 900),
]);

let frames: Frame[] = [
  frame("system", "system", "You are an interactive agent that helps with software work", 3_180, []),
  frame(
    "tools",
    "tools",
    "13 tools: Agent, Bash, Edit, Glob, Grep, Read, Skill, TodoWrite, ToolSearch, Write, …",
    9_940,
    [],
  ),
  frame("t1", "turn", "Hello! What does this repository do?", 1_120, stepList("t1", [["", "It is a proxy.", 240]])),
  frame(
    "t2",
    "turn",
    "The recorder falls behind when bodies are larger than 5 MB. Find out why and mend it.",
    26_300,
    stepList("t2", steps),
  ),
  frame("t3", "turn", "Now the parser: read it whole and tell me what is slow", 21_020, stepList("t3", many)),
  frame("t4", "turn", "Good. Write a test that would have found it", 2_750, stepList("t4", steps.slice(3, 6))),
];

function frame(id: string, kind: Frame["kind"], title: string, tokens: number, list: Step[]): Frame {
  return {
    id,
    kind,
    title,
    tokens,
    source_tokens: tokens,
    messages: list.reduce((sum, step) => sum + step.messages, 1),
    steps: list.length,
    state: [],
    pinned: false,
    pending: id === "t4",
    step_list: list,
  };
}

const PIXELS =
  "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC";

function block(id: string, kind: BlockKind, text: string, raw: unknown, more: Partial<Block> = {}): Block {
  return {
    id,
    kind,
    text,
    raw,
    tokens: Math.max(8, Math.round(text.length / 2.92)),
    tool: null,
    tool_use_id: null,
    is_error: false,
    ...more,
  };
}

function message(id: string, role: string, step: number, blocks: Block[]): Message {
  return {
    id,
    role,
    step,
    blocks,
    pending: id === "t4#5",
    tokens: blocks.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

function call(id: string, tool: string, input: Record<string, unknown>): Block {
  const use = `toolu_${id.replace(/\W/g, "")}`;
  return block(
    id,
    "tool_use",
    JSON.stringify(input),
    { type: "tool_use", id: use, name: tool, input },
    { tool, tool_use_id: use },
  );
}

function result(id: string, tool: string, text: string, failed = false): Block {
  const raw = { type: "tool_result", tool_use_id: "toolu_1", content: text, is_error: failed };
  return block(id, "tool_result", text, raw, { tool, tool_use_id: "toolu_1", is_error: failed });
}

const long = Array.from({ length: 400 }, (_, line) => `${line + 1}\tpub fn line_${line}(bytes: &[u8]) -> Span {`).join(
  "\n",
);

function content(id: string): FrameContent | undefined {
  const known = frames.flatMap((entry) => [entry, ...(entry.step_list ?? [])]).find((entry) => entry.id === id);
  if (known === undefined) return undefined;
  const base = { conversation: "c3f9a1", id, kind: "turn", title: known.title, tokens: known.tokens, calibrated: true };
  if (id === "system") {
    const text = `You are an interactive agent that helps with software work.\n\n# How to work\n\n${"Read before you write. Say what you found and what you changed.\n".repeat(90)}`;
    return {
      ...base,
      kind: "system",
      messages: [message("system#0", "system", 0, [block("system#0.0", "system", text, { type: "text", text })])],
    };
  }
  if (id === "tools") {
    const names = ["Agent", "Bash", "Edit", "Glob", "Grep", "Read", "Skill", "TodoWrite", "ToolSearch", "Write"];
    const blocks = names.map((name, index) => {
      const text = `${name}: does what its name says, with care.`;
      const raw = {
        name,
        description: text,
        input_schema: { type: "object", properties: { file_path: { type: "string" } } },
      };
      return block(`tools#0.${index}`, "tool", text, raw, { tool: name, tokens: 300 + index * 137 });
    });
    return { ...base, kind: "tool", messages: [message("tools#0", "tools", 0, blocks)] };
  }
  const prefix = id.split("/")[0] ?? id;
  const part = (position: number, at = 0) => `${prefix}#${position}.${at}`;
  const reminder =
    "<system-reminder>\nThe file crates/composer/src/recorder.rs was changed on disk.\n</system-reminder>";
  const messages: Message[] = [
    message(`${prefix}#0`, "user", 0, [
      block(part(0), "reminder", reminder, { type: "text", text: reminder }),
      block(part(0, 1), "text", `${frames.find((entry) => entry.id === prefix)?.title ?? ""}\n\nHere is what I see:`, {
        type: "text",
      }),
      block(
        part(0, 2),
        "image",
        "",
        { type: "image", source: { type: "base64", media_type: "image/png", data: PIXELS } },
        { tokens: 1_334 },
      ),
    ]),
    message(`${prefix}#1`, "assistant", 1, [
      block(part(1), "thinking", "", { type: "thinking", thinking: "", signature: "EqoB…" }, { tokens: 211 }),
      block(part(1, 1), "text", "I will look for the place where the chunks are copied.", { type: "text" }),
      call(part(1, 2), "Grep", { pattern: "Bytes::clone|to_vec\\(\\)", path: "crates" }),
      call(part(1, 3), "Read", { file_path: "crates/composer/src/recorder.rs" }),
    ]),
    message(`${prefix}#2`, "user", 1, [
      result(
        part(2),
        "Grep",
        "crates/server/src/proxy/request.rs:88:    let copy = chunk.to_vec();\ncrates/server/src/proxy/request.rs:141:    body.extend_from_slice(&chunk);",
      ),
      result(part(2, 1), "Read", long),
    ]),
    message(`${prefix}#3`, "assistant", 2, [
      block(
        part(3),
        "thinking",
        "Two copies: one in request.rs line 88, one where the body is joined. The second is the expensive one, because it grows.",
        { type: "thinking" },
      ),
      call(part(3, 1), "Bash", {
        command: "cargo test -p ctx-composer recorder",
        description: "Run the recorder's tests",
      }),
    ]),
    message(`${prefix}#4`, "user", 2, [
      result(
        part(4),
        "Bash",
        "error[E0382]: borrow of moved value: `chunk`\n  --> crates/server/src/proxy/request.rs:90:17",
        true,
      ),
      block(part(4, 1), "text", "Leave the public signature as it is, please.", { type: "text" }),
    ]),
    message(`${prefix}#5`, "assistant", 3, [
      block(
        part(5),
        "text",
        "Done. The queue now holds reference-counted chunks, so nothing is copied twice:\n\n    recorder: 5.3 MB body   41 ms → 3 ms\n\nThe signature is unchanged.",
        { type: "text" },
      ),
    ]),
  ];
  const wanted = /\/(\d+)$/.exec(id)?.[1];
  const shown = wanted === undefined ? messages : messages.filter(({ step }) => step === Math.min(3, Number(wanted)));
  return { ...base, messages: shown };
}

const timeline: TimelineEvent[] = [];
let sequence = 0;
let requests = 0;

function exchange(request: Partial<RequestEvent>, answer: Partial<AnswerEvent> | null): TimelineEvent[] {
  const at = request.at ?? Date.now();
  const asked: RequestEvent = {
    seq: ++sequence,
    at,
    kind: "request",
    request: ++requests,
    class: "main",
    verdict: "next",
    known: sequence,
    new: 2,
    changed: 0,
    detail: null,
    model: MODEL,
    bytes: 46_000 + sequence * 5_120,
    ...request,
  };
  const events: TimelineEvent[] = [asked];
  if (answer !== null) {
    events.push({
      seq: ++sequence,
      at: at + (answer.total_ms ?? 4_200),
      kind: "answer",
      request: asked.request,
      status: 200,
      stop_reason: "tool_use",
      usage: { input: 4, cache_read: 38_000 + sequence * 700, cache_write: 900, output: 412 },
      first_byte_ms: 812,
      total_ms: 4_200,
      error: null,
      applied_edits: [],
      transformations: [],
      cache_miss_reason: null,
      ending: "complete",
      ...answer,
    });
  }
  timeline.push(...events);
  return events;
}

exchange(
  { at: START, verdict: "new", new: 2 },
  { usage: { input: 12, cache_read: 0, cache_write: 13_120, output: 96 }, stop_reason: "end_turn" },
);
exchange({ at: START + 60_000 }, {});
exchange({ at: START + 75_000 }, { total_ms: 12_400, first_byte_ms: 1_900 });
exchange(
  { at: START + 95_000 },
  {
    status: 529,
    stop_reason: null,
    usage: null,
    total_ms: 84,
    error: { kind: "overloaded_error", message: "Overloaded" },
  },
);
exchange({ at: START + 97_000, verdict: "retry", new: 0 }, {});
exchange(
  { at: START + 110_000 },
  {
    ending: "cut",
    stop_reason: null,
    total_ms: 31_000,
    usage: { input: 4, cache_read: 44_000, cache_write: 1_100, output: 0 },
  },
);
exchange({ at: START + 150_000, verdict: "retry", new: 0 }, { stop_reason: "end_turn", total_ms: 96_000 });
exchange(
  { at: START + 600_000, verdict: "rewind", detail: "cut back to message 14", new: 1 },
  { ending: "cancelled", stop_reason: null },
);
exchange({ at: START + 640_000 }, { applied_edits: [{ type: "clear_tool_uses_20250919" }] });
exchange(
  { at: START + 2_700_000 },
  { usage: { input: 9, cache_read: 0, cache_write: 61_200, output: 2_310 }, stop_reason: "max_tokens" },
);
exchange(
  { at: START + 2_760_000 },
  { ending: "unreachable", status: 0, stop_reason: null, usage: null, first_byte_ms: null, total_ms: 3 },
);
exchange({ at: Date.now() - 4_000 }, null);

function status(): Status {
  return {
    version: "0.1.0",
    pid: 4242,
    listen: "127.0.0.1:8788",
    upstream: "https://api.anthropic.com",
    home: "/home/you/.local/share/ctx",
    started_at: START,
    conversations: conversations.length,
    requests: { total: 128 + sequence, in_flight: 1, failed: 2 },
    recorder: { queued: 0, queued_bytes: 0, dropped: 0, unreadable: 0 },
    store: {
      path: "/home/you/.local/share/ctx/store.sqlite",
      bytes: 18_734_080,
      records: 1_204,
      blobs: 906,
      unsaved: 0,
    },
    memory_bytes: 24_300_000,
    page: true,
  };
}

function framesOf(id: string): Frames {
  const owner = conversations.find((entry) => entry.id === id);
  return {
    conversation: id,
    model: MODEL,
    calibrated: owner?.calibrated ?? true,
    tokens: frames.reduce((sum, { tokens }) => sum + tokens, 0),
    window: 200_000,
    frames,
  };
}

let turns = 0;

export const fixtures = {
  /** The answer to one path below /control/v1/. */
  answer(path: string[]): unknown {
    const [first, id, what, part] = path;
    if (first === "status") return status();
    if (first !== "conversations") return undefined;
    if (id === undefined) return { conversations };
    if (!conversations.some((entry) => entry.id === id)) return undefined;
    if (what === "timeline") return { events: timeline };
    if (what === "frames") return part === undefined ? framesOf(id) : content(part);
    return undefined;
  },

  /** Another tool call arrives in the newest frame. */
  nextTurn(): LiveEvent[] {
    turns += 1;
    const newest = frames.at(-1);
    if (newest === undefined) return [];
    const list = [...(newest.step_list ?? [])];
    list.push({
      id: `${newest.id}/${list.length + 1}`,
      title: `Bash cargo test number ${turns}`,
      tokens: 340,
      messages: 2,
      tools: ["Bash"],
    });
    frames = [...frames.slice(0, -1), { ...newest, steps: list.length, step_list: list, tokens: newest.tokens + 340 }];
    return exchange({}, {}).map((event) => ({ ...event, conversation: "c3f9a1" }));
  },
};
