//! The settings of the helper model.

use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

use ctx_clients::question;
use ctx_wire::WireId;

use crate::config::UpstreamUrl;
use crate::secret::Secret;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provider {
    /// No model: ctx extracts the texts.
    #[default]
    None,
    /// Anthropic's API, with the user's own key.
    Anthropic,
    /// Any server of `/v1/chat/completions`, including local models.
    OpenAi,
    /// The user's own `claude -p`.
    Claude,
}

impl Provider {
    pub const NAMES: [&'static str; 4] = ["none", "anthropic", "openai", "claude"];

    pub fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "anthropic" => Some(Self::Anthropic),
            "openai" => Some(Self::OpenAi),
            "claude" => Some(Self::Claude),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Claude => "claude",
        }
    }

    /// The format of its requests; `None` if it is not called over HTTP.
    pub fn wire(self) -> Option<WireId> {
        match self {
            Self::None | Self::Claude => None,
            Self::Anthropic => Some(WireId::Anthropic),
            Self::OpenAi => Some(WireId::OpenaiChat),
        }
    }

    /// The address for settings without one.
    pub fn usual_url(self) -> Option<&'static str> {
        (self == Self::Anthropic).then(|| ctx_wire::Provider::Anthropic.url())
    }

    pub fn needs_key(self) -> bool {
        self == Self::Anthropic
    }

    /// Whether it is a program on this machine.
    pub fn is_program(self) -> bool {
        self == Self::Claude
    }
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub provider: Provider,
    pub url: Option<UpstreamUrl>,
    pub model: Option<String>,
    /// The variable that contains the key. Its name may be shown.
    pub key_env: Option<String>,
    pub key: Option<Secret>,
    /// Tokens, input and output.
    pub budget_per_day: u64,
    /// The timeout of one response.
    pub timeout: Duration,
    /// The maximum number of characters of a conversation per request.
    pub max_chars: usize,
    /// Rewrite the titles of frames that have grown much, in the background.
    pub titles: bool,
    /// Summarise ended phases in the background, where automatic editing is on.
    pub phases: bool,
    /// The environment of the program, without anything that leads it back to us.
    pub environment: Variables,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            provider: Provider::None,
            url: None,
            model: None,
            key_env: None,
            key: None,
            budget_per_day: 200_000,
            timeout: Duration::from_secs(60),
            max_chars: 100_000,
            titles: false,
            phases: false,
            environment: Variables::default(),
        }
    }
}

impl Settings {
    /// The name of the model.
    pub fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(match self.provider {
            Provider::Anthropic => "claude-haiku-5-5",
            Provider::Claude => question::MODEL,
            Provider::None | Provider::OpenAi => "",
        })
    }
}

/// Variables whose values must not be shown.
#[derive(Clone, Default)]
pub struct Variables(Vec<(OsString, OsString)>);

impl Variables {
    /// Without variables that would lead a client to us, or make it part of another session.
    pub fn without_hints(all: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let is_hint = |name: &str| {
            let name = name.to_ascii_uppercase();
            question::leads_back(&name) || name.starts_with("CTX_")
        };
        Self(all.into_iter().filter(|(name, _)| !is_hint(&name.to_string_lossy())).collect())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} variables", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_environment_leads_back_to_us() {
        let names = ["PATH", "HOME", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_SESSION_ID", "CLAUDECODE", "CTX_HOME"];
        let kept = Variables::without_hints(names.map(|name| (name.into(), "hush".into())));
        let kept_names: Vec<_> = kept.all().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        assert_eq!(kept_names, ["PATH", "HOME"]);
        assert_eq!(format!("{kept:?}"), "2 variables");
    }

    #[test]
    fn providers_go_by_their_names() {
        for name in Provider::NAMES {
            assert_eq!(Provider::named(name).map(Provider::name), Some(name));
        }
        assert_eq!(Provider::named("other"), None);
    }
}
