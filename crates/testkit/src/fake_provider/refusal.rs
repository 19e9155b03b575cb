//! Every refusal message of the provider, as a value. All have status 400.

/// The reason for a refusal. The words are the API's own: clients match on them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("The request body is not valid JSON")]
    NotJson,
    #[error("{0}: Field required")]
    FieldRequired(&'static str),
    #[error("{0}: Input should be an object")]
    NotAnObject(String),
    #[error("{0}: Input should be a valid list")]
    NotAList(String),
    #[error("{0}: Input should be a valid string")]
    NotAString(String),
    #[error("messages: at least one message is required")]
    NoMessages,
    #[error("tools: Tool names must be unique.")]
    ToolNamesRepeat,
    #[error("system.{0}.type: Input should be 'text'")]
    SystemNotText(usize),
    #[error("system.{0}: text content blocks must be non-empty")]
    SystemEmpty(usize),
    #[error("messages: first message must use the \"user\" role")]
    FirstNotUser,
    #[error("messages.{0}.role: Input should be 'user' or 'assistant'")]
    UnknownRole(usize),
    #[error("messages.{0}: role 'system' supports text, tool_addition, and tool_removal blocks only")]
    SystemMessageBlocks(usize),
    #[error("messages.{0}: system content must contain at least one block")]
    SystemMessageEmpty(usize),
    #[error("messages.0: use the top-level 'system' parameter for the initial system prompt; {ANYWHERE}")]
    SystemMessageFirst,
    #[error(
        "messages.{0}: role 'system' must follow a 'user' message or an 'assistant' message \
         ending in a server tool result; {ANYWHERE}"
    )]
    SystemMessageFollows(usize),
    #[error(
        "messages.{0}: role 'system' must precede an 'assistant' message or end the array; \
         {ANYWHERE}"
    )]
    SystemMessagePrecedes(usize),
    #[error("messages.{0}: all messages must have non-empty content")]
    EmptyMessage(usize),
    #[error("{0}: text content blocks must be non-empty")]
    EmptyText(Place),
    #[error("{0}: text content blocks must contain non-whitespace text")]
    BlankText(Place),
    #[error("{0}: `{1}` blocks can only be in `{2}` messages")]
    WrongRole(Place, &'static str, &'static str),
    #[error("{0}: `tool_use` ids must be unique")]
    ToolUseRepeats(Place),
    #[error("{0}.tool_use.id: Field required")]
    ToolUseWithoutId(Place),
    #[error("{0}.tool_use.input: Input should be a valid dictionary")]
    ToolInput(Place),
    #[error(
        "{0}: unexpected `tool_use_id` found in `tool_result` blocks: {1}. Each `tool_result` \
         block must have a corresponding `tool_use` block in the previous message."
    )]
    UnexpectedResult(Place, String),
    #[error(
        "{0}: each tool_use must have a single result. Found multiple `tool_result` blocks with \
         id: {1}"
    )]
    SecondResult(Place, String),
    #[error(
        "messages.{0}: `tool_use` ids were found without `tool_result` blocks immediately after: \
         {1}. `tool_result` blocks must come first in the message."
    )]
    ResultsNotFirst(usize, String),
    #[error("{0}: Tool reference '{1}' not found in available tools")]
    UnknownReference(Place, String),
    #[error("{0}: Invalid `signature` in `thinking` block")]
    InvalidSignature(Place),
    #[error(
        "messages.{0}: `tool_use` ids were found without `tool_result` blocks immediately after: \
         {1}. Each `tool_use` block must have a corresponding `tool_result` block in the next \
         message."
    )]
    MissingResults(usize, String),
    #[error(
        "messages.{0}: `tool_use` ids were found without `tool_result` blocks immediately after: \
         {1}."
    )]
    EndsWithoutResults(usize, String),
    #[error(
        "This model does not support assistant message prefill. The conversation must end with a \
         user message."
    )]
    Prefill,
    #[error("Requests which include `tool_use` or `tool_result` blocks must define tools.")]
    ToolsUndefined,
    #[error("At least one tool must have defer_loading=false. All tools cannot be deferred.")]
    AllDeferred,
    #[error("tools: cache_control cannot be set for tools with defer_loading=true")]
    MarkOnDeferred,
    #[error("{0}: unexpected `tool_use_id` found in `tool_search_tool_result` blocks: {1}")]
    UnexpectedSearch(Place, String),
    #[error("tool use with id `{0}` was found without a corresponding `tool_search_tool_result` block")]
    SearchWithoutResult(String),
    #[error("cache_control cannot be set for thinking blocks")]
    MarkOnThinking,
    #[error("A maximum of 4 blocks with cache_control may be provided. Found {0}.")]
    TooManyMarks(usize),
    #[error("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")]
    LongMarkAfterShort,
    #[error("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")]
    SmallBudget,
    #[error("`max_tokens` must be greater than `thinking.budget_tokens`")]
    BudgetOverMaximum,
    #[error("thinking.block_binding: Extra inputs are not permitted")]
    BindingWithoutBeta,
    #[error("{0}")]
    Editing(String),
    #[error(
        "{0}: Invalid `signature` in `thinking` block. The block is bound to a different \
         conversation."
    )]
    Unbound(Place),
}

const ANYWHERE: &str = "the directive-only form (content: [] with output_config) is accepted at any position";

/// The position of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) message: usize,
    pub(crate) block: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "messages.{}.content.{}", self.message, self.block)
    }
}
