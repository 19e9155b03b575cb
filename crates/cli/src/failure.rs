//! Turns errors into output: `error:` and `hint:` on stderr for people, one JSON object on stdout for programs.
//! Messages and hints come from the failing code.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use ctx_api::error::ApiError;
use ctx_config::ConfigError;
use ctx_core::{ErrorCode, ReceivedCode};
use ctx_engine::Refusal;
use ctx_server::daemon::DaemonError;
use ctx_server::{BindError, TokenError};
use ctx_store::StoreError;
use ctx_team::TeamError;

use crate::output::{Output, Paint, text, words};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Stable, for programs.
    pub code: ReceivedCode,
    pub message: String,
    pub hint: Option<String>,
    /// The name that the failure refers to.
    pub about: Option<String>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Refused or failed.
    Refused,
    /// The command line is invalid.
    Usage,
    /// The reader of the output has closed it, so nothing is reported.
    Unread,
}

impl Failure {
    pub fn new(code: impl Into<ReceivedCode>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), hint: None, about: None, kind: Kind::Refused }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, ..Self::new(ErrorCode::Usage, message) }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self
    }

    /// A failed file operation.
    pub fn file(doing: &str, path: &Path, error: &io::Error) -> Self {
        ConfigError::file(doing, path, error).into()
    }

    /// Reports the failure and returns the exit code.
    pub fn report(&self, json: bool, output: &Output) -> ExitCode {
        match self.kind {
            Kind::Unread => return ExitCode::SUCCESS,
            Kind::Refused | Kind::Usage if json => {
                // If this fails too, the exit code remains.
                let _ = output.print_lines(&format!("{}\n", self.as_json()));
            }
            Kind::Refused | Kind::Usage => output.print_error(&self.in_words(&output.for_errors)),
        }
        if self.kind == Kind::Usage { ExitCode::from(2) } else { ExitCode::FAILURE }
    }

    fn in_words(&self, paint: &Paint) -> String {
        let mut words = format!("{} {}\n", paint.bad("error:"), text::block(&words::grouped(&self.message)).trim_end());
        if let Some(hint) = &self.hint {
            words.push_str(&format!("{} {}\n", paint.strong("hint:"), text::block(hint).trim_end()));
        }
        words
    }

    pub fn as_json(&self) -> serde_json::Value {
        serde_json::json!({ "error": { "code": self.code, "message": self.message, "hint": self.hint } })
    }
}

/// A failed write to the output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::BrokenPipe { Kind::Unread } else { Kind::Refused };
        Self { kind, ..Self::new(ErrorCode::Output, format!("cannot write the output: {error}")) }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let mut message = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(deeper) = cause {
            message.push_str(&format!(": {deeper}"));
            cause = deeper.source();
        }
        Self::new(error.code(), message).hint(error.hint())
    }
}

impl From<TeamError> for Failure {
    fn from(error: TeamError) -> Self {
        match error {
            TeamError::Store(error) => error.into(),
            TeamError::Refused { code, message, hint } => Self::new(code, message).hint(hint),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(error.code, error.message).hint(error.hint.unwrap_or_default())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { about: refusal.about, ..Self::new(refusal.code, refusal.message).hint(refusal.hint.to_string()) }
    }
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Self {
        Self::new(ErrorCode::Token, error.to_string()).hint(error.hint())
    }
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Self {
        let code = match &error {
            DaemonError::Bind(BindError::RemoteRefused { .. } | BindError::RemoteMetrics { .. }) => {
                ErrorCode::RemoteRefused
            }
            DaemonError::Bind(BindError::PortTaken { .. }) => ErrorCode::PortTaken,
            DaemonError::Bind(BindError::Tls(_) | BindError::Listen { .. }) => ErrorCode::CannotListen,
            DaemonError::Bind(BindError::Loop { .. }) => ErrorCode::UpstreamLoop,
            DaemonError::Bind(BindError::Setup(_)) => ErrorCode::UpstreamSettings,
            DaemonError::Thread(_) => ErrorCode::NoThread,
        };
        let hint = match &error {
            DaemonError::Bind(error) => error.hint(),
            DaemonError::Thread(_) => "",
        };
        Self::new(code, error.to_string()).hint(hint)
    }
}

/// A refusal of the daemon, unchanged.
impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self { about: error.about, ..Self::new(error.code, error.message).hint(error.hint.unwrap_or_default()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_server::PortHolder;

    #[test]
    fn a_failure_says_what_happened_and_what_to_do() {
        let failure = Failure::new(ErrorCode::NoDaemon, "no daemon is running").hint("start it with `ctx up`");
        insta::assert_snapshot!(failure.in_words(&Paint::plain()), @r"
        error: no daemon is running
        hint: start it with `ctx up`
        ");
        insta::assert_snapshot!(failure.as_json().to_string(), @r#"{"error":{"code":"no-daemon","message":"no daemon is running","hint":"start it with `ctx up`"}}"#);
    }

    #[test]
    fn words_of_others_cannot_drive_the_terminal() {
        let failure = Failure::new(ErrorCode::UnknownId, "Nothing is called `\u{1b}[2J`.");
        assert!(!failure.in_words(&Paint::plain()).contains('\u{1b}'));
    }

    #[test]
    fn a_taken_port_names_its_holder_and_the_advice_is_the_hint() {
        let listen = "127.0.0.1:8788".parse().expect("an address");
        let taken = BindError::PortTaken { listen, holder: Some(PortHolder::Program("nginx (process 7)".to_owned())) };
        let failure = Failure::from(DaemonError::Bind(taken));
        insta::assert_snapshot!(failure.in_words(&Paint::plain()), @r"
        error: cannot listen on 127.0.0.1:8788: the port is in use by nginx (process 7)
        hint: stop that program, or choose another port with --listen
        ");
        assert_eq!(failure.code, ErrorCode::PortTaken);
    }

    #[test]
    fn a_reader_that_left_is_no_failure() {
        let left = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(left.kind, Kind::Unread);
    }
}
