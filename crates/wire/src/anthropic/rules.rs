//! The provider's rules by number: what each demands, what `ctx` does about it, and what a person can do. Repairs and
//! refusals name a rule by its number; [`named`] puts its name beside it, and `ctx explain` prints the whole entry.
//! A test compares this table with every number in the source.

use crate::rules::Rule;

const fn rule(number: &'static str, name: &'static str, why: &'static str, advice: &'static str) -> Rule {
    Rule { number, name, why, advice }
}

/// All rules that a repair or a refusal can name, in order.
pub const RULES: &[Rule] = &[
    rule(
        "A1",
        "a request needs a message",
        "The provider refuses a request without messages.",
        "When edits remove everything, ctx sends one short user message. Undo an edit if you did not mean to remove all.",
    ),
    rule(
        "A2",
        "content consists of known blocks",
        "Content is a string or a list of typed blocks. The provider refuses unknown fields and malformed blocks.",
        "ctx leaves out a block you wrote that is not a JSON object with a `type`. Correct the raw JSON of the edit.",
    ),
    rule(
        "A3",
        "a conversation starts with the user",
        "The first message must be a user message. Only a compaction block may precede it.",
        "ctx puts a short user message in front. To avoid that, keep the user message that opens the first frame.",
    ),
    rule(
        "A6",
        "a request ends with the user",
        "Current models refuse a request whose last message is the assistant's.",
        "ctx appends a short user message. Nothing to do.",
    ),
    rule(
        "A9",
        "tool calls need tool definitions",
        "A request with tool calls, tool results or a `tool_choice` must define tools.",
        "ctx keeps one tool, or the chosen one, even if you deleted it. To remove the last tool, delete the calls first.",
    ),
    rule(
        "A10",
        "tool ids, names and inputs have a fixed form",
        "Ids and names consist of letters, digits, `_` and `-`; a tool input is a JSON object.",
        "ctx leaves out calls and tools you wrote that break this. Correct the raw JSON of the edit.",
    ),
    rule(
        "A11",
        "images and documents are the user's",
        "An assistant message must not contain images or documents.",
        "ctx leaves such a block out. Put it into a user message instead.",
    ),
    rule(
        "A12",
        "not every model takes system messages",
        "Older models refuse system messages between the others.",
        "ctx sends your system message as a user message unless the client itself uses system messages.",
    ),
    rule(
        "A13",
        "a system message follows the user",
        "A system message must follow a user message, or an answer that ends with a server tool's result.",
        "ctx moves the message to the next allowed place, and leaves it out if there is none.",
    ),
    rule(
        "A14",
        "a system message precedes an answer",
        "A system message must be followed by an answer or end the request.",
        "ctx moves the message to the next allowed place. Nothing to do.",
    ),
    rule(
        "A18",
        "system messages contain only text",
        "A system message takes text and tool changes, no other block.",
        "ctx leaves other blocks out. Put them into a user message instead.",
    ),
    rule(
        "A23",
        "a tool is added before it is used",
        "A tool that arrives during the conversation must be added before anything uses, removes or lists it.",
        "ctx keeps or moves the message that adds the tool. It goes once everything that needs the tool is gone.",
    ),
    rule(
        "A25",
        "user messages are not empty",
        "The provider refuses a user message without content.",
        "Give the message content, or delete it.",
    ),
    rule(
        "A26",
        "text is more than white space",
        "The provider refuses a message whose only text is white space.",
        "ctx leaves such a message out. Nothing to do.",
    ),
    rule(
        "A27",
        "text blocks are not empty",
        "The provider refuses an empty text block.",
        "Write at least one character. To remove a block, delete it.",
    ),
    rule(
        "A30",
        "every tool call has its result",
        "Each tool call must be answered by a tool result in the next user message.",
        "When the result is gone, ctx removes the call. To keep the call, drop the result's content instead of deleting it.",
    ),
    rule(
        "A31",
        "every tool result has its call",
        "Each tool result must answer a call in the assistant message before it.",
        "When the call is gone, ctx removes the result. Nothing to do.",
    ),
    rule(
        "A32",
        "tool call ids are unique",
        "No two calls in a request may share an id.",
        "ctx sends only the first call with that id. Give calls you write an id of their own.",
    ),
    rule(
        "A33",
        "a call has one result",
        "The provider refuses a second result for the same call.",
        "ctx sends only the first result. Nothing to do.",
    ),
    rule(
        "A34",
        "tool results come first",
        "Tool results must open the user message after their calls; text follows them.",
        "ctx moves the results directly behind their calls. Nothing to do.",
    ),
    rule(
        "A38",
        "a tool call and its result stay together",
        "The provider refuses a call without its result and a result without its call, so no edit may separate them.",
        "Cut or move at a step boundary, which lies between a result and the next call.",
    ),
    rule(
        "A39",
        "a message is more than thinking",
        "An assistant message that contains only thinking is not safe to send.",
        "ctx leaves such a message out. Nothing to do.",
    ),
    rule(
        "A40",
        "server tool calls have their results",
        "A call of a tool that the provider runs (web search, code execution, …) and its result stand in one answer.",
        "When one half is gone, ctx removes the other. Nothing to do.",
    ),
    rule(
        "A41",
        "a running server tool stays defined",
        "While a server tool's call is unfinished, the tool must be defined, and only the provider may answer it.",
        "ctx keeps the tool until the call has its result.",
    ),
    rule(
        "A42",
        "encrypted results are sent unchanged",
        "Results of server tools contain encrypted parts that must be sent back byte for byte.",
        "ctx sends such a result unchanged or removes it with its call. To shorten one, delete it.",
    ),
    rule(
        "A44",
        "a paused answer goes back unchanged",
        "When the provider pauses an answer, the next request must return it unchanged and with the same tools.",
        "ctx holds back edits of that answer and of the tools until the answer is finished. They apply from then on.",
    ),
    rule(
        "A45",
        "a referenced tool is defined",
        "A tool that tool search found must stay defined, and at least one tool must not be deferred.",
        "ctx keeps the tool. It goes once nothing refers to it.",
    ),
    rule(
        "A46",
        "a waiting server tool allows only results",
        "When an answer calls client and server tools at once, the next user message may contain only tool results.",
        "ctx moves other text before the calls, or removes a call whose results are gone.",
    ),
    rule(
        "A47",
        "a container needs its tool",
        "A request that names a container must define the code execution tool.",
        "ctx keeps that tool as long as the client names the container.",
    ),
    rule(
        "A48",
        "fallback marks stay in place",
        "A mark shows where another model took over. It stays with its answer, and no call of yours may precede it.",
        "ctx keeps the mark while anything of the answer is sent. Nothing to do.",
    ),
    rule(
        "A50",
        "some blocks are not for writing",
        "Tool changes, compaction blocks and fallback marks are written only by the client or the provider.",
        "ctx leaves such a block out. Remove it from the raw JSON of the edit.",
    ),
    rule(
        "A54",
        "thinking cannot be written",
        "Thinking blocks are signed by the provider; a written or changed one is refused.",
        "Edit the text beside the thinking, or delete the thinking.",
    ),
    rule(
        "A55",
        "an open tool loop starts with thinking",
        "With `thinking: enabled` (older models), the answer in an open tool loop must start with its thinking.",
        "ctx keeps that thinking, or closes the loop with a short exchange if an edit removed it.",
    ),
    rule(
        "A61",
        "a referenced deferred tool counts",
        "Thinking is bound to a deferred tool's definition from the first message on that refers to the tool.",
        "After such a tool is edited, ctx leaves out the thinking behind the reference. Thinking before it stays.",
    ),
    rule(
        "A65",
        "thinking is bound to what precedes it",
        "A thinking block is signed over everything before it. After a change there, the provider refuses it and all later ones.",
        "ctx leaves them out; answers given after the edit keep their thinking. To lose less, edit near the end, or make several edits at once.",
    ),
    rule(
        "A76",
        "at most four cache breakpoints",
        "A request may carry four cache breakpoints; ctx places them where the cache gains most.",
        "ctx removes the breakpoint from content you wrote. Nothing to do.",
    ),
    rule(
        "A77",
        "one-hour breakpoints come first",
        "A cache breakpoint with a lifetime of one hour must not follow one of five minutes.",
        "ctx adapts the lifetime. Nothing to do.",
    ),
    rule(
        "A79",
        "automatic caching uses a breakpoint",
        "Automatic caching takes one of the four breakpoints and must agree with the last explicit one.",
        "ctx adapts the last breakpoint. Nothing to do.",
    ),
    rule(
        "A81",
        "a request has at most 32 MB",
        "The provider refuses a larger request body.",
        "Write less, or delete or offload something large in the same batch.",
    ),
    rule(
        "A82",
        "many images must be small",
        "With more than 20 images and documents in a request, the provider refuses images above 2000 pixels, old ones included.",
        "Delete some images or documents first, or add only their text.",
    ),
    rule(
        "A83",
        "PDFs have a page limit",
        "The PDFs of a request have at most 600 pages (100 with a window of 200,000 tokens) and no password.",
        "ctx leaves out a document you added that exceeds this. Add fewer pages, or only their text.",
    ),
    rule(
        "E",
        "the client's identification stays",
        "The first system block identifies the client to the provider, by its position.",
        "ctx keeps the block in place. To drop it, configure the client.",
    ),
];

#[cfg(test)]
mod tests;
