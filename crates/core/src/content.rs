//! Content in a neutral form: what an edit puts into a conversation, on whichever wire it is sent. Each wire writes it in
//! its own JSON. The bytes of a client are never made from it.

use crate::tokens;
use serde::{Deserialize, Serialize};

/// Names a wire, in records and in messages to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireId {
    Anthropic,
    OpenaiChat,
    OpenaiResponses,
    Gemini,
}

impl WireId {
    pub fn name(self) -> &'static str {
        match self {
            WireId::Anthropic => "anthropic",
            WireId::OpenaiChat => "openai-chat",
            WireId::OpenaiResponses => "openai-responses",
            WireId::Gemini => "gemini",
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
    /// What the model thought. It is shown, and no edit stores it: providers refuse reasoning that they did not write.
    /// `sealed`: it is encrypted, and nothing of it can be read.
    Reasoning {
        text: String,
        sealed: bool,
    },
    /// JSON that only its wire understands: a block with fields of its own, a tool definition.
    Raw {
        wire: WireId,
        json: String,
        /// The id of the tool call that it makes, or answers.
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
    /// The text of a JSON object: its numbers and the order of its keys are kept.
    Json(String),
}

/// Where the bytes of an image or a document are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Base64 {
        media: String,
        data: String,
    },
    Url(String),
    /// Uploaded to the provider earlier.
    File {
        wire: WireId,
        id: String,
    },
}

impl Content {
    pub fn text(text: impl Into<String>) -> Content {
        Content::Text { text: text.into() }
    }

    /// The words of a text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text { text } => Some(text),
            _ => None,
        }
    }

    /// The id of the tool call that it makes.
    pub fn calls(&self) -> Option<&str> {
        match self {
            Content::Call { id, .. } | Content::Raw { calls: id, .. } => id.as_deref(),
            _ => None,
        }
    }

    /// The id of the tool call that it answers.
    pub fn answers(&self) -> Option<&str> {
        match self {
            Content::Result { id, .. } | Content::Raw { answers: id, .. } => id.as_deref(),
            _ => None,
        }
    }

    /// The same call or result under this id, if it has none of its own.
    #[must_use]
    pub fn linked(mut self, to: Option<&str>) -> Content {
        if let Content::Call { id, .. } | Content::Result { id, .. } = &mut self
            && id.is_none()
        {
            *id = to.map(str::to_owned);
        }
        self
    }

    /// The uncorrected estimate of its tokens.
    pub fn weigh(&self) -> f64 {
        let (chars, fixed) = self.size();
        tokens::estimate(chars, fixed)
    }

    /// The characters that the model reads, and the tokens of its pictures.
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

/// Tokens of a picture whose size is unknown: what providers ask for a screenshot.
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
