//! A daemon for a team: keys, ownership, shares, and who may use which route.

#[path = "../support/mod.rs"]
mod support;

mod keys;
mod ownership;
mod scene;
mod table;
mod tls;
