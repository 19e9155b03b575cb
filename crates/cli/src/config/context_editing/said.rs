//! What a source says, who it is, and what is to be said of it.

use std::collections::BTreeMap;
use std::path::Path;

use ctx_core::automatic::Layer;

use super::provider::ProviderFile;

pub const NAME: &str = "context_editing";

/// Who speaks, and how far they are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The file in the home, or one that was named.
    Person,
    /// The `ctx.toml` of a project, which may be somebody else's.
    Project,
    /// The project's YAML file. It is another program's too, so what we do not know is not wrong.
    Yaml,
    /// It can add, and nothing else.
    Skill,
}

/// Words about a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// 0: about the whole file.
    pub line: usize,
    pub key: String,
    pub words: String,
}

impl Remark {
    /// About the section.
    pub fn new(line: usize, words: impl Into<String>) -> Remark {
        Remark { line, key: NAME.to_owned(), words: words.into() }
    }

    pub fn at(&self, path: &Path) -> String {
        match self.line {
            0 => format!("{}: {}", path.display(), self.words),
            line => format!("{}, line {line}: {}", path.display(), self.words),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    pub(super) layer: Layer,
    /// Where it says so.
    pub lines: BTreeMap<String, usize>,
    /// With one of these, nothing of it counts.
    pub wrong: Vec<Remark>,
    /// What is not taken and does no harm.
    pub ignored: Vec<Remark>,
    /// What the provider shall do.
    pub(super) provider: ProviderFile,
    /// Why nothing of that counts.
    pub(super) provider_wrong: Option<String>,
}

impl Said {
    /// Nothing but that it is wrong.
    pub fn wrong(remark: Remark) -> Said {
        Said { wrong: vec![remark], ..Said::default() }
    }

    /// What counts.
    pub fn layer(&self) -> Option<&Layer> {
        self.wrong.is_empty().then_some(&self.layer)
    }

    /// A project cannot have commands run, be told what goes on, or have files written elsewhere.
    pub fn distrust(&mut self) {
        let mut refuse = |key: &str, wants: &str| {
            let line = self.lines.get(key).copied().unwrap_or_default();
            let words = format!(
                "`{NAME}.{key}` in a project would let it {wants}; if you mean it, say so in the ctx.toml of the home"
            );
            self.wrong.push(Remark { line, key: format!("{NAME}.{key}"), words });
        };
        if self.layer.hook.is_some() {
            refuse("hook", "run commands on this machine");
        }
        if self.layer.webhook.is_some() {
            refuse("webhook", "send requests to programs on this machine");
        }
        if self.layer.ledger.as_ref().is_some_and(|path| Path::new(path).has_root()) {
            refuse("ledger", "have files written outside of it");
        }
        self.wrong.sort();
    }
}
