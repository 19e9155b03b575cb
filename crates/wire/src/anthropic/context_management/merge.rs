//! Adds edits to a body beside the client's: by splicing, never by rewriting.

use super::{Edit, member};
use crate::body::Body;
use crate::json;
use crate::provider_edits::{Kind, Splice};

/// The splices that add these edits to a request, and the kinds that were added.
pub fn merge(body: &Body, edits: Vec<Edit>) -> (Vec<Splice>, Vec<Kind>) {
    merged(body, edits).unwrap_or_default()
}

fn merged(body: &Body, mut edits: Vec<Edit>) -> Option<(Vec<Splice>, Vec<Kind>)> {
    let (bytes, request) = (body.bytes(), body.spans());
    // A thread has its history elsewhere (A49), and a summary is requested alone.
    let is_set = |name: &str| request.member(bytes, name).is_some_and(|(_, value)| value != b"null");
    if edits.is_empty() || is_set("compaction") || is_set("thread") {
        return None;
    }
    let named =
        |member: &&json::Member, name: &str| bytes.get(member.key.clone()).is_some_and(|key| json::key_is(key, name));
    let mut own = request.members.iter().filter(|member| named(member, "context_management"));
    let (own, twice) = (own.next(), own.next());
    if twice.is_some() {
        return None;
    }
    let Some(own) = own else {
        // Behind a member that no operation edits, so that its bytes are always present.
        let edited = |member: &&json::Member| ["messages", "system", "tools"].iter().any(|name| named(member, name));
        let last = request.members.iter().rev().find(|member| !edited(member));
        let at = last.map_or(request.array.end, |member| member.value.end);
        let (list, kinds) = joined(&edits);
        return Some((vec![Splice::insert(at, format!(r#","context_management":{{"edits":[{list}]}}"#))], kinds));
    };
    if bytes.get(own.value.clone()) == Some(b"null") {
        let (list, kinds) = joined(&edits);
        return Some((vec![Splice::replace(own.value.clone(), format!(r#"{{"edits":[{list}]}}"#))], kinds));
    }
    let mut list = None;
    let mut last = None;
    for member in json::members(bytes, own.value.start)? {
        let member = member.ok()?;
        if named(&&member, "edits") {
            list = Some(member.value.clone());
        }
        last = Some(member.value.end);
    }
    let Some(list) = list else {
        let (all, kinds) = joined(&edits);
        let splice = match last {
            Some(end) => Splice::insert(end, format!(r#","edits":[{all}]"#)),
            None => Splice::insert(own.value.start + 1, format!(r#""edits":[{all}]"#)),
        };
        return Some((vec![splice], kinds));
    };
    if bytes.get(list.clone()) == Some(b"null") {
        let (all, kinds) = joined(&edits);
        return Some((vec![Splice::replace(list, format!("[{all}]"))], kinds));
    }
    let mut theirs = Vec::new();
    for element in json::elements(bytes, list.start)? {
        let element = element.ok()?;
        let kind = json::string_value(bytes, member(bytes, element.start, "type")?)?.into_owned();
        theirs.push((element, Kind::named(&kind)));
    }
    // The client's own edits take precedence, and each kind may occur once.
    edits.retain(|edit| !theirs.iter().any(|(_, kind)| *kind == Some(edit.kind)));
    let (Some((first, _)), Some((last, _))) = (theirs.first(), theirs.last()) else {
        let (all, kinds) = joined(&edits);
        return Some((vec![Splice::insert(list.start + 1, all)], kinds));
    };
    let summary = theirs.iter().find(|(_, kind)| *kind == Some(Kind::Compact)).map(|(span, _)| span.start);
    let mut splices = Vec::new();
    for edit in &edits {
        let before = match edit.kind {
            Kind::Thinking => Some(first.start),
            Kind::ToolUses => summary,
            Kind::Compact => None,
        };
        splices.push(match before {
            Some(at) => Splice::insert(at, format!("{},", edit.json)),
            None => Splice::insert(last.end, format!(",{}", edit.json)),
        });
    }
    let kinds = edits.iter().map(|edit| edit.kind).collect();
    Some((splices, kinds))
}

fn joined(edits: &[Edit]) -> (String, Vec<Kind>) {
    let list: Vec<&str> = edits.iter().map(|edit| edit.json.as_str()).collect();
    (list.join(","), edits.iter().map(|edit| edit.kind).collect())
}

/// The tools whose results an edit exempts from clearing.
pub fn excluded(edit: &Edit) -> Vec<String> {
    listed(edit.json.as_bytes(), 0)
}

/// The same for the client's own clearing; `None` if it requests none.
pub fn excluded_by_client(body: &Body) -> Option<Vec<String>> {
    let bytes = body.bytes();
    let (own, _) = body.spans().member(bytes, "context_management")?;
    let edits = member(bytes, own.start, "edits")?;
    let is_it = |element: &json::Span| {
        let kind = member(bytes, element.start, "type").and_then(|span| json::string_value(bytes, span));
        kind.as_deref() == Some(Kind::ToolUses.name())
    };
    let edit = json::elements(bytes, edits.start)?.flatten().find(is_it)?;
    Some(listed(bytes, edit.start))
}

fn listed(bytes: &[u8], edit: usize) -> Vec<String> {
    let list = member(bytes, edit, "exclude_tools").and_then(|list| json::elements(bytes, list.start));
    let names = list.into_iter().flatten().flatten().filter_map(|name| json::string_value(bytes, name));
    names.map(|name| name.into_owned()).collect()
}
