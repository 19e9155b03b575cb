//! The codes of all errors, for programs. A code never changes; its explanation is in `ctx_api::codes`, and the words of
//! one error are made where it occurs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares the codes with the names that programs see.
macro_rules! codes {
    ($($code:ident = $name:literal,)*) => {
        /// The kind of an error, for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum ErrorCode {
            $(#[serde(rename = $name)] #[doc = concat!("`", $name, "`")] $code,)*
        }

        impl ErrorCode {
            /// All codes, by name.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$code),*];

            /// The name that programs see.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$code => $name,)*
                }
            }
        }
    };
}

codes! {
    AddressTooLong = "address-too-long",
    AgentNotStarted = "agent-not-started",
    AmbiguousCommit = "ambiguous-commit",
    AmbiguousConversation = "ambiguous-conversation",
    AmbiguousId = "ambiguous-id",
    BadAction = "bad-action",
    BadArguments = "bad-arguments",
    BadContent = "bad-content",
    BadCut = "bad-cut",
    BadFile = "bad-file",
    BadName = "bad-name",
    BadNumber = "bad-number",
    BadOperation = "bad-operation",
    BadQuery = "bad-query",
    BadRange = "bad-range",
    BadRequest = "bad-request",
    BadRole = "bad-role",
    BlobDamaged = "blob-damaged",
    BlobUnknown = "blob-unknown",
    BlobWrongHash = "blob-wrong-hash",
    BodyTooLarge = "body-too-large",
    Busy = "busy",
    ByHand = "by-hand",
    CannotListen = "cannot-listen",
    CannotReadBack = "cannot-read-back",
    CannotWrite = "cannot-write",
    ChangedMeanwhile = "changed-meanwhile",
    Combined = "combined",
    Config = "config",
    Credential = "credential",
    CredentialNeeded = "credential-needed",
    CrossSite = "cross-site",
    CurrentBranch = "current-branch",
    Cut = "cut",
    CutsAPair = "cuts-a-pair",
    Daemon = "daemon",
    DaemonNotUp = "daemon-not-up",
    DoesNotFit = "does-not-fit",
    Editor = "editor",
    EditsLost = "edits-lost",
    Empty = "empty",
    EmptyBatch = "empty-batch",
    Environment = "environment",
    ExpectNeeded = "expect-needed",
    File = "file",
    ForeignHost = "foreign-host",
    GatewayUnreachable = "gateway-unreachable",
    GatewayUntrusted = "gateway-untrusted",
    Gone = "gone",
    HeadersTooLarge = "headers-too-large",
    Healthy = "healthy",
    HelperBudget = "helper-budget",
    HelperCancelled = "helper-cancelled",
    HelperDown = "helper-down",
    HelperNonsense = "helper-nonsense",
    HelperRefused = "helper-refused",
    HelperSettings = "helper-settings",
    HelperSlow = "helper-slow",
    HelperUnderWay = "helper-under-way",
    HistoryElsewhere = "history-elsewhere",
    HomeNotWritable = "home-not-writable",
    Hook = "hook",
    IdentityRefused = "identity-refused",
    IdentityUnchecked = "identity-unchecked",
    IdentityWrong = "identity-wrong",
    Inactive = "inactive",
    Incomplete = "incomplete",
    Internal = "internal",
    InvalidJson = "invalid-json",
    KeyMisplaced = "key-misplaced",
    KeyNeeded = "key-needed",
    KeyUnchecked = "key-unchecked",
    KeyWrong = "key-wrong",
    Left = "left",
    LocalOnly = "local-only",
    Log = "log",
    LoginRefused = "login-refused",
    MalformedRequest = "malformed-request",
    ManyImages = "many-images",
    ManyQuestions = "many-questions",
    ManyResults = "many-results",
    Mcp = "mcp",
    MemoryDamaged = "memory-damaged",
    Navigation = "navigation",
    Needed = "needed",
    NoAgent = "no-agent",
    NoBrowser = "no-browser",
    NoContent = "no-content",
    NoConversation = "no-conversation",
    NoCut = "no-cut",
    NoDaemon = "no-daemon",
    NoEditor = "no-editor",
    NoFolder = "no-folder",
    NoHome = "no-home",
    NoMatch = "no-match",
    NoName = "no-name",
    NoPhase = "no-phase",
    NoPlace = "no-place",
    NoPort = "no-port",
    NoProjectSettings = "no-project-settings",
    NoRecordings = "no-recordings",
    NoResults = "no-results",
    NoRuntime = "no-runtime",
    NoSuchTurn = "no-such-turn",
    NoSuchUpstream = "no-such-upstream",
    NoTarget = "no-target",
    NoTeam = "no-team",
    NoTerminal = "no-terminal",
    NoThread = "no-thread",
    NoTunnels = "no-tunnels",
    NoWebsocket = "no-websocket",
    NoWords = "no-words",
    NotADaemon = "not-a-daemon",
    NotAFrame = "not-a-frame",
    NotATurn = "not-a-turn",
    NotAllowed = "not-allowed",
    NotComposed = "not-composed",
    NotConfirmed = "not-confirmed",
    NotFirst = "not-first",
    NotOffloaded = "not-offloaded",
    NotRebuilt = "not-rebuilt",
    NotSetUp = "not-set-up",
    NotSignedIn = "not-signed-in",
    NotStopped = "not-stopped",
    NotStored = "not-stored",
    NotText = "not-text",
    NotThroughCtx = "not-through-ctx",
    NotTrusted = "not-trusted",
    NotUnderstood = "not-understood",
    NotWaiting = "not-waiting",
    NotWritten = "not-written",
    NotYours = "not-yours",
    NothingNamed = "nothing-named",
    NothingToClear = "nothing-to-clear",
    NothingToDo = "nothing-to-do",
    NothingToTrust = "nothing-to-trust",
    Nowhere = "nowhere",
    OpenAlready = "open-already",
    OtherBaseUrl = "other-base-url",
    OtherBranch = "other-branch",
    Ours = "ours",
    Output = "output",
    PersonExists = "person-exists",
    PortTaken = "port-taken",
    Protected = "protected",
    ReadOnly = "read-only",
    RemoteRefused = "remote-refused",
    RequestBroken = "request-broken",
    RequestStalled = "request-stalled",
    RoleNeeded = "role-needed",
    SameConversation = "same-conversation",
    ScopeNeeded = "scope-needed",
    Service = "service",
    SettingsBroken = "settings-broken",
    Signals = "signals",
    Stale = "stale",
    StillRunning = "still-running",
    Store = "store",
    StoreAbsent = "store-absent",
    StoreAddress = "store-address",
    StoreCompression = "store-compression",
    StoreCursor = "store-cursor",
    StoreDamaged = "store-damaged",
    StoreDatabase = "store-database",
    StoreFile = "store-file",
    StoreFromTheFuture = "store-from-the-future",
    StoreFull = "store-full",
    StoreGone = "store-gone",
    StoreInUse = "store-in-use",
    StoreNeedsMigration = "store-needs-migration",
    StoreOfAnotherProgram = "store-of-another-program",
    StoreOpenToOthers = "store-open-to-others",
    StoreOtherContent = "store-other-content",
    StoreSlow = "store-slow",
    StoreUnavailable = "store-unavailable",
    SubscriptionRefused = "subscription-refused",
    Taken = "taken",
    Thinking = "thinking",
    Titled = "titled",
    Token = "token",
    TokenNeeded = "token-needed",
    TokenWrong = "token-wrong",
    TooFew = "too-few",
    TooLarge = "too-large",
    TooManyConnections = "too-many-connections",
    TooOften = "too-often",
    TooShort = "too-short",
    TooSlow = "too-slow",
    TrustByAgent = "trust-by-agent",
    TrustUnreadable = "trust-unreadable",
    Unchanged = "unchanged",
    UnknownBranch = "unknown-branch",
    UnknownCommit = "unknown-commit",
    UnknownConversation = "unknown-conversation",
    UnknownId = "unknown-id",
    UnknownJob = "unknown-job",
    UnknownKey = "unknown-key",
    UnknownLogin = "unknown-login",
    UnknownPath = "unknown-path",
    UnknownPerson = "unknown-person",
    UnknownPolicy = "unknown-policy",
    UnknownRequest = "unknown-request",
    UnknownResource = "unknown-resource",
    UnknownRule = "unknown-rule",
    UnknownTag = "unknown-tag",
    UnknownTool = "unknown-tool",
    UnknownDeferredEdit = "unknown-wish",
    Unplayable = "unplayable",
    UnreadableRequest = "unreadable-request",
    Unsupported = "unsupported",
    Upstream = "upstream",
    UpstreamClosed = "upstream-closed",
    UpstreamLoop = "upstream-loop",
    UpstreamSettings = "upstream-settings",
    UpstreamUnreachable = "upstream-unreachable",
    Usage = "usage",
    WrongMethod = "wrong-method",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A code from a program that may be newer than this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ReceivedCode {
    /// A code of this version.
    Known(ErrorCode),
    /// A code that this version lacks.
    Unknown(String),
}

impl From<ErrorCode> for ReceivedCode {
    fn from(code: ErrorCode) -> ReceivedCode {
        ReceivedCode::Known(code)
    }
}

impl PartialEq<ErrorCode> for ReceivedCode {
    fn eq(&self, code: &ErrorCode) -> bool {
        matches!(self, ReceivedCode::Known(known) if known == code)
    }
}

impl fmt::Display for ReceivedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReceivedCode::Known(code) => code.fmt(f),
            ReceivedCode::Unknown(code) => f.write_str(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_have_distinct_names() {
        assert!(ErrorCode::ALL.is_sorted_by(|one, other| one.as_str() < other.as_str()));
    }

    #[test]
    fn a_code_of_a_newer_version_is_kept() {
        let read = |json: &str| serde_json::from_str::<ReceivedCode>(json).expect("a code");
        assert_eq!(read("\"stale\""), ErrorCode::Stale);
        assert_eq!(read("\"newer-than-this\""), ReceivedCode::Unknown("newer-than-this".to_owned()));
        for code in [read("\"stale\""), read("\"newer-than-this\"")] {
            assert_eq!(serde_json::to_string(&code).expect("JSON"), format!("\"{code}\""));
        }
    }
}
