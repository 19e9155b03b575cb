//! Commands on one machine, a team's daemon with TLS on another: two homes, and nothing but the gateway's address in
//! common.

mod login;
mod reach;
mod run;
mod scene;
#[path = "../mcp/speaker.rs"]
#[allow(dead_code)]
mod speaker;
#[path = "../clients/stage.rs"]
#[allow(dead_code)]
mod stage;
