//! `[models."NAME"]`: what the table of models does not know, or what holds otherwise here. A wrong figure would be
//! believed, so here a key that nobody knows is refused.

use std::ops::{Range, RangeInclusive};

use ctx_models::{Models, Setting};

use super::file::{ConfigFile, DAY, Reader, Value};
use crate::error::ConfigError;

/// Nothing costs more for a million tokens.
const DEAREST: f64 = 100_000.0;
/// No model takes more tokens.
const MOST: u64 = 1_000_000_000;

/// What a file says of one model.
#[derive(Clone, Debug)]
pub struct ModelFile {
    name: String,
    setting: Setting,
}

impl ConfigFile {
    pub(super) fn read_models(&mut self, reader: &Reader<'_>, section: &Value<'_>) -> Result<(), ConfigError> {
        for (name, value) in reader.section("models", section)? {
            if name.get_ref().trim().is_empty() {
                return Err(reader.refuse(name.span(), "a model has a name, as clients send it".to_owned()));
            }
            let shown = format!("models.\"{}\"", name.get_ref());
            let mut setting = Setting::default();
            for (key, value) in reader.section(&shown, value)? {
                let field = format!("{shown}.{}", key.get_ref());
                let price = || reader.amount(&field, value, 0.0..DEAREST).map(Some);
                let times = || reader.amount(&field, value, 1.0..1_000.0).map(Some);
                let tokens = |least: u64| tokens(reader, &field, value, least).map(Some);
                let switch = || reader.switch(&field, value).map(Some);
                match key.get_ref().as_ref() {
                    "input" => setting.input = price()?,
                    "output" => setting.output = price()?,
                    "write" => setting.write = price()?,
                    "write_5m" => setting.write_5m = price()?,
                    "write_1h" => setting.write_1h = price()?,
                    "read" => setting.read = price()?,
                    "window" => setting.window = tokens(1)?,
                    "max_output" => setting.max_output = tokens(1)?,
                    "minimum" => setting.minimum = tokens(0)?,
                    "cache_seconds" => setting.cache_seconds = seconds(reader, &field, value).map(Some)?,
                    "look_back" => setting.look_back = blocks(reader, &field, value).map(Some)?,
                    "dearer_above" => setting.dearer_above = tokens(1)?,
                    "dearer_times" => setting.dearer_times = times()?,
                    "dearer_output_times" => setting.dearer_output_times = times()?,
                    "clearing" => setting.clearing = switch()?,
                    "compaction" => setting.compaction = switch()?,
                    "bound_thinking" => setting.bound_thinking = switch()?,
                    _ => {
                        let known = Setting::default().names().map(|(name, _)| name).join(", ");
                        return Err(reader.refuse(key.span(), format!("`{field}` is unknown; known keys: {known}")));
                    }
                }
            }
            let name = name.get_ref().to_string();
            let fits = Models::listed().clone().set(&name, &setting);
            fits.map_err(|why| reader.refuse(value.span(), format!("`{shown}`: {why}")))?;
            self.models.push(ModelFile { name, setting });
        }
        Ok(())
    }
}

fn seconds(reader: &Reader<'_>, field: &str, value: &Value<'_>) -> Result<u64, ConfigError> {
    within(reader, field, value, (1..=DAY, "seconds"))
}

fn blocks(reader: &Reader<'_>, field: &str, value: &Value<'_>) -> Result<u64, ConfigError> {
    within(reader, field, value, (1..=1_000, "blocks"))
}

fn tokens(reader: &Reader<'_>, field: &str, value: &Value<'_>, least: u64) -> Result<u64, ConfigError> {
    within(reader, field, value, (least..=MOST, "tokens"))
}

fn within(
    reader: &Reader<'_>,
    field: &str,
    value: &Value<'_>,
    (range, unit): (RangeInclusive<u64>, &str),
) -> Result<u64, ConfigError> {
    let number = reader.number(field, value)?;
    let told = || format!("`{field}` must be from {} to {} {unit}, not {number}", range.start(), range.end());
    if range.contains(&number) { Ok(number) } else { Err(reader.refuse(value.span(), told())) }
}

impl Reader<'_> {
    /// A number with or without a fraction.
    fn amount(&self, name: &str, value: &Value<'_>, range: Range<f64>) -> Result<f64, ConfigError> {
        let number = match value.get_ref() {
            toml::de::DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
            toml::de::DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', "").parse().ok(),
            _ => None,
        };
        let expected = || format!("`{name}` must be a number from {} to {}", range.start, range.end);
        number.filter(|number: &f64| range.contains(number)).ok_or_else(|| self.refuse(value.span(), expected()))
    }
}

/// The table with what the files say, the stronger first.
pub(super) fn models(files: &[ConfigFile]) -> Result<Models, ConfigError> {
    let mut models = Models::listed().clone();
    for file in files.iter().rev() {
        for ModelFile { name, setting } in &file.models {
            models.set(name, setting).map_err(|why| {
                ConfigError::new("config", format!("{}: `models.\"{name}\"`: {why}", file.path.display()))
                    .hint("correct the file, or choose another with --config")
            })?;
        }
    }
    Ok(models)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ConfigFile, ConfigError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ctx.toml");
        std::fs::write(&path, text).expect("written");
        ConfigFile::read(&path).map(|file| file.expect("a file"))
    }

    #[test]
    fn every_key_is_read_and_the_stronger_file_counts() {
        let home = read(
            "[models.\"claude-x-1\"]\ninput = 3\noutput = 15.5\nwrite = 5\nwrite_5m = 4\nwrite_1h = 6\nread = 0.25\n\
             window = 300_000\nmax_output = 9_000\nminimum = 0\ncache_seconds = 900\nlook_back = 10\ndearer_above = 200000\ndearer_times = 2\ndearer_output_times = 2\n\
             clearing = true\ncompaction = true\nbound_thinking = false\n[models.claude-opus-5]\ninput = 1\nread = 0.5\n",
        );
        let project = read("[models.claude-opus-5]\ninput = 2\n");
        let models = models(&[project.expect("read"), home.expect("read")]).expect("models");
        let price = |name: &str| models.price(name, 250_000).expect("a price").0;
        assert_eq!((price("claude-x-1").output, price("claude-x-1").write(3600)), (31.0, 12.0));
        assert_eq!((price("claude-opus-5").input, price("claude-opus-5").read), (2.0, 1.0));
        assert_eq!(models.of("claude-x-1").model().map(|model| model.overridden.len()), Some(17));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_line() {
        for (text, line, told) in [
            ("[models.m]\ninputs = 3", 2, "`models.\"m\".inputs` is unknown; known keys: input, output"),
            ("[models.m]\ninput = -3", 2, "must be a number from 0"),
            ("[models.m]\ninput = nan", 2, "must be a number from 0"),
            ("[models.m]\ninput = \"3\"", 2, "must be a number from 0"),
            ("[models.m]\nwindow = 0", 2, "from 1 to"),
            ("[models.m]\ncache_seconds = 0", 2, "from 1 to 86400 seconds, not 0"),
            ("[models.m]\nlook_back = 0", 2, "from 1 to 1000 blocks, not 0"),
            ("[models.\"\"]\nwindow = 9", 1, "a model has a name"),
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
