//! The wires whose requests the shared composer writes: whatever the operations are, a strict provider takes the result,
//! and what was deleted is not in it.

#[path = "wires/case.rs"]
mod case;
#[path = "wires/chat.rs"]
mod chat;
#[path = "wires/chat_cache.rs"]
mod chat_cache;
#[path = "wires/chat_reasoning.rs"]
mod chat_reasoning;
#[path = "wires/chat_servers.rs"]
mod chat_servers;
#[path = "wires/continued.rs"]
mod continued;
#[path = "wires/effects.rs"]
mod effects;
#[path = "wires/gemini.rs"]
mod gemini;
#[path = "wires/long.rs"]
mod long;
#[path = "wires/responses.rs"]
mod responses;
