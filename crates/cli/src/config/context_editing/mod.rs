//! `[context_editing]`: what is edited without anybody asking each time. A wrong figure would be believed, so a key that
//! nobody knows is refused here.

mod provider;

use super::file::{ConfigFile, Reader, Value};
use crate::failure::Failure;

pub(super) use self::provider::rules;

/// What a file says.
#[derive(Clone, Debug, Default)]
pub struct ContextEditingFile {
    provider: provider::ProviderFile,
}

impl ConfigFile {
    pub(super) fn read_context_editing(&mut self, reader: &Reader<'_>, section: &Value<'_>) -> Result<(), Failure> {
        for (key, value) in reader.section("context_editing", section)? {
            match key.get_ref().as_ref() {
                "provider" => self.context_editing.provider = provider::read(reader, value)?,
                other => self.unknown.push(reader.mention(key.span(), &format!("context_editing.{other}"))),
            }
        }
        Ok(())
    }
}
