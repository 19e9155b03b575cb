//! The rules of the Chat Completions servers by number.

use crate::rules::{Rule, rule};

/// All rules of this wire that a repair or a refusal can name, in order.
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
        "C7",
        "parts fit the role and the format",
        "Only the user shows images and files; every part must be of this format.",
        "ctx leaves the part out. Write it as text, or into a message of the user.",
    ),
    rule(
        "C13",
        "arguments are JSON in a string",
        "Several servers parse the arguments of old calls and fail when they are not JSON.",
        "Give `arguments` as a string that holds a JSON object.",
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
        "C36",
        "reasoning belongs to the model",
        "Servers check the reasoning that a message brings back.",
        "ctx keeps reasoning with its message or leaves it out; it never writes any.",
    ),
];
