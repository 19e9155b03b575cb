//! The default providers of requests.

/// The provider that a client addresses by path and headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Anthropic,
    OpenAi,
    /// The backend of ChatGPT subscriptions, used by Codex.
    ChatGpt,
    Gemini,
    /// Gemini behind a Google login, used by Gemini CLI.
    CodeAssist,
    /// Google's Vertex AI, with models of Google and Anthropic.
    Vertex,
    /// Amazon Bedrock. Its calls are not read.
    Bedrock,
}

impl Provider {
    pub const ALL: [Provider; 7] = [
        Provider::Anthropic,
        Provider::OpenAi,
        Provider::ChatGpt,
        Provider::Gemini,
        Provider::CodeAssist,
        Provider::Vertex,
        Provider::Bedrock,
    ];

    /// The provider of a call without any indication, for compatibility, and of an upstream without a name.
    pub const DEFAULT: Provider = Provider::Anthropic;

    /// The name of its upstream in settings and in `/to/NAME/…`.
    pub fn name(self) -> &'static str {
        match self {
            Provider::Anthropic => "anthropic",
            Provider::OpenAi => "openai",
            Provider::ChatGpt => "chatgpt",
            Provider::Gemini => "gemini",
            Provider::CodeAssist => "code-assist",
            Provider::Vertex => "vertex",
            Provider::Bedrock => "bedrock",
        }
    }

    pub const fn url(self) -> &'static str {
        match self {
            Provider::Anthropic => "https://api.anthropic.com",
            Provider::OpenAi => "https://api.openai.com",
            Provider::ChatGpt => "https://chatgpt.com",
            Provider::Gemini => "https://generativelanguage.googleapis.com",
            Provider::CodeAssist => "https://cloudcode-pa.googleapis.com",
            // The region `global`; every other one has a host of its own.
            Provider::Vertex => "https://aiplatform.googleapis.com",
            // Every region has a host of its own.
            Provider::Bedrock => "https://bedrock-runtime.us-east-1.amazonaws.com",
        }
    }

    /// The header of an API key, and the text before the key in it. `None`: the provider takes no API keys.
    pub fn key_header(self) -> Option<(&'static str, &'static str)> {
        match self {
            Provider::Anthropic => Some(("x-api-key", "")),
            Provider::OpenAi | Provider::Bedrock => Some(("authorization", "Bearer ")),
            Provider::Gemini | Provider::Vertex => Some(("x-goog-api-key", "")),
            Provider::ChatGpt | Provider::CodeAssist => None,
        }
    }

    /// Whether a credential, in whatever header, is the login of a person's subscription, and not an API key.
    pub fn is_subscription(self, credential: &str) -> bool {
        match self {
            Provider::ChatGpt | Provider::CodeAssist => true,
            _ => credential.contains("sk-ant-oat"),
        }
    }

    /// Determines the provider from the path of a call and the names of its headers. Credentials go to no other, so a
    /// bearer token on a path that several providers have goes to Anthropic only with a header of its clients.
    pub fn of(path: &str, has_header: &dyn Fn(&str) -> bool) -> Provider {
        const OPENAI: [&str; 6] =
            ["/chat/completions", "/completions", "/responses", "/embeddings", "/responses/compact", "/moderations"];
        const BEDROCK: [&str; 5] =
            ["/invoke", "/invoke-with-response-stream", "/converse", "/converse-stream", "/count-tokens"];
        const GEMINI: [&str; 4] = [":generateContent", ":streamGenerateContent", ":countTokens", ":embedContent"];
        let is_openai = OPENAI.iter().any(|ending| path.ends_with(ending)) || path.contains("/v1/responses/");
        let is_anthropics = ["x-api-key", "anthropic-version", "anthropic-beta"].iter().any(|name| has_header(name));
        let is_bearers = path.starts_with("/v1/") && has_header("authorization") && !is_anthropics;
        let is_gemini = has_header("x-goog-api-key") || path.starts_with("/v1beta/");
        let is_bedrock = path.contains("/model/") && BEDROCK.iter().any(|ending| path.ends_with(ending));
        if path.contains("/publishers/") {
            Provider::Vertex
        } else if is_bedrock {
            Provider::Bedrock
        } else if has_header("anthropic-version") || path.contains("/v1/messages") {
            Provider::Anthropic
        } else if has_header("chatgpt-account-id") || path.starts_with("/backend-api/") {
            Provider::ChatGpt
        } else if path.starts_with("/v1internal") {
            Provider::CodeAssist
        } else if is_gemini || GEMINI.iter().any(|ending| path.ends_with(ending)) {
            Provider::Gemini
        } else if is_openai || is_bearers {
            Provider::OpenAi
        } else {
            Provider::DEFAULT
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_of_a_subscription_is_told_from_an_api_key() {
        assert!(Provider::Anthropic.is_subscription("sk-ant-oat01-x") && Provider::ChatGpt.is_subscription("x"));
        assert!(!Provider::Anthropic.is_subscription("sk-ant-api03-x") && !Provider::OpenAi.is_subscription("sk-x"));
    }

    #[test]
    fn a_call_goes_to_the_provider_that_it_is_meant_for() {
        let of = |path: &str, headers: &[&str]| Provider::of(path, &|name| headers.contains(&name));
        for (path, headers, expected) in [
            ("/v1/messages", &["x-api-key"][..], Provider::Anthropic),
            ("/anthropic/v1/messages/count_tokens", &[], Provider::Anthropic),
            ("/v1/models", &["authorization", "anthropic-version"], Provider::Anthropic),
            ("/v1/models", &["authorization"], Provider::OpenAi),
            ("/v1/models", &["x-api-key"], Provider::Anthropic),
            ("/v1/files", &["authorization", "anthropic-beta"], Provider::Anthropic),
            ("/v1/files", &["authorization"], Provider::OpenAi),
            ("/v1/images/generations", &["authorization"], Provider::OpenAi),
            ("/v1/memories/trace_summarize", &["authorization"], Provider::OpenAi),
            ("/v1/realtime/calls", &["authorization"], Provider::OpenAi),
            ("/v1/chat/completions", &["authorization"], Provider::OpenAi),
            ("/v1/responses", &["authorization"], Provider::OpenAi),
            ("/v1/responses", &["authorization", "chatgpt-account-id"], Provider::ChatGpt),
            ("/backend-api/codex/responses", &["authorization"], Provider::ChatGpt),
            ("/v1beta/models/gemini-4-pro:streamGenerateContent", &["x-goog-api-key"], Provider::Gemini),
            ("/v1internal:streamGenerateContent", &["authorization"], Provider::CodeAssist),
            ("/v1internal:loadCodeAssist", &["authorization"], Provider::CodeAssist),
            ("/v1internal/operations/x", &["authorization"], Provider::CodeAssist),
            ("/api/oauth/profile", &["authorization"], Provider::Anthropic),
            ("/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict", &[], Provider::Vertex),
            ("/model/us.anthropic.m-v1:0/invoke-with-response-stream", &["anthropic-version"], Provider::Bedrock),
            ("/bedrock/model/m/converse", &["authorization"], Provider::Bedrock),
            ("/v1beta1/publishers/google/models/m:generateContent", &["x-goog-api-key"], Provider::Vertex),
        ] {
            assert_eq!(of(path, headers), expected, "{path} {headers:?}");
        }
        assert_eq!(
            Provider::ALL.map(|provider| Provider::of("/", &|_| false) == provider),
            [true, false, false, false, false, false, false]
        );
    }
}
