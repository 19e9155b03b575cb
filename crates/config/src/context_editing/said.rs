//! What a source says, who it is, and what is to be said of it.

use std::collections::BTreeMap;
use std::path::Path;

use ctx_core::automatic::Layer;

use super::provider::ProviderFile;
use crate::trust::Fingerprint;

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
    pub provider_wrong: Vec<String>,
    /// What a project's file is known by; none of a file that is the user's own.
    pub print: Option<Fingerprint>,
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

    /// Everything that is wrong with it, in words.
    pub fn all_wrong(&self, path: &Path) -> Vec<String> {
        let own = self.wrong.iter().map(|remark| format!("{}; its [{NAME}] section is ignored", remark.at(path)));
        let provider = self.provider_wrong.iter();
        own.chain(provider.map(|why| format!("{why}; its [{NAME}.provider] section is ignored"))).collect()
    }

    /// Nothing, and why it is not believed.
    pub fn ignored(remark: Remark) -> Said {
        Said { ignored: vec![remark], ..Said::default() }
    }

    /// A project cannot have commands run, be told what goes on, or have files written elsewhere.
    pub fn distrust(&mut self) {
        let lines = &self.lines;
        let mut ignore = |key: &str, wants: &str| {
            let line = lines.get(key).copied().unwrap_or_default();
            let words = format!(
                "`{NAME}.{key}` is ignored: it would let a project {wants}. If you want it, set it in the ctx.toml of the home"
            );
            self.ignored.push(Remark { line, key: format!("{NAME}.{key}"), words });
        };
        if self.layer.hook.take().is_some() {
            ignore("hook", "run commands on this machine");
        }
        if self.layer.webhook.take().is_some() {
            ignore("webhook", "send requests to programs on this machine");
        }
        if self.layer.ledger.take_if(|path| Path::new(path).has_root()).is_some() {
            ignore("ledger", "have files written outside of it");
        }
        for Remark { key, .. } in &self.ignored {
            self.lines.remove(key.strip_prefix(NAME).unwrap_or(key).trim_start_matches('.'));
        }
        self.ignored.sort();
    }
}
