//! The parts of a content and their kinds. Names are in camelCase or in snake_case.

use crate::json::{self, Member, Span, key};
use ctx_core::message::Role;
use std::borrow::Cow;

/// Signatures that the provider does not check (G34).
const UNCHECKED: [&str; 2] = [DUMMY, "context_engineering_is_the_way_to_go"];

/// The signature of a call that the model did not make in this form.
pub(super) const DUMMY: &str = "skip_thought_signature_validator";

/// The kind of a part, by the name of its member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    Text,
    Call,
    Response,
    Inline,
    File,
    /// A call of the provider's own tools, or its result: both stand in a content of the model (G17).
    Hosted,
    Code,
}

const DATA: [(&str, &str, Data); 9] = [
    ("text", "text", Data::Text),
    ("functionCall", "function_call", Data::Call),
    ("functionResponse", "function_response", Data::Response),
    ("inlineData", "inline_data", Data::Inline),
    ("fileData", "file_data", Data::File),
    ("toolCall", "tool_call", Data::Hosted),
    ("toolResponse", "tool_response", Data::Hosted),
    ("executableCode", "executable_code", Data::Code),
    ("codeExecutionResult", "code_execution_result", Data::Code),
];

/// A content: a role and a list of parts.
#[derive(Debug, Default, Clone)]
pub(super) struct Contents {
    pub role: Option<String>,
    /// The list of parts, brackets included.
    pub list: Option<Span>,
    pub parts: Vec<Span>,
}

impl Contents {
    pub fn read(bytes: &[u8]) -> Contents {
        let mut content = Contents::default();
        for member in json::members(bytes, 0).into_iter().flatten().flatten() {
            match key(bytes, &member).as_ref() {
                "role" => content.role = json::string_value(bytes, member.value).map(Cow::into_owned),
                "parts" if bytes.get(member.value.start) == Some(&b'[') => {
                    content.parts = json::elements(bytes, member.value.start).into_iter().flatten().flatten().collect();
                    content.list = Some(member.value);
                }
                _ => {}
            }
        }
        content
    }

    /// A content without a role is the user's (G1).
    pub fn role(&self) -> Role {
        match self.role.as_deref() {
            None | Some("user" | "function") => Role::User,
            Some("model") => Role::Assistant,
            Some(_) => Role::Other,
        }
    }
}

/// One part.
#[derive(Debug, Default, Clone)]
pub(super) struct Part {
    members: Vec<Member>,
    /// The member with its content.
    data: Option<(usize, Data)>,
    /// It is a visible thought of the model.
    pub is_thought: bool,
    signature: Option<usize>,
}

impl Part {
    pub fn read(bytes: &[u8], span: &Span) -> Part {
        let mut part = Part::default();
        for member in json::members(bytes, span.start).into_iter().flatten().flatten() {
            let at = part.members.len();
            let name = key(bytes, &member);
            match name.as_ref() {
                "thought" => part.is_thought = bytes.get(member.value.clone()) == Some(b"true"),
                "thoughtSignature" | "thought_signature" => part.signature = Some(at),
                name => {
                    let found = DATA.iter().find(|(camel, snake, _)| name == *camel || name == *snake);
                    part.data = part.data.or(found.map(|(.., data)| (at, *data)));
                }
            }
            part.members.push(member);
        }
        part
    }

    pub fn data(&self) -> Option<Data> {
        self.data.map(|(_, data)| data)
    }

    /// The value of its content.
    pub fn value(&self) -> Span {
        self.data.and_then(|(at, _)| self.members.get(at)).map_or(0..0, |member| member.value.clone())
    }

    /// The name of its content, as the client spells it.
    pub fn name<'b>(&self, bytes: &'b [u8]) -> Cow<'b, str> {
        let named = self.data.map_or(0, |(at, _)| at);
        self.members.get(named).map_or(Cow::Borrowed(""), |member| key(bytes, member))
    }

    /// A member of its content.
    pub fn member(&self, bytes: &[u8], name: &str) -> Option<Span> {
        let value = self.value();
        (bytes.get(value.start) == Some(&b'{')).then(|| member(bytes, &value, name)).flatten()
    }

    /// The cut that removes a member of its content, with its comma.
    pub fn member_cut(&self, bytes: &[u8], name: &str) -> Option<Span> {
        let members: Vec<Member> = json::members(bytes, self.value().start)?.flatten().collect();
        let wholes: Vec<Span> = members.iter().map(Member::whole).collect();
        let at = members.iter().position(|member| key(bytes, member) == name)?;
        Some(crate::compose::spell::cut(&wholes, at))
    }

    /// Whether its content has no members but these.
    pub fn has_only(&self, bytes: &[u8], names: &[&str]) -> bool {
        let members = json::members(bytes, self.value().start).into_iter().flatten().flatten();
        members.into_iter().all(|member| names.contains(&key(bytes, &member).as_ref()))
    }

    /// The text of a member of its content; an empty one counts as none.
    pub fn text<'b>(&self, bytes: &'b [u8], name: &str) -> Option<Cow<'b, str>> {
        json::string_value(bytes, self.member(bytes, name)?).filter(|text| !text.is_empty())
    }

    /// Whether it has no members beside its content, a signature, and the thought flag.
    pub fn is_plain(&self, bytes: &[u8]) -> bool {
        let known = ["thought", "thoughtSignature", "thought_signature"];
        let is_data = |at: usize| self.data.is_some_and(|(data, _)| data == at);
        let mut members = self.members.iter().enumerate();
        members.all(|(at, member)| is_data(at) || known.contains(&key(bytes, member).as_ref()))
    }

    /// The signature of the model's reasoning.
    pub fn signature<'b>(&self, bytes: &'b [u8]) -> Option<Cow<'b, str>> {
        let member = self.members.get(self.signature?)?;
        json::string_value(bytes, member.value.clone()).filter(|text| !text.is_empty())
    }

    /// The signature, if it is unique to this part.
    pub fn checked_signature<'b>(&self, bytes: &'b [u8]) -> Option<Cow<'b, str>> {
        self.signature(bytes).filter(|text| !UNCHECKED.contains(&text.as_ref()))
    }

    /// The cut that removes the signature, with its comma.
    pub fn signature_cut(&self) -> Option<Span> {
        let wholes: Vec<Span> = self.members.iter().map(Member::whole).collect();
        self.signature.map(|at| crate::compose::spell::cut(&wholes, at))
    }
}

/// The member of an object.
pub(super) fn member(bytes: &[u8], object: &Span, name: &str) -> Option<Span> {
    crate::compose::spell::member(bytes, object.start, name).map(|member| member.value)
}
