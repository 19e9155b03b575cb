//! All stores through one contract, and each with its own failures. One program, because linking one for each file takes
//! minutes; `same` and `growth` have the database server for themselves, because its other transactions delay the feed.

#[macro_use]
mod common;
mod contract;
mod copying;
mod crash;
mod damage;
mod faults;
mod losing;
mod opening;
mod purging;
mod replicas;
mod tls;
mod versions;
