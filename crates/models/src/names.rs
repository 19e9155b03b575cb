//! The names of a model at providers and gateways.

/// Vendors by the first word of a model's name.
const VENDORS: &[(&str, &str)] = &[
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("chatgpt", "openai"),
    ("codex", "openai"),
    ("o", "openai"),
    ("gemini", "google"),
    ("deepseek", "deepseek"),
    ("kimi", "moonshot"),
    ("moonshot", "moonshot"),
    ("qwen", "alibaba"),
    ("qwq", "alibaba"),
    ("glm", "zhipu"),
    ("mistral", "mistral"),
    ("ministral", "mistral"),
    ("magistral", "mistral"),
    ("devstral", "mistral"),
    ("codestral", "mistral"),
    ("pixtral", "mistral"),
    ("grok", "xai"),
];

/// Open weights carry a vendor's name, but any host serves them.
const OPEN_WEIGHTS: &str = "gpt-oss";

/// The parts of a model's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Family {
    pub name: String,
    /// Major and minor, if present.
    pub version: Vec<u32>,
}

/// A name without the decoration of providers and gateways: `anthropic/`, `models/`, `us.anthropic.`, `-v1:0`, `:free`,
/// `@20260901`, a date, `-latest`, `[1m]`.
pub fn bare(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = start(name).and_then(|at| name.get(at..)).unwrap_or(name);
    let (name, rest) = name.split_once([':', '@', '[']).unwrap_or((name, ""));
    let name = name.replace('.', "-");
    let mut words: Vec<&str> = name.split('-').collect();
    // `-v1:0` is an edition of a gateway; in other names `v4` is the version.
    let has_edition = name.starts_with("claude") || is_number(rest);
    words.pop_if(|last| has_edition && last.strip_prefix('v').is_some_and(is_number));
    while words.len() > 1 {
        let kept = without_date(&words);
        match words.last() {
            _ if kept < words.len() => words.truncate(kept.max(1)),
            Some(last) if *last == "latest" => words.truncate(words.len() - 1),
            _ => break,
        }
    }
    words.join("-")
}

/// The start of the model's own name: behind `us.anthropic.` or `openai:`.
fn start(name: &str) -> Option<usize> {
    let places = std::iter::once(0).chain(name.match_indices(['.', ':']).map(|(at, _)| at + 1));
    let mut places = places.filter(|at| name.get(*at..).and_then(vendor).is_some());
    name.find("claude").or_else(|| places.next())
}

/// The first word of a name, without attached digits, and its provider.
fn vendor(name: &str) -> Option<(&'static str, &'static str)> {
    let end = name.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(name.len());
    let (word, rest) = name.split_at_checked(end)?;
    let next = rest.bytes().next();
    let fits = match word {
        "o" => next.is_some_and(is_digit),
        _ => next.is_none_or(|next| next == b'-' || is_digit(next)),
    };
    VENDORS.iter().find(|(known, _)| fits && *known == word).copied()
}

/// The number of words before a date at the end: `20260901`, `2025-08-07`, `09-2025`, `preview-05-06`, `0905`, `001`.
fn without_date(words: &[&str]) -> usize {
    let is_year = |word: &str| word.len() == 4 && word.starts_with("20") && is_number(word);
    let is_short = |word: &str| word.len() == 2 && is_number(word);
    let is_trial = |word: &str| matches!(word, "preview" | "exp");
    match words {
        [rest @ .., year, month, day] if is_year(year) && is_short(month) && is_short(day) => rest.len(),
        [rest @ .., trial, month, day] if is_trial(trial) && is_short(month) && is_short(day) => rest.len() + 1,
        [rest @ .., month, year] if is_short(month) && is_year(year) => rest.len(),
        [rest @ .., last] if is_number(last) && matches!(last.len(), 4 | 8) => rest.len(),
        [rest @ .., last] if is_number(last) && last.len() == 3 && last.starts_with('0') => rest.len(),
        _ => words.len(),
    }
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(is_digit)
}

/// The provider of a model, by its bare name.
pub(crate) fn provider(bare: &str) -> Option<&'static str> {
    vendor(bare).map(|(_, provider)| provider).filter(|_| !bare.starts_with(OPEN_WEIGHTS))
}

/// The family and version of a model by its bare name, wherever the numbers stand.
pub(crate) fn family(bare: &str) -> Option<Family> {
    provider(bare)?;
    let (vendor, _) = vendor(bare)?;
    let mut words = bare.split('-');
    let glued = words.next().and_then(|first| first.strip_prefix(vendor)).and_then(|digits| digits.parse().ok());
    let mut version: Vec<u32> = glued.into_iter().collect();
    let mut name = vec![vendor];
    for word in words {
        match word.trim_start_matches(['v', 'k']).parse::<u32>() {
            Ok(number) if version.len() < 2 => version.push(number),
            Ok(_) => {}
            Err(_) if !matches!(word, "preview" | "exp") => name.push(word),
            Err(_) => {}
        }
    }
    if vendor == "claude" {
        // Only the first word of a Claude name is the family; a name without it has none.
        name.truncate(2);
        name.get(1)?;
    }
    Some(Family { name: name.join(" "), version })
}

/// The version of a model by its bare name; empty if the name has none.
pub(crate) fn version(bare: &str) -> Vec<u32> {
    family(bare).map(|family| family.version).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_loses_what_gateways_put_around_it() {
        for (name, expected) in [
            ("openai/gpt-5.6-sol", "gpt-5-6-sol"),
            ("openrouter/openai/gpt-5.4-mini:free", "gpt-5-4-mini"),
            ("openai:gpt-5.4", "gpt-5-4"),
            ("gpt-5-2025-08-07", "gpt-5"),
            ("gpt-5-pro-2025-10-06", "gpt-5-pro"),
            ("gpt-4-0613", "gpt-4"),
            ("codex-mini-latest", "codex-mini"),
            ("o3-2025-04-16", "o3"),
            ("models/gemini-2.5-pro", "gemini-2-5-pro"),
            ("publishers/google/models/gemini-2.0-flash-001", "gemini-2-0-flash"),
            ("google/gemini-2.5-flash-preview-09-2025", "gemini-2-5-flash-preview"),
            ("gemini-2.5-pro-preview-05-06", "gemini-2-5-pro-preview"),
            ("us.deepseek.deepseek-v4-pro-v1:0", "deepseek-v4-pro"),
            ("deepseek.v3-v1:0", "deepseek-v3"),
            ("deepseek/deepseek-v4", "deepseek-v4"),
            ("moonshotai/Kimi-K2-0905", "kimi-k2"),
            ("qwen.qwen3-coder-480b-a35b-v1:0", "qwen3-coder-480b-a35b"),
            ("qwen3-coder:30b", "qwen3-coder"),
            ("z-ai/glm-5.1@20260819", "glm-5-1"),
            ("mistral.mistral-large-2402-v1:0", "mistral-large"),
            ("devstral-2512", "devstral"),
            ("x-ai/grok-4-0709", "grok-4"),
            ("-", "-"),
            ("", ""),
        ] {
            assert_eq!(bare(name), expected, "{name}");
        }
    }

    #[test]
    fn a_name_tells_family_and_version() {
        for (name, expected, version) in [
            ("claude-3-5-sonnet", "claude sonnet", &[3, 5][..]),
            ("gpt-5.1-codex-max", "gpt codex max", &[5, 1]),
            ("o4-mini", "o mini", &[4]),
            ("gemini-3.1-pro-preview", "gemini pro", &[3, 1]),
            ("gemini-flash-latest", "gemini flash", &[]),
            ("deepseek-v4-pro", "deepseek pro", &[4]),
            ("kimi-k3.1-pro", "kimi pro", &[3, 1]),
            ("qwen3.7-max", "qwen max", &[3, 7]),
            ("glm-5.1", "glm", &[5, 1]),
        ] {
            let found = family(&bare(name)).expect("a family");
            assert_eq!((found.name.as_str(), found.version.as_slice()), (expected, version), "{name}");
        }
        for name in ["gpt-oss-120b", "m", "opus", "claude-2-1", "ollama", "gptx-5", "o", "-", "é"] {
            assert_eq!(family(&bare(name)), None, "{name}");
        }
    }

    #[test]
    fn a_name_tells_the_provider() {
        let of = |name: &str| provider(&bare(name));
        assert_eq!(["codex-mini", "o3", "chatgpt-4o-latest"].map(of), [Some("openai"); 3]);
        assert_eq!(
            [of("claude"), of("devstral"), of("x-ai/grok-4")],
            [Some("anthropic"), Some("mistral"), Some("xai")]
        );
        assert_eq!([of("gpt-oss:20b"), of("llama-4"), of("openai")], [None; 3]);
    }
}
