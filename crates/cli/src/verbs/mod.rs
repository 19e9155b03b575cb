//! One file a verb: its flags, its help, what it asks the daemon and how the answer is shown.

pub mod compose;
pub mod conversations;
pub mod doctor;
pub mod list;
pub mod purge;
pub mod run;
pub mod show;
pub mod status;
pub mod stop;
pub mod timeline;
pub mod ui;
pub mod up;
pub mod watch;
