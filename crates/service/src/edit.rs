//! Edits by people and agents become commits, stored before they are acknowledged. The rules are in
//! [`ctx_engine::edit`].

mod apply;
mod compare;
mod heal;
mod import;
mod lines;
mod offload;
mod past;
mod plan;
mod sent;
mod uploads;
pub(crate) mod wait;

pub use offload::Folder;
pub(crate) use offload::WrittenFiles;
pub(crate) use wait::Alarm;
