//! The rules of the Chat Completions servers by number.

use crate::rules::{Rule, rule};

/// All rules of this wire that a repair, a refusal or the documentation names, in order.
pub const RULES: &[Rule] = &[
    rule(
        "C1",
        "the assistant calls tools by an id",
        "A call stands in an assistant message and has an id. Its result must follow directly.",
        "ctx leaves out a call you wrote elsewhere or without an id. Put it into a message of the assistant.",
    ),
    rule(
        "C2",
        "a tool message names its call",
        "A message of role `tool` answers a call of the assistant message before it, by `tool_call_id`.",
        "ctx leaves out a result you wrote that names no call. Add the id of the call.",
    ),
    rule(
        "C3",
        "no list of tools or calls is empty",
        "Many servers refuse an empty `tools` or `tool_calls`.",
        "When the last one goes, ctx removes the whole member. Nothing to do.",
    ),
    rule(
        "C4",
        "a request needs a message",
        "Servers refuse an empty list of messages.",
        "ctx keeps the newest message. Nothing to do.",
    ),
    rule(
        "C5",
        "ids of calls are short",
        "OpenAI takes 40 characters; Mistral wants exactly nine letters and digits.",
        "ctx gives calls of yours an id that every server takes. Ids of the client stay.",
    ),
    rule(
        "C6",
        "only calls make up for missing content",
        "An assistant message has content or calls.",
        "When its calls go, ctx keeps the content or leaves the message out. Nothing to do.",
    ),
    rule(
        "C7",
        "parts fit the role and the format",
        "Only the user shows images and files; every part must be of this format.",
        "ctx leaves the part out. Write it as text, or into a message of the user.",
    ),
    rule(
        "C8",
        "servers name the system role differently",
        "OpenAI's newer models call it `developer`, most other servers know `system` only.",
        "ctx uses the role that the client uses. Nothing to do.",
    ),
    rule(
        "C13",
        "arguments are JSON in a string",
        "Several servers parse the arguments of old calls and fail when they are not JSON.",
        "Give `arguments` as a string that holds a JSON object.",
    ),
    rule(
        "C14",
        "the assistant does not speak last",
        "Many servers refuse a request that ends with the assistant, or continue its text.",
        "ctx keeps the newest message. Nothing to do.",
    ),
    rule(
        "C20",
        "the assistant answers before the user speaks",
        "Mistral refuses a user message directly behind a tool result.",
        "ctx puts a short answer between the two. Nothing to do.",
    ),
    rule(
        "C21",
        "the roles alternate",
        "Mistral and several chat templates refuse two messages of one role in a row, and a user behind a tool result.",
        "Where an edit makes such neighbours, ctx puts a short message between them.",
    ),
    rule(
        "C23",
        "no text is empty",
        "Many servers refuse an empty text.",
        "ctx leaves the text out. Give the edit a text, or delete the message.",
    ),
    rule(
        "C24",
        "text keeps its form",
        "Some servers drop a list of texts in requests without tools, and do not say so.",
        "ctx writes a string where the client did, and makes a list only in requests with tools. Nothing to do.",
    ),
    rule(
        "C30",
        "DeepSeek wants its reasoning back",
        "With thinking on, DeepSeek refuses an assistant message with calls and no `reasoning_content`. A space suffices.",
        "ctx keeps the reasoning, and writes a space beside calls of yours. Nothing to do.",
    ),
    rule(
        "C31",
        "Kimi wants its reasoning back",
        "With thinking on, Kimi refuses an assistant message with calls and no `reasoning_content`. A space suffices.",
        "ctx keeps the reasoning, and writes a space beside calls of yours. Nothing to do.",
    ),
    rule(
        "C32",
        "some servers refuse reasoning",
        "Cerebras, Mistral, Groq and others refuse messages with `reasoning_content`.",
        "ctx adds none for them. If the client sends it, switch it off there.",
    ),
    rule(
        "C34",
        "typed reasoning belongs to its text",
        "`reasoning_details` can hold signatures and sealed text for the provider behind a router.",
        "ctx sends it unchanged with its message, and leaves it out when the text changed. Nothing to do.",
    ),
    rule(
        "C35",
        "a signature in a call stays with it",
        "Gemini behind a Chat server signs calls in `extra_content` or in the id.",
        "ctx sends the call with all its members, or not at all. Nothing to do.",
    ),
    rule(
        "C36",
        "reasoning belongs to the model",
        "Servers check the reasoning that a message brings back.",
        "ctx keeps reasoning with its message or leaves it out; it never writes any.",
    ),
    rule(
        "C40",
        "breakpoints stand in parts",
        "OpenRouter, LiteLLM and DashScope read `cache_control` in a part of the content and count what they write.",
        "ctx reads and counts the client's breakpoints. Nothing to do.",
    ),
    rule(
        "C41",
        "usage comes when it is asked for",
        "A stream tells tokens only where the client or the server asks for it, in the last chunk.",
        "ctx never asks for the client; without usage it estimates, and marks numbers with `≈`.",
    ),
    rule(
        "C44",
        "errors have several shapes",
        "Mistral's errors are flat, and routers repeat the text of the server behind them.",
        "ctx passes errors on unchanged and reads all known shapes. Nothing to do.",
    ),
];
