//! Everything of this crate that differs between operating systems. Linux is tested; the branches for macOS and Windows
//! follow their documentation and have not been run.

pub mod browser;
pub mod machine;
pub mod permissions;
pub mod process;
pub mod service;
mod signals;
pub mod supervise;

pub use signals::Signals;
