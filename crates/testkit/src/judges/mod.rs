//! Strict judges of the formats without a fake provider of their own here: what a provider would refuse, by the rules of
//! its API. They share no code with `ctx`.

pub mod chat;
pub mod gemini;
pub mod responses;
