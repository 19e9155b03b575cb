//! Frames as resources: `ctx://conversation/ID/frame/t3`.

use ctx_api::call::{Conversation, encoded};
use ctx_api::frames::{FrameView, FramesQuery};
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};

use super::answer::line;
use super::ask::{Ask, Refusal, call};
use super::own::Own;
use super::show;

const PAGE: usize = 100;
/// The maximum number of characters of a resource: reading one must not flood a context.
const LONGEST: usize = 100_000;
const TEXT: &str = "text/plain";
/// Stands for the caller's own conversation.
pub const OWN: &str = "own";

pub fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new("ctx://conversation/{conversation}/frame/{frame}", "frame")
        .with_title("A frame of a conversation")
        .with_description("A frame, step, message or block as sent; `own` is your conversation")
        .with_mime_type(TEXT);
    ListResourceTemplatesResult::with_all_items(vec![template])
}

/// A page of the frames of a conversation.
pub async fn list(ask: &impl Ask, own: &Own, cursor: Option<&str>) -> Result<ListResourcesResult, Refusal> {
    let frames = call(ask, Conversation(&own.id).frames(&FramesQuery::default())).await?.frames;
    let start = cursor.and_then(|cursor| frames.iter().position(|frame| frame.id == cursor)).unwrap_or(0);
    let page: Vec<Resource> = frames.iter().skip(start).take(PAGE).map(|frame| resource(own, frame)).collect();
    let mut result = ListResourcesResult::with_all_items(page);
    result.next_cursor = frames.get(start + PAGE).map(|frame| frame.id.as_str().into());
    Ok(result)
}

fn resource(own: &Own, frame: &FrameView) -> Resource {
    Resource::new(format!("ctx://conversation/{}/frame/{}", own.id, encoded(&frame.id, "")), frame.id.as_str())
        .with_title(line(&frame.title, 80))
        .with_description(format!("{} tokens", frame.tokens))
        .with_mime_type(TEXT)
}

pub async fn read(ask: &impl Ask, uri: &str, place: (&str, &str)) -> Result<ReadResourceResult, ErrorData> {
    let (conversation, id) = place;
    let shown = show::fetch(ask, conversation, id).await.map_err(|refusal| not_found(uri, &refusal))?;
    let mut text = show::readable(&shown, None);
    if text.chars().count() > LONGEST {
        text = format!("{}\nThe rest: ctx_show {id}", line(&text, LONGEST));
    }
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(TEXT)]))
}

pub fn not_found(uri: &str, refusal: &Refusal) -> ErrorData {
    ErrorData::resource_not_found(refusal.to_string(), Some(serde_json::json!({"uri": uri, "code": refusal.code})))
}

/// The conversation and the frame in a URI.
pub fn place(uri: &str) -> Option<(String, String)> {
    let rest = uri.strip_prefix("ctx://conversation/")?;
    let (conversation, frame) = rest.split_once("/frame/")?;
    let (conversation, frame) = (decoded(conversation)?, decoded(frame)?);
    (!conversation.is_empty() && !frame.is_empty()).then_some((conversation, frame))
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_a_conversation_and_a_part_of_it() {
        let named = |uri| place(uri).map(|(conversation, frame)| format!("{conversation} {frame}"));
        assert_eq!(named("ctx://conversation/c3/frame/t3").as_deref(), Some("c3 t3"));
        assert_eq!(named("ctx://conversation/own/frame/t3%2F5").as_deref(), Some("own t3/5"));
        assert_eq!(named("ctx://conversation/own/frame/t3%232.1").as_deref(), Some("own t3#2.1"));
        assert_eq!(named("ctx://conversation/c3/frame/t3/5").as_deref(), Some("c3 t3/5"));
        for bad in [
            "file:///etc/passwd",
            "ctx://conversation/c3",
            "ctx://conversation//frame/t1",
            "ctx://conversation/c/frame/%f",
        ] {
            assert_eq!(named(bad), None, "{bad}");
        }
    }
}
