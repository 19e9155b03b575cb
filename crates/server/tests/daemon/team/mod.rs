//! A daemon for a team: keys, ownership, shares, and who may use which route.

mod keys;
mod ownership;
pub mod scene;
mod spending;
mod table;
mod tls;
