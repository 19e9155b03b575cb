//! The daemon from outside: requests, streams and the control API over real connections. One program, because linking one
//! for each file takes minutes.

mod bad_input;
mod editing;
mod helping;
mod holding;
mod listening;
mod live;
mod metrics;
mod openapi;
mod outward_proxy;
mod passthrough;
mod planning;
mod provider;
mod recovering;
mod rooms;
mod secrets;
mod sockets;
mod streaming;
mod support;
mod team;
mod tls;
mod watching;
mod wires;
