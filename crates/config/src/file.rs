//! Reads one `ctx.toml`. A wrong type or a value that cannot be used is refused with its line and what was
//! expected; a key that this version does not know is left alone and mentioned. Values are never repeated in
//! messages: a proxy's address may hold a password.

use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use super::context_editing::ContextEditingFile;
use super::helper::HelperFile;
use super::models::ModelFile;
use super::upstreams::NamedUpstream;
use ctx_server::mcp::Settings as McpSettings;
use ctx_server::{Secret, UpstreamUrl};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::ConfigError;

/// No cache lives longer, in seconds.
pub(super) const DAY: u64 = 86_400;

/// What a file says; what it does not say is `None`.
#[derive(Clone, Debug, Default)]
pub struct ConfigFile {
    pub path: PathBuf,
    pub listen: Option<SocketAddr>,
    pub allow_remote: Option<bool>,
    pub upstream: Option<UpstreamUrl>,
    pub upstreams: Vec<NamedUpstream>,
    /// Absolute: relative ones are meant from the file's folder.
    pub ca_files: Option<Vec<PathBuf>>,
    pub proxy: Option<Secret>,
    pub no_proxy: Option<String>,
    pub http2: Option<bool>,
    /// Where offloaded content goes; absolute like the others.
    pub offload: Option<PathBuf>,
    /// What agents may do over MCP.
    pub mcp: McpSettings,
    /// Who finds words.
    pub helper: HelperFile,
    /// What is edited without anybody asking each time.
    pub context_editing: ContextEditingFile,
    /// From which share of what the model takes its limit is near.
    pub near_limit_percent: Option<u64>,
    /// How long the provider's cache lives, where its own word does not count.
    pub cache_seconds: Option<u64>,
    /// What holds of models.
    pub models: Vec<ModelFile>,
    pub unknown: Vec<Unknown>,
}

/// A key that nobody here knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unknown {
    line: usize,
    pub words: String,
}

impl ConfigFile {
    /// `Ok(None)`: there is no such file.
    pub fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(path, &text).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ConfigError::file("read", path, &error)),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let reader = Reader::new(path, text);
        let document = DeTable::parse(text).map_err(|error| {
            // Only its first line: the rest quotes the file.
            let why = error.message().lines().next().unwrap_or("this is not TOML").to_owned();
            reader.refuse(error.span().unwrap_or_default(), why)
        })?;
        let mut file = Self { path: path.to_owned(), ..Self::default() };
        for (name, section) in document.get_ref() {
            match name.get_ref().as_ref() {
                "listen" => file.read_listen(&reader, section)?,
                "upstream" => file.read_upstream(&reader, section)?,
                "offload" => file.read_offload(&reader, section)?,
                "mcp" => file.read_mcp(&reader, section)?,
                "helper" => file.read_helper(&reader, section)?,
                "context_editing" => file.read_context_editing(&reader, section)?,
                "edits" => file.read_edits(&reader, section)?,
                "models" => file.read_models(&reader, section)?,
                other => file.unknown.push(reader.mention(name.span(), other)),
            }
        }
        file.unknown.sort();
        Ok(file)
    }

    fn read_listen(&mut self, reader: &Reader<'_>, section: &Value<'_>) -> Result<(), ConfigError> {
        for (key, value) in reader.section("listen", section)? {
            match key.get_ref().as_ref() {
                "address" => {
                    let text = reader.text("listen.address", value)?;
                    let address = super::parse_listen(text).map_err(|why| reader.refuse(value.span(), why))?;
                    self.listen = Some(address);
                }
                "allow_remote" => self.allow_remote = Some(reader.switch("listen.allow_remote", value)?),
                other => self.unknown.push(reader.mention(key.span(), &format!("listen.{other}"))),
            }
        }
        Ok(())
    }

    fn read_offload(&mut self, reader: &Reader<'_>, section: &Value<'_>) -> Result<(), ConfigError> {
        for (key, value) in reader.section("offload", section)? {
            match key.get_ref().as_ref() {
                "folder" => self.offload = Some(reader.path("offload.folder", value)?),
                other => self.unknown.push(reader.mention(key.span(), &format!("offload.{other}"))),
            }
        }
        Ok(())
    }

    fn read_edits(&mut self, reader: &Reader<'_>, section: &Value<'_>) -> Result<(), ConfigError> {
        for (key, value) in reader.section("edits", section)? {
            match key.get_ref().as_ref() {
                "near_limit_percent" => {
                    let percent = reader.number("edits.near_limit_percent", value)?;
                    if !(1..=100).contains(&percent) {
                        let why = "`edits.near_limit_percent` must be a number from 1 to 100";
                        return Err(reader.refuse(value.span(), why));
                    }
                    self.near_limit_percent = Some(percent);
                }
                "cache_seconds" => {
                    let seconds = reader.number("edits.cache_seconds", value)?;
                    if !(1..=DAY).contains(&seconds) {
                        let why = format!("`edits.cache_seconds` must be a number from 1 to {DAY}");
                        return Err(reader.refuse(value.span(), why));
                    }
                    self.cache_seconds = Some(seconds);
                }
                other => self.unknown.push(reader.mention(key.span(), &format!("edits.{other}"))),
            }
        }
        Ok(())
    }

    fn read_mcp(&mut self, reader: &Reader<'_>, section: &Value<'_>) -> Result<(), ConfigError> {
        for (key, value) in reader.section("mcp", section)? {
            match key.get_ref().as_ref() {
                "read_only" => self.mcp.read_only = reader.switch("mcp.read_only", value)?,
                "allow" => {
                    let names = reader.texts("mcp.allow", value)?;
                    let allow = McpSettings::allowing(names).map_err(|why| reader.refuse(value.span(), why))?;
                    self.mcp.allow = Some(allow);
                }
                other => self.unknown.push(reader.mention(key.span(), &format!("mcp.{other}"))),
            }
        }
        Ok(())
    }

    fn read_upstream(&mut self, reader: &Reader<'_>, section: &Value<'_>) -> Result<(), ConfigError> {
        for (key, value) in reader.section("upstream", section)? {
            match key.get_ref().as_ref() {
                "url" => {
                    let url = reader.text("upstream.url", value)?.parse::<UpstreamUrl>();
                    self.upstream = Some(url.map_err(|why| reader.refuse(value.span(), why.to_string()))?);
                }
                "ca_files" => self.ca_files = Some(reader.paths("upstream.ca_files", value)?),
                "proxy" => self.proxy = Some(Secret::new(reader.text("upstream.proxy", value)?)),
                "no_proxy" => self.no_proxy = Some(reader.text("upstream.no_proxy", value)?.to_owned()),
                "http2" => self.http2 = Some(reader.switch("upstream.http2", value)?),
                name if matches!(value.get_ref(), DeValue::Table(_)) => {
                    let (named, unknown) = NamedUpstream::read(name, reader, value)?;
                    self.unknown.extend(unknown.iter().map(|name| reader.mention(value.span(), name)));
                    self.upstreams.push(named);
                }
                other => self.unknown.push(reader.mention(key.span(), &format!("upstream.{other}"))),
            }
        }
        Ok(())
    }
}

pub(super) type Value<'text> = Spanned<DeValue<'text>>;

/// The file at hand, for reading values with their lines.
pub(super) struct Reader<'file> {
    path: &'file Path,
    text: &'file str,
}

impl<'file> Reader<'file> {
    pub(super) fn new(path: &'file Path, text: &'file str) -> Self {
        Self { path, text }
    }

    pub(super) fn section<'v>(&self, name: &str, value: &'v Value<'file>) -> Result<&'v DeTable<'file>, ConfigError> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.expected(value, &format!("[{name}]"), "a section")),
        }
    }

    pub(super) fn text<'v>(&self, name: &str, value: &'v Value<'file>) -> Result<&'v str, ConfigError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.expected(value, name, "a text in quotes")),
        }
    }

    pub(super) fn switch(&self, name: &str, value: &Value<'file>) -> Result<bool, ConfigError> {
        match value.get_ref() {
            DeValue::Boolean(switch) => Ok(*switch),
            _ => Err(self.expected(value, name, "true or false")),
        }
    }

    pub(super) fn number(&self, name: &str, value: &Value<'file>) -> Result<u64, ConfigError> {
        let number = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', "").parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.expected(value, name, "a whole number"))
    }

    pub(super) fn texts<'v>(&self, name: &str, value: &'v Value<'file>) -> Result<Vec<&'v str>, ConfigError> {
        let expected = "a list of texts in quotes";
        let DeValue::Array(items) = value.get_ref() else { return Err(self.expected(value, name, expected)) };
        items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(text) => Ok(text.as_ref()),
                _ => Err(self.expected(item, name, expected)),
            })
            .collect()
    }

    pub(super) fn paths(&self, name: &str, value: &Value<'file>) -> Result<Vec<PathBuf>, ConfigError> {
        let expected = "a list of paths in quotes";
        let DeValue::Array(items) = value.get_ref() else { return Err(self.expected(value, name, expected)) };
        items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(path) => Ok(self.folder().join(path.as_ref())),
                _ => Err(self.expected(item, name, expected)),
            })
            .collect()
    }

    fn path(&self, name: &str, value: &Value<'file>) -> Result<PathBuf, ConfigError> {
        let path = Path::new(self.text(name, value)?);
        let plain = |part: Component<'_>| !matches!(part, Component::ParentDir);
        if path.as_os_str().is_empty() || !path.components().all(plain) {
            return Err(self.refuse(value.span(), format!("`{name}` must be a path without `..`")));
        }
        let path = self.folder().join(path);
        std::path::absolute(&path).map_err(|error| self.refuse(value.span(), error))
    }

    /// Relative paths are meant from here.
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    fn expected(&self, value: &Value<'file>, name: &str, expected: &str) -> ConfigError {
        self.refuse(value.span(), format!("`{name}` must be {expected}, not {}", kind(value.get_ref())))
    }

    pub(super) fn refuse(&self, span: Range<usize>, why: impl fmt::Display) -> ConfigError {
        ConfigError::new("config", format!("{}, line {}: {why}", self.path.display(), self.line(span)))
            .hint("correct the file, or choose another with --config")
    }

    pub(super) fn mention(&self, span: Range<usize>, key: &str) -> Unknown {
        let line = self.line(span);
        let path = self.path.display();
        let near = did_you_mean(key);
        Unknown { line, words: format!("{path}, line {line}: `{key}` is unknown to this version and is ignored{near}") }
    }

    pub(super) fn line(&self, span: Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or(self.text.as_bytes());
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }
}

/// A section is meant for a section, a key for a key.
fn did_you_mean(key: &str) -> String {
    let mut known: Vec<String> = super::keys::all().into_iter().map(|known| known.name).collect();
    let sections: Vec<String> = known.iter().filter_map(|name| Some(name.split_once('.')?.0.to_owned())).collect();
    known.extend(sections);
    known.retain(|name| name.contains('.') == key.contains('.'));
    known.dedup();
    let near = ctx_core::edit::refusal::nearest(key, known.iter().map(String::as_str));
    near.first().map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ConfigFile, ConfigError> {
        ConfigFile::parse(Path::new("/project/ctx.toml"), text)
    }

    #[test]
    fn every_key_is_read() {
        let file = parse(
            "[listen]\naddress = \"127.0.0.1:9000\"\nallow_remote = true\n\n\
             [upstream]\nurl = \"https://gateway.example/team\"\nca_files = [\"ca.pem\", \"/etc/ca.pem\"]\n\
             proxy = \"http://me:hush@proxy:3128\"\nno_proxy = \"localhost\"\nhttp2 = false\n\n\
             [offload]\nfolder = \".ctx/offload\"\n\n[mcp]\nread_only = true\nallow = [\"delete\", \"pin\"]\n\n\
             [edits]\nnear_limit_percent = 75\ncache_seconds = 600\n",
        )
        .expect("a configuration");
        assert_eq!(file.listen, "127.0.0.1:9000".parse().ok());
        assert_eq!(file.allow_remote, Some(true));
        assert_eq!(file.upstream.as_ref().map(ToString::to_string).as_deref(), Some("https://gateway.example/team"));
        assert_eq!(file.ca_files, Some(vec!["/project/ca.pem".into(), "/etc/ca.pem".into()]));
        assert_eq!(file.proxy.as_ref().map(Secret::expose_secret), Some("http://me:hush@proxy:3128"));
        assert_eq!((file.no_proxy.as_deref(), file.http2), (Some("localhost"), Some(false)));
        assert_eq!(file.offload, Some("/project/.ctx/offload".into()));
        assert!(file.mcp.read_only);
        assert_eq!((file.near_limit_percent, file.cache_seconds), (Some(75), Some(600)));
        assert_eq!(file.mcp.allow, McpSettings::allowing(["delete", "pin"]).ok());
        assert!(file.unknown.is_empty());
        assert!(!format!("{file:?}").contains("hush"));
    }

    #[test]
    fn a_wrong_type_is_refused_with_its_line_and_what_was_expected() {
        for (text, line, expected) in [
            ("[upstream]\nurl = 5\n", 2, "`upstream.url` must be a text in quotes, not a number"),
            ("\n\n[listen]\nallow_remote = \"yes\"", 4, "`listen.allow_remote` must be true or false, not a text"),
            ("upstream = \"https://x\"", 1, "`[upstream]` must be a section, not a text"),
            ("[upstream]\nca_files = \"ca.pem\"", 2, "`upstream.ca_files` must be a list of paths"),
            ("[upstream]\nca_files = [\n\"a\",\n3]", 4, "`upstream.ca_files` must be a list of paths"),
            ("[upstream]\nurl = \"api.anthropic.com\"", 2, "must begin with http:// or https://"),
            ("[listen]\naddress = \"somewhere\"", 2, "an address and a port"),
            ("[mcp]\nread_only = 1", 2, "`mcp.read_only` must be true or false, not a number"),
            ("[mcp]\nallow = \"delete\"", 2, "`mcp.allow` must be a list of texts in quotes, not a text"),
            ("[mcp]\nallow = [\"delte\"]", 2, "there is no operation `delte`"),
            ("[edits]\nnear_limit_percent = 0", 2, "`edits.near_limit_percent` must be a number from 1 to 100"),
            ("[edits]\ncache_seconds = 0", 2, "`edits.cache_seconds` must be a number from 1 to 86400"),
            ("[edits]\ncache_seconds = \"5m\"", 2, "`edits.cache_seconds` must be a whole number, not a text"),
            ("[offload]\nfolder = \"../other\"", 2, "`offload.folder` must be a path without `..`"),
        ] {
            let refused = parse(text).expect_err(text).to_string();
            assert!(refused.contains(&format!("/project/ctx.toml, line {line}: ")), "{refused}");
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn a_syntax_error_has_its_line_and_shows_nothing_of_the_file() {
        let refused = parse("[upstream]\nproxy = \"http://me:hush@proxy\nurl = 3\n").expect_err("refused");
        assert!(refused.message.starts_with("/project/ctx.toml, line 2: "), "{refused}");
        assert!(!refused.message.contains("hush"), "{refused}");
    }

    #[test]
    fn unknown_keys_are_mentioned_and_do_no_harm() {
        let file = parse("colour = 1\n[upstream]\nurl = \"http://localhost:1\"\nspeed = 9\n[hepler]\n").expect("read");
        assert!(file.upstream.is_some());
        let lines: Vec<&str> =
            file.unknown.iter().map(|unknown| unknown.words.split(" is unknown").next().unwrap_or_default()).collect();
        assert_eq!(
            lines,
            [
                "/project/ctx.toml, line 1: `colour`",
                "/project/ctx.toml, line 4: `upstream.speed`",
                "/project/ctx.toml, line 5: `hepler`"
            ]
        );
        let meant = |text: &str| parse(text).expect("read").unknown[0].words.clone();
        assert!(meant("[context_editting]\n").ends_with("is ignored (did you mean `context_editing`?)"));
        assert!(meant("[edits]\ncache_second = 9\n").ends_with("(did you mean `edits.cache_seconds`?)"));
        assert!(meant("colour = 1\n").ends_with("is ignored"));
    }
}
