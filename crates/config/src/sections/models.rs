//! `[models."NAME"]`.

use ctx_models::Setting;
use schemars::JsonSchema;
use serde::Deserialize;

/// Figures for one model, in place of those of the catalogue.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ModelKeys(#[serde(with = "Keys")] pub Setting);

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, remote = "Setting")]
struct Keys {
    /// dollars per million uncached input tokens
    #[schemars(range(min = 0, max = 100_000), example = 3)]
    input: Option<f64>,
    /// dollars per million output tokens
    #[schemars(range(min = 0, max = 100_000), example = 3)]
    output: Option<f64>,
    /// dollars per million tokens written to the cache for its shortest lifetime
    #[schemars(range(min = 0, max = 100_000), example = 3)]
    write: Option<f64>,
    /// dollars per million tokens written to the cache for five minutes
    #[schemars(range(min = 0, max = 100_000), example = 3)]
    write_5m: Option<f64>,
    /// dollars per million tokens written to the cache for an hour
    #[schemars(range(min = 0, max = 100_000), example = 3)]
    write_1h: Option<f64>,
    /// dollars per million tokens read from the cache
    #[schemars(range(min = 0, max = 100_000), example = 3)]
    read: Option<f64>,
    /// size of the context window in tokens
    #[schemars(range(min = 1, max = 1_000_000_000), example = 200_000)]
    window: Option<u64>,
    /// maximum number of output tokens
    #[schemars(range(min = 1, max = 1_000_000_000), example = 200_000)]
    max_output: Option<u64>,
    /// shortest prompt that is cached, in tokens
    #[schemars(range(min = 0, max = 1_000_000_000), example = 200_000)]
    minimum: Option<u64>,
    /// lifetime of the cache in seconds, regardless of the client's request
    #[schemars(range(min = 1, max = 86_400), example = 600)]
    cache_seconds: Option<u64>,
    /// number of blocks that a breakpoint looks back
    #[schemars(range(min = 1, max = 1_000), example = 20)]
    look_back: Option<u64>,
    /// prompt size from which a higher price applies
    #[schemars(range(min = 1, max = 1_000_000_000), example = 200_000)]
    dearer_above: Option<u64>,
    /// price factor above that size
    #[schemars(range(min = 1, max = 1_000), example = 2)]
    dearer_times: Option<f64>,
    /// price factor of the output above that size, if it differs
    #[schemars(range(min = 1, max = 1_000), example = 2)]
    dearer_output_times: Option<f64>,
    /// the provider supports clearing
    #[schemars(example = true)]
    clearing: Option<bool>,
    /// the provider supports compaction
    #[schemars(example = true)]
    compaction: Option<bool>,
    /// thinking is bound to the content before it
    #[schemars(example = true)]
    bound_thinking: Option<bool>,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{ConfigError, ConfigFile, models};

    fn read(text: &str) -> Result<ConfigFile, ConfigError> {
        ConfigFile::parse(Path::new("ctx.toml"), text)
    }

    #[test]
    fn every_key_is_read() {
        let home = read(
            "[models.\"claude-x-1\"]\ninput = 3\noutput = 15.5\nwrite = 5\nwrite_5m = 4\nwrite_1h = 6\nread = 0.25\n\
             window = 300_000\nmax_output = 9_000\nminimum = 0\ncache_seconds = 900\nlook_back = 10\ndearer_above = 200000\ndearer_times = 2\ndearer_output_times = 2\n\
             clearing = true\ncompaction = true\nbound_thinking = false\n[models.claude-opus-5]\ninput = 1\nread = 0.5\n",
        );
        let models = models(&home.expect("read")).expect("models");
        let price = |name: &str| models.price(name, 250_000).expect("a price").0;
        assert_eq!((price("claude-x-1").output, price("claude-x-1").write(3600)), (31.0, 12.0));
        assert_eq!((price("claude-opus-5").input, price("claude-opus-5").read), (1.0, 0.5));
        assert_eq!(models.of("claude-x-1").model().map(|model| model.overridden.len()), Some(17));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_line() {
        for (text, line, told) in [
            (
                "[models.m]\ninputs = 3",
                2,
                "`models.\"m\".inputs` is unknown (did you mean `input`?); known keys: input, output",
            ),
            ("[models.m]\ninput = -3", 2, "must be a number from 0"),
            ("[models.m]\ninput = nan", 2, "must be a number from 0"),
            ("[models.m]\ninput = \"3\"", 2, "must be a number from 0"),
            ("[models.m]\nwindow = 0", 2, "from 1 to"),
            ("[models.m]\ncache_seconds = 0", 2, "from 1 to 86400, not 0"),
            ("[models.m]\nlook_back = 0", 2, "from 1 to 1000, not 0"),
            ("[models.\"\"]\nwindow = 9", 1, "the name of the model is empty"),
            ("[models.m]\nwindow = 1.5", 2, "must be a whole number"),
            ("[models.m]\nclearing = 1", 2, "must be true or false"),
            ("\n[models.m]\ninput = 3\n", 2, "needs both `input` and `output`"),
            ("models = 3", 1, "must be a section"),
            ("[models]\nm = 3", 2, "must be a section"),
        ] {
            let refused = read(text).expect_err(text).to_string();
            assert!(refused.contains(&format!("line {line}: ")) && refused.contains(told), "{text}: {refused}");
        }
    }
}
