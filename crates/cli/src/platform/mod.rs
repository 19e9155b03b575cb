//! Everything that differs between operating systems: signals, processes, services, the browser. Windows and macOS
//! branches were written by their documentation and have not been run.

mod signals;

pub use signals::Signals;
