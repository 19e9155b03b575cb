//! The Anthropic Messages format: what a request says and how it is recognised; what a response
//! told. Nothing here knows where the bytes come from or go to.

pub mod cache;
pub mod compose;
pub mod content;
pub mod context_management;
pub mod draft;
pub mod dress;
pub mod envelope;
mod image;
pub mod message;
mod pdf;
pub mod recover;
pub mod request;
pub mod rules;
pub mod tap;
