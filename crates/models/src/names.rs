//! The names that providers and gateways give to one model.

/// A name without what providers put around it: `anthropic/`, `us.anthropic.`, `-v1:0`, `@20260901`, a date, `[1m]`.
pub fn bare(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = name.find("claude").and_then(|at| name.get(at..)).unwrap_or(name);
    let name = name.split(['@', '[', ':']).next().unwrap_or_default();
    let mut name = name.replace('.', "-");
    while let Some((rest, last)) = name.rsplit_once('-') {
        let is_date = last.len() == 8 && last.bytes().all(|byte| byte.is_ascii_digit());
        let is_edition = last.strip_prefix('v').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_date && !is_edition && last != "latest" {
            break;
        }
        name.truncate(rest.len());
    }
    name
}

/// The family of a Claude model and its version, wherever the numbers stand.
pub(crate) fn family(bare: &str) -> Option<(&str, Vec<u32>)> {
    let mut words = bare.split('-');
    if words.next() != Some("claude") {
        return None;
    }
    let mut name = None;
    let mut version = Vec::new();
    for word in words {
        match word.parse::<u32>() {
            Ok(number) if version.len() < 2 => version.push(number),
            Ok(_) => {}
            Err(_) => name = name.or(Some(word)),
        }
    }
    Some((name?, version))
}
