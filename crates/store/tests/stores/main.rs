//! All stores through one contract, and each with its own failures. One program, because linking one for each file takes
//! minutes.

#[macro_use]
mod common;
mod contract;
mod copying;
mod crash;
mod damage;
mod faults;
mod growth;
mod losing;
mod opening;
mod purging;
mod replicas;
mod same;
mod tls;
mod versions;
