//! `[context_editing]`: what is edited without anybody asking each time. A wrong figure would be believed, so a key that
//! nobody knows is refused here. But nothing that is wrong here stops the daemon: forwarding is more important.

pub mod layer;
mod live;
pub mod provider;
mod said;
mod sources;
pub mod tree;
pub mod voices;
mod yaml;

use self::tree::Node;
use super::file::{ConfigFile, Reader, Value};
use crate::error::ConfigError;

pub use self::live::LiveRules;
pub use self::said::{Remark, Said, Speaker};
pub use self::sources::{Places, Source};

/// What a file says.
#[derive(Clone, Debug, Default)]
pub struct ContextEditingFile {
    /// What ctx shall do by itself.
    pub own: Said,
    /// Why nothing of what it says of the provider counts: everything that is wrong there.
    pub provider_wrong: Vec<ConfigError>,
}

impl ContextEditingFile {
    /// What is wrong and stops nothing.
    pub fn wrong(&self, path: &std::path::Path) -> Vec<String> {
        let provider_wrong = self.provider_wrong.iter().map(ToString::to_string).collect();
        Said { wrong: self.own.wrong.clone(), provider_wrong, ..Said::default() }.all_wrong(path)
    }
}

impl ConfigFile {
    pub(super) fn read_context_editing(&mut self, reader: &Reader<'_>, section: &Value<'_>) -> Result<(), ConfigError> {
        let node = Node::of_toml(section, &|span| reader.line(span));
        self.context_editing.own = layer::read(&sources::without_provider(node), Speaker::Person);
        self.context_editing.provider_wrong = provider::of(reader, section).err().unwrap_or_default();
        Ok(())
    }
}
