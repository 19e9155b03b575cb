//! The `ctx.toml` that a daemon starts with. An error outside `[context_editing]` stops it; an unknown key does not.

use std::fs;
use std::path::{Path, PathBuf};

use ctx_core::ErrorCode;

use crate::error::ConfigError;
use crate::layer::{Layer, Origin, Remark};
use crate::read;
use crate::tree::{self, Node, SyntaxError};

/// A file with its settings.
#[derive(Clone, Debug, Default)]
pub struct ConfigFile {
    pub path: PathBuf,
    pub layer: Layer,
}

impl ConfigFile {
    /// Reads a file; `Ok(None)` if it does not exist.
    pub fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        match fs::read(path).map(tree::text) {
            Ok(Ok(text)) => Self::parse(path, &text).map(Some),
            Ok(Err(SyntaxError { line, why })) => Err(refusal(path, &Remark::new(line, why))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ConfigError::file("read", path, &error)),
        }
    }

    /// Parses the text of a file.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let document =
            Node::of_toml(text).map_err(|SyntaxError { line, why }| refusal(path, &Remark::new(line, why)))?;
        let layer = read::read(&document, Origin::User);
        match layer.fatal.first() {
            Some(remark) => Err(refusal(path, remark)),
            None => Ok(Self { path: path.to_owned(), layer }),
        }
    }

    /// Resolves a path of the file: relative ones start at its folder.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        let path = self.path.parent().unwrap_or(Path::new("")).join(path);
        std::path::absolute(&path).unwrap_or(path)
    }
}

fn refusal(path: &Path, remark: &Remark) -> ConfigError {
    ConfigError::new(ErrorCode::Config, remark.at(path)).hint("correct the file, or choose another with --config")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_server::Secret;
    use ctx_server::mcp::Settings as McpSettings;

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
        let config = &file.layer.config;
        assert_eq!(config.listen.address, "127.0.0.1:9000".parse().ok());
        assert_eq!(config.listen.allow_remote, Some(true));
        let upstream = &config.upstream.all;
        assert_eq!(upstream.url.as_ref().map(ToString::to_string).as_deref(), Some("https://gateway.example/team"));
        let ca_files: Vec<PathBuf> = upstream.ca_files.iter().flatten().map(|path| file.resolve(path)).collect();
        assert_eq!(ca_files, [Path::new("/project/ca.pem"), Path::new("/etc/ca.pem")]);
        assert_eq!(upstream.proxy.as_ref().map(Secret::expose_secret), Some("http://me:hush@proxy:3128"));
        assert_eq!((upstream.no_proxy.as_deref(), upstream.http2), (Some("localhost"), Some(false)));
        assert_eq!(config.offload.folder.as_deref(), Some(Path::new(".ctx/offload")));
        assert_eq!(config.mcp.read_only, Some(true));
        assert_eq!((config.edits.near_limit_percent, config.edits.cache_seconds), (Some(75), Some(600)));
        assert_eq!(config.mcp.allow, McpSettings::allowing(["delete", "pin"]).ok());
        assert!(file.layer.ignored.is_empty());
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
            ("[upstream]\nurl = \"api.anthropic.com\"", 2, "must start with http:// or https://"),
            ("[listen]\naddress = \"somewhere\"", 2, "an address and a port"),
            ("[mcp]\nread_only = 1", 2, "`mcp.read_only` must be true or false, not a number"),
            ("[mcp]\nallow = \"delete\"", 2, "`mcp.allow` must be a list of texts in quotes, not a text"),
            ("[mcp]\nallow = [\"delte\"]", 2, "no operation `delte`"),
            (
                "[edits]\nnear_limit_percent = 0",
                2,
                "`edits.near_limit_percent` must be a whole number from 1 to 100, not 0",
            ),
            ("[edits]\ncache_seconds = 0", 2, "`edits.cache_seconds` must be a whole number from 1 to 86400, not 0"),
            (
                "[edits]\ncache_seconds = \"5m\"",
                2,
                "`edits.cache_seconds` must be a whole number from 1 to 86400, not a text",
            ),
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
        assert!(file.layer.config.upstream.all.url.is_some());
        let remarks: Vec<String> = file.layer.ignored.iter().map(|remark| remark.at(&file.path)).collect();
        let lines: Vec<&str> =
            remarks.iter().map(|remark| remark.split(" is unknown").next().unwrap_or_default()).collect();
        assert_eq!(
            lines,
            [
                "/project/ctx.toml, line 1: `colour`",
                "/project/ctx.toml, line 4: `upstream.speed`",
                "/project/ctx.toml, line 5: `hepler`"
            ]
        );
        let meant = |text: &str| parse(text).expect("read").layer.ignored[0].words.clone();
        assert!(meant("[context_editting]\n").ends_with("ignored (did you mean `context_editing`?)"));
        assert!(meant("[edits]\ncache_second = 9\n").ends_with("(did you mean `edits.cache_seconds`?)"));
        assert!(meant("colour = 1\n").ends_with("ignored"));
    }
}
