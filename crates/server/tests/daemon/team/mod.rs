//! A daemon for a team: keys, ownership, shares, and who may use which route.

mod idle;
mod keys;
mod login;
mod offload;
mod oidc;
mod ownership;
mod page;
mod retention;
mod revoking;
pub mod scene;
mod scopes;
mod spending;
mod table;
mod tls;
mod tokens;
