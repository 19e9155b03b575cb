//! A daemon for a team: keys, ownership, shares, and who may use which route.

mod keys;
mod ownership;
mod page;
mod scene;
mod table;
mod tls;
