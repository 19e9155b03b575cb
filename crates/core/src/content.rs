//! Content in a neutral form: what an edit writes, independent of the wire. Each wire writes it in its own JSON. The
//! client's own bytes are never generated from it.

use crate::{links, tokens};
use serde::{Deserialize, Serialize};

/// Names a wire, in records and in messages to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireId {
    Anthropic,
    OpenaiChat,
    OpenaiResponses,
    Gemini,
    /// The wire of a program that uses the engine with a format of its own.
    Custom,
}

impl WireId {
    pub fn name(self) -> &'static str {
        match self {
            WireId::Anthropic => "anthropic",
            WireId::OpenaiChat => "openai-chat",
            WireId::OpenaiResponses => "openai-responses",
            WireId::Gemini => "gemini",
            WireId::Custom => "custom",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Content {
    Text {
        text: String,
    },
    /// A tool call. Some wires have no ids.
    Call {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        name: String,
        input: CallInput,
    },
    /// The result of a tool call.
    Result {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        parts: Vec<Content>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        error: bool,
    },
    Image {
        from: Origin,
    },
    Document {
        from: Origin,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// The model's reasoning. Views show it; edits never store it, because providers refuse reasoning that they did not
    /// write. `sealed`: it is encrypted and cannot be read.
    Reasoning {
        text: String,
        sealed: bool,
    },
    /// JSON that only its own wire understands: a block with unknown fields, a tool definition.
    Raw {
        wire: WireId,
        json: String,
        /// The id of the tool call that it makes or answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        calls: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answers: Option<String>,
    },
}

/// The input of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallInput {
    /// The text of a JSON object; preserves numbers and key order.
    Json(String),
}

/// The location of an image's or document's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Base64 {
        media: String,
        data: String,
    },
    Url(String),
    /// A file uploaded to the provider earlier.
    File {
        wire: WireId,
        id: String,
    },
}

impl Content {
    pub fn text(text: impl Into<String>) -> Content {
        Content::Text { text: text.into() }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text { text } => Some(text),
            _ => None,
        }
    }

    /// The id of the tool call, if it is one.
    pub fn calls(&self) -> Option<&str> {
        match self {
            Content::Call { id, .. } | Content::Raw { calls: id, .. } => id.as_deref(),
            _ => None,
        }
    }

    /// The id of the tool call that it answers, if it is a result.
    pub fn answers(&self) -> Option<&str> {
        match self {
            Content::Result { id, .. } | Content::Raw { answers: id, .. } => id.as_deref(),
            _ => None,
        }
    }

    /// Gives a call or result this id, if it has none, or the one that the client gave to the same call.
    #[must_use]
    pub fn linked(mut self, to: Option<&str>) -> Content {
        let Some(to) = to else { return self };
        let is_own = |id: &Option<String>| id.is_some() && id.as_deref() == links::sent_id(to);
        match &mut self {
            Content::Call { id, .. } | Content::Result { id, .. } if id.is_none() || is_own(id) => {
                *id = Some(to.to_owned());
            }
            Content::Raw { calls: id, .. } | Content::Raw { answers: id, .. } if is_own(id) => {
                *id = Some(to.to_owned())
            }
            _ => {}
        }
        self
    }

    /// Estimates its tokens, uncalibrated.
    pub fn weigh(&self) -> f64 {
        let (chars, fixed) = self.size();
        tokens::estimate(chars, fixed)
    }

    /// The characters that the model reads, and the tokens of images.
    fn size(&self) -> (u32, u32) {
        match self {
            Content::Text { text } | Content::Reasoning { text, .. } => (chars(text), 0),
            Content::Call { name, input: CallInput::Json(input), .. } => (chars(name) + chars(input), 0),
            Content::Result { parts, .. } => {
                let sizes = parts.iter().map(Content::size);
                sizes.fold((0, 0), |(chars, fixed), (more, pictures)| (chars + more, fixed + pictures))
            }
            Content::Image { .. } => (0, PICTURE),
            Content::Document { from, title } => (from.chars() + title.as_deref().map_or(0, chars), 0),
            Content::Raw { json, .. } => (chars(json), 0),
        }
    }
}

/// Tokens of an image of unknown size: the usual charge for a screenshot.
const PICTURE: u32 = 1_600;

impl Origin {
    fn chars(&self) -> u32 {
        match self {
            Origin::Base64 { data: text, .. } | Origin::Url(text) | Origin::File { id: text, .. } => chars(text),
        }
    }
}

fn chars(text: &str) -> u32 {
    text.chars().count() as u32
}
