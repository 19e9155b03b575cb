//! The rules of the Gemini API by number.

use crate::rules::{Rule, rule};

/// All rules of this wire that a repair or a refusal can name, in order.
pub const RULES: &[Rule] = &[
    rule(
        "G1",
        "the history has two roles",
        "A content is the user's or the model's. The system prompt stands outside of the history.",
        "ctx lets the user say what you wrote as a system message. To change the system prompt, edit `system`.",
    ),
    rule(
        "G2",
        "a part holds one thing",
        "A part holds one of the known things, and a text is not empty. The API refuses anything else.",
        "ctx leaves the part out. Give the edit a text, or delete the message.",
    ),
    rule(
        "G3",
        "no content is empty",
        "A content has at least one part.",
        "Give `parts` with something in it, or delete the message.",
    ),
    rule(
        "G4",
        "there are no other members",
        "The API refuses members that it does not know.",
        "Write `role` and `parts` only.",
    ),
    rule(
        "G6",
        "the user begins",
        "The first content is the user's.",
        "ctx writes `[continued]` as the user's first words. Keep the message that the model answers to avoid it.",
    ),
    rule(
        "G8",
        "arguments and responses are objects",
        "`args` and `response` are JSON objects.",
        "Write `{\"output\": \"text\"}` for a text.",
    ),
    rule(
        "G11",
        "only the model calls functions",
        "A `functionCall` stands in a content of the model, behind the user's words or the results before it.",
        "ctx leaves out a call you wrote elsewhere. Put it into a message of the model.",
    ),
    rule(
        "G12",
        "results answer the model",
        "A `functionResponse` stands in the user's content behind the call.",
        "ctx leaves out a result you wrote elsewhere. Put it into a message of the user.",
    ),
    rule(
        "G13",
        "results stand in the order of their calls",
        "The API links results to calls by their number and order, and by ids where there are some.",
        "ctx sorts results. It leaves out a call or a result of yours that nothing links: give both the same `id`.",
    ),
    rule(
        "G17",
        "hosted calls go with their results",
        "`toolCall` and `toolResponse` belong together by their id.",
        "ctx removes the other half.",
    ),
    rule(
        "G36",
        "thoughts belong to the model",
        "A signature belongs to the part that it came with, and the API checks it.",
        "ctx keeps thoughts and signatures with their parts or leaves them out; it never writes any.",
    ),
];
