//! The rules of the Gemini API by number.

use crate::rules::{Rule, rule};

/// All rules of this wire that a repair, a refusal or the documentation names, in order.
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
        "G5",
        "neighbours of one role are one turn",
        "The API joins consecutive contents of one role before it checks them; older services refuse them.",
        "Where an edit makes such neighbours, ctx joins them. Nothing to do.",
    ),
    rule(
        "G6",
        "the user begins",
        "The first content is the user's.",
        "ctx writes `[continued]` as the user's first words. Keep the message that the model answers to avoid it.",
    ),
    rule(
        "G7",
        "the model does not speak last",
        "Current models refuse a request that ends with the model.",
        "ctx keeps the newest content. Nothing to do.",
    ),
    rule(
        "G8",
        "arguments and responses are objects",
        "`args` and `response` are JSON objects.",
        "Write `{\"output\": \"text\"}` for a text.",
    ),
    rule(
        "G10",
        "as many results as calls",
        "The content behind calls has one result for each.",
        "ctx removes the other half when an edit takes one. Nothing to do.",
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
        "G14",
        "results of a step share a content",
        "The results of parallel calls stand in one content of the user.",
        "ctx keeps them together. Nothing to do.",
    ),
    rule(
        "G16",
        "results have a content of their own",
        "Vertex refuses a content with results and text.",
        "Where an edit touches such a content, ctx puts the text into one of its own. Nothing to do.",
    ),
    rule(
        "G17",
        "hosted calls go with their results",
        "`toolCall` and `toolResponse` belong together by their id.",
        "ctx removes the other half.",
    ),
    rule(
        "G30",
        "calls of the current turn are signed",
        "From Gemini 3 on, the first call of each step since the user's last words needs its signature.",
        "ctx keeps signatures, and signs a call of yours as documented for calls that the model did not make. Nothing to do.",
    ),
    rule(
        "G32",
        "a missing signature is refused",
        "The API names the call that has no signature.",
        "ctx signs it as documented for calls that the model did not make. Nothing to do.",
    ),
    rule(
        "G34",
        "some signatures are not checked",
        "Google documents a text that stands for a missing signature; the model loses what it thought in that step.",
        "ctx uses it only for calls that an edit brought into the current turn. Nothing to do.",
    ),
    rule(
        "G35",
        "signatures belong to an endpoint",
        "A signature of another service or model family is refused.",
        "After such a refusal ctx repeats the request once without signatures. Nothing to do.",
    ),
    rule(
        "G36",
        "thoughts belong to the model",
        "A signature belongs to the part that it came with, and the API checks it.",
        "ctx keeps thoughts and signatures with their parts or leaves them out; it never writes any.",
    ),
    rule(
        "G40",
        "answers stream as a list or as events",
        "Without `alt=sse` the answer is one JSON list, errors included.",
        "ctx reads both. Nothing to do.",
    ),
    rule(
        "G41",
        "a Google login wraps requests",
        "The service behind the login takes the request in a member of its own, and wraps answers.",
        "ctx edits the request inside. Nothing to do.",
    ),
    rule(
        "G42",
        "errors have Google's form",
        "The service behind a Google login also lists errors.",
        "ctx writes its own errors in the same form. Nothing to do.",
    ),
    rule(
        "G43",
        "the prompt's count is the total",
        "`promptTokenCount` includes the cached part; thoughts are counted beside the answer.",
        "ctx subtracts the cached part for prices. Nothing to do.",
    ),
    rule(
        "G44",
        "tokens are counted for a whole request",
        "`countTokens` takes contents or a whole request.",
        "ctx counts for the conversation that the request belongs to. Nothing to do.",
    ),
    rule(
        "G45",
        "cached content is kept at the provider",
        "A request that names `cachedContent` carries only what follows it.",
        "ctx edits what the request carries; what is cached can be edited only in the client.",
    ),
];
