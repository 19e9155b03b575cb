//! The rules of the Responses API by number.

use crate::rules::{Rule, rule};

/// All rules of this wire that a repair or a refusal can name, in order.
pub const RULES: &[Rule] = &[
    rule(
        "R4",
        "parts fit the role and the format",
        "The assistant says output texts, everyone else input texts, images and files; all of this format.",
        "ctx leaves the part out. Write it as text, or into a message of the user.",
    ),
    rule(
        "R7",
        "arguments are JSON in a string",
        "The provider parses the arguments of old calls.",
        "Give `arguments` as a string that holds a JSON object.",
    ),
    rule(
        "R10",
        "a request for a compaction comes last",
        "The item that asks for a compaction must be the last one, and the agent waits for the answer to it.",
        "ctx keeps it at the end. Nothing to do.",
    ),
    rule(
        "R11",
        "tools that the history declares stay",
        "An item of the history declares these tools for all that follows it.",
        "ctx keeps them as they are. Switch the tool off in the agent.",
    ),
    rule(
        "R13",
        "a program takes its calls along",
        "Calls that a program made name it, and the provider knows them by it.",
        "ctx removes the calls and their results with the program.",
    ),
    rule(
        "R14",
        "the assistant calls tools by an id",
        "A call is an item of the assistant with a `call_id`, and its result follows.",
        "ctx leaves out a call you wrote elsewhere or without an id. Add the id, or make it an item of its own.",
    ),
    rule(
        "R15",
        "a result names its call",
        "A result answers a call that stands before it, by `call_id`.",
        "ctx leaves out a result you wrote that names no call. Add the id of the call.",
    ),
    rule(
        "R16",
        "a result is of the type of its call",
        "Every type of call takes results of one type, and some of these hold no text.",
        "ctx keeps such a result as it is. To shorten the request, delete the call with it.",
    ),
    rule(
        "R20",
        "reasoning stands before what it led to",
        "The provider refuses reasoning without the item that the model produced next.",
        "ctx removes the reasoning. Restore what was deleted behind it to keep it.",
    ),
    rule(
        "R25",
        "ids of calls have at most 64 characters",
        "The provider refuses longer ones, even if it made them.",
        "ctx shortens the id in the call and in its result. Nothing to do.",
    ),
    rule(
        "R27",
        "items beside a change lose their ids",
        "The provider looks reasoning and its followers up by their ids, and refuses a step that is incomplete.",
        "ctx sends the other items of the step without ids, which is always accepted. Nothing to do.",
    ),
    rule(
        "R47",
        "only the model reasons",
        "Reasoning is sealed by the provider and cannot be written.",
        "ctx leaves it out. Write a text of the assistant instead.",
    ),
];
