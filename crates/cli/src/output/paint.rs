//! Colours by meaning. Plain paint adds nothing.

use anstyle::{AnsiColor, Style};

#[derive(Clone, Copy, Debug)]
pub struct Paint {
    is_coloured: bool,
}

impl Paint {
    pub fn coloured() -> Self {
        Self { is_coloured: true }
    }

    pub fn plain() -> Self {
        Self { is_coloured: false }
    }

    pub fn is_coloured(&self) -> bool {
        self.is_coloured
    }

    pub fn apply(&self, style: Style, text: &str) -> String {
        if !self.is_coloured || text.is_empty() || style.is_plain() {
            return text.to_owned();
        }
        format!("{style}{text}{style:#}")
    }

    pub fn strong(&self, text: &str) -> String {
        self.apply(STRONG, text)
    }

    pub fn faint(&self, text: &str) -> String {
        self.apply(FAINT, text)
    }

    pub fn good(&self, text: &str) -> String {
        self.apply(GOOD, text)
    }

    pub fn warning(&self, text: &str) -> String {
        self.apply(WARNING, text)
    }

    pub fn bad(&self, text: &str) -> String {
        self.apply(BAD, text)
    }

    pub fn id(&self, text: &str) -> String {
        self.apply(ID, text)
    }
}

pub const PLAIN: Style = Style::new();
pub const STRONG: Style = Style::new().bold();
pub const FAINT: Style = Style::new().dimmed();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const WARNING: Style = AnsiColor::Yellow.on_default();
pub const BAD: Style = AnsiColor::Red.on_default().bold();
pub const ID: Style = AnsiColor::Cyan.on_default();
