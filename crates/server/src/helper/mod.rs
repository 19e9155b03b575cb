//! The helper model: writes missing texts of operations. The daemon calls it in the background with separate
//! credentials, never with the client's. [`ctx_service::helper`] decides about the prompt and the use of the answer.

mod api;
mod jobs;
mod program;
mod settings;
mod titles;

use ctx_engine::Refusal;
use ctx_engine::helper::{Prompt, Question};
use ctx_engine::log::HelperUse;
pub use settings::{Provider, Settings, Variables};

pub(crate) use jobs::{Handle, Jobs, Work};
pub(crate) use titles::retitle;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ctx_core::hint::{Argument, Command};
use ctx_core::{ErrorCode, Hint, hint};
use ctx_service::helper::Budget;
use ctx_wire::question::{Question as ModelQuestion, QuestionAnswer, QuestionTokens};
use http::StatusCode;

use crate::config::{self, Limits, UpstreamUrl};
use crate::proxy::Target;

/// The reason for a missing text.
#[derive(Debug)]
enum Trouble {
    Settings { what: String, hint: Hint },
    Down(String),
    Refused { status: StatusCode, said: Option<String> },
    Nonsense(&'static str),
    Slow,
}

fn or_text() -> Hint {
    hint![
        "Try again, write the text yourself (",
        Argument::new("text"),
        ", ",
        Argument::new("title"),
        "), or set `provider = \"none\"` under [helper] in ctx.toml."
    ]
}

pub(crate) struct Helper {
    settings: Settings,
    budget: Arc<Budget>,
    target: Option<Result<Target, String>>,
    listen: OnceLock<SocketAddr>,
}

impl Helper {
    /// `upstream` provides proxies and authorities.
    pub(crate) fn new(settings: Settings, upstream: &config::Upstream, limits: &Limits, home: &Path) -> Self {
        let url = settings.url.clone().or_else(|| settings.provider.usual_url()?.parse().ok());
        let target = url.filter(|_| settings.provider.wire().is_some()).map(|url: UpstreamUrl| {
            let upstream = config::Upstream { url, http2: false, ..upstream.clone() };
            Target::new(&upstream, limits).map_err(|error| error.to_string())
        });
        let budget = Budget::open(home.join("helper.json"), settings.budget_per_day);
        Self { settings, budget, target, listen: OnceLock::new() }
    }

    pub(crate) fn listens_on(&self, address: SocketAddr) {
        let _ = self.listen.set(address);
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Whether a model is called.
    pub(crate) fn is_on(&self) -> bool {
        self.settings.provider != Provider::None
    }

    /// The name of the writer, for people.
    pub(crate) fn name(&self) -> String {
        let provider = self.settings.provider;
        match self.settings.model() {
            _ if provider == Provider::None => ctx_engine::helper::SELF.to_owned(),
            model if provider.is_program() => format!("{} ({model})", provider.name()),
            model => model.to_owned(),
        }
    }

    /// The text that a question asks for.
    pub(crate) async fn words(&self, question: &Question) -> Result<String, Refusal> {
        self.answer(question).await.0
    }

    /// The same, with the tokens that it took.
    pub(crate) async fn answer(&self, question: &Question) -> (Result<String, Refusal>, QuestionTokens) {
        let prompt = question.prompt(self.settings.max_chars, ctx_service::now());
        let (text, used) = self.ask(&prompt).await;
        let clean = |text: String| {
            question.clean(&text).map_err(|nonsense| {
                self.refusal(&Trouble::Nonsense(match nonsense {
                    ctx_engine::helper::Nonsense::Empty => "it is empty",
                    ctx_engine::helper::Nonsense::NotShorter => "it is not shorter than the original",
                    ctx_engine::helper::Nonsense::NoTitle => "it is too long for a title",
                }))
            })
        };
        (text.and_then(clean), used)
    }

    /// The most that questions may take.
    pub(crate) fn most(&self, questions: &[Question]) -> HelperUse {
        let most = questions.iter().map(|question| question.prompt(self.settings.max_chars, 0).most());
        let (input, output) = most.fold((0, 0), |sum, (input, output)| (sum.0 + input, sum.1 + output));
        self.used(QuestionTokens { input, output })
    }

    /// These tokens, of this model.
    pub(crate) fn used(&self, QuestionTokens { input, output }: QuestionTokens) -> HelperUse {
        HelperUse { model: self.settings.model().to_owned(), input, output }
    }

    /// Calls the model within the budget and the timeout.
    async fn ask(&self, prompt: &Prompt) -> (Result<String, Refusal>, QuestionTokens) {
        let nothing = QuestionTokens::default();
        let reserved = match self.check().map_err(|trouble| self.refusal(&trouble)) {
            Ok(()) => self.budget.reserve(prompt.estimate()),
            Err(refusal) => Err(refusal),
        };
        let reserved = match reserved {
            Ok(reserved) => reserved,
            Err(refusal) => return (Err(refusal), nothing),
        };
        let asked = tokio::time::timeout(self.settings.timeout, self.send(prompt)).await.unwrap_or(Err(Trouble::Slow));
        let (input, output) = prompt.most();
        let most = QuestionTokens { input, output };
        match asked {
            Ok(said) => {
                reserved.settle(said.tokens.map(|tokens| tokens.input + tokens.output));
                (Ok(said.text), said.tokens.unwrap_or(most))
            }
            // A call that never reached a model has cost nothing; the cost of the others is unknown.
            Err(trouble @ (Trouble::Settings { .. } | Trouble::Refused { .. } | Trouble::Down(_))) => {
                reserved.settle(Some(0));
                (Err(self.refusal(&trouble)), nothing)
            }
            Err(trouble) => (Err(self.refusal(&trouble)), most),
        }
    }

    async fn send(&self, prompt: &Prompt) -> Result<QuestionAnswer, Trouble> {
        let Settings { provider, key, .. } = &self.settings;
        let Prompt { system, user, max_tokens } = prompt;
        let question = ModelQuestion { model: self.settings.model(), system, user, max_tokens: *max_tokens };
        match (provider.wire().and_then(|wire| ctx_wire::wire(wire).questions()), &self.target) {
            (Some(questions), Some(Ok(target))) => api::ask(questions, target, key.as_ref(), &question).await,
            _ if provider.is_program() => program::ask(&self.settings, prompt).await,
            _ => {
                Err(Trouble::Settings { what: "The helper model is not configured.".to_owned(), hint: see_settings() })
            }
        }
    }

    /// Errors in the settings, before anything is sent.
    fn check(&self) -> Result<(), Trouble> {
        let wrong = |what: String| Err(Trouble::Settings { what, hint: see_settings() });
        let settings = &self.settings;
        if let Some(Err(why)) = &self.target {
            return wrong(format!("The helper model cannot be reached with these settings: {why}."));
        }
        let (provider, has_address) = (settings.provider, settings.url.is_some() && settings.model.is_some());
        if provider.wire().is_some() && provider.usual_url().is_none() && !has_address {
            return wrong(format!("The helper `{}` needs a `url` and a `model`.", provider.name()));
        }
        if settings.key.is_none() && (provider.needs_key() || settings.key_env.is_some()) {
            let name = settings.key_env.as_deref().unwrap_or("CTX_HELPER_KEY");
            return wrong(format!("The helper model's key is missing: {name} was not set when the daemon started."));
        }
        let is_us = |url: &UpstreamUrl| {
            let local = url.host().trim_matches(['[', ']']).parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
            (local || url.host() == "localhost") && self.listen.get().is_some_and(|own| own.port() == url.port())
        };
        if settings.url.as_ref().is_some_and(is_us) {
            return wrong("The helper's `url` is this daemon itself.".to_owned());
        }
        Ok(())
    }

    fn refusal(&self, trouble: &Trouble) -> Refusal {
        let name = self.name();
        let unchanged = |message: String| format!("{message} Nothing was changed.");
        match trouble {
            Trouble::Settings { what, hint } => {
                Refusal::new(ErrorCode::HelperSettings, unchanged(what.clone()), hint.clone())
            }
            Trouble::Down(why) => {
                let message = format!("The helper model ({name}) cannot be reached: {why}.");
                Refusal::new(ErrorCode::HelperDown, unchanged(message), or_text())
            }
            Trouble::Refused { status, said } => {
                let said = said.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
                let message = unchanged(format!(
                    "The helper model ({name}) refused the request with status {}{said}.",
                    status.as_u16()
                ));
                match api::is_passing(*status) {
                    true => Refusal::new(ErrorCode::HelperDown, message, or_text()),
                    false => Refusal::new(ErrorCode::HelperRefused, message, or_text()),
                }
            }
            Trouble::Nonsense(why) => {
                let message = format!("The answer of the helper model ({name}) is unusable: {why}.");
                Refusal::new(ErrorCode::HelperNonsense, unchanged(message), or_text())
            }
            Trouble::Slow => {
                let seconds = self.settings.timeout.as_secs_f32();
                let message = format!("The helper model ({name}) did not answer within {seconds} s.");
                Refusal::new(ErrorCode::HelperSlow, unchanged(message), or_text())
            }
        }
    }
}

fn see_settings() -> Hint {
    hint!["See [helper] in ctx.toml; ", Command::Helper, " shows the settings. The daemon reads them at its start."]
}
