//! Lenient access to JSON: a member that is missing, null or of another type counts as absent.

use crate::json;
use std::borrow::Cow;

/// The raw values of the named members of the object in `object`; the last of equal names wins and `null` counts as
/// missing. `None` if the text is not exactly one object.
pub fn pick<'a, const N: usize>(object: &'a str, names: [&str; N]) -> Option<[Option<&'a str>; N]> {
    let bytes = object.as_bytes();
    let mut found = [None; N];
    let mut members = json::members(bytes, 0)?;
    for member in members.by_ref() {
        let member = member.ok()?;
        let key = bytes.get(member.key)?;
        if let Some(slot) = names.iter().position(|name| json::key_is(key, name)) {
            *found.get_mut(slot)? = object.get(member.value).filter(|value| *value != "null");
        }
    }
    object.get(members.position()..)?.trim_ascii().is_empty().then_some(found)
}

/// The raw values of the array in `array`, as far as they are readable.
pub fn items(array: &str) -> impl Iterator<Item = &str> {
    json::elements(array.as_bytes(), 0).into_iter().flatten().map_while(|element| array.get(element.ok()?))
}

/// The text between the quotes of a string, still escaped.
pub fn inner(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.strip_suffix('"')
}

pub fn text(value: &str) -> Option<Cow<'_, str>> {
    inner(value).map(|inner| json::decode(inner.as_bytes()))
}

pub fn owned(value: Option<&str>) -> Option<String> {
    value.and_then(text).map(Cow::into_owned)
}

/// A count; JSON allows `12.0`, and negative values are invalid.
pub fn count(value: &str) -> Option<u64> {
    value.parse().ok().or_else(|| {
        let number: f64 = value.parse().ok()?;
        (number >= 0.0).then_some(number as u64)
    })
}
