//! Judges requests by the rules that the Gemini API refuses by. It reads JSON; it shares no code with the wire.

use serde_json::Value;

const DATA: [&str; 9] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];

/// What the judge demands beyond the rules that hold for every request.
#[derive(Clone, Copy)]
pub struct Demands {
    /// The client's own request ends with a question.
    pub asks: bool,
    /// The model checks signatures in the current turn.
    pub signs: bool,
}

/// Refuses what the API refuses: rules G1 to G4, G6 to G8, G10 to G13, G16 and G30.
pub fn judge(body: &str, demands: Demands) -> Result<(), String> {
    let body: Value = serde_json::from_str(body).map_err(|error| format!("no JSON: {error}"))?;
    let contents = body["contents"].as_array().ok_or("no contents")?;
    if body.get("tools").is_some_and(|tools| tools.as_array().is_none_or(Vec::is_empty)) {
        return Err("an empty list of tools".into());
    }
    let empty = |tool: &Value| tool["functionDeclarations"].as_array().is_some_and(Vec::is_empty);
    if body["tools"].as_array().into_iter().flatten().any(empty) {
        return Err("a tool without functions".into());
    }
    let system = &body["systemInstruction"];
    if body.get("systemInstruction").is_some() && system["parts"].as_array().is_none_or(Vec::is_empty) {
        return Err("an empty system prompt".into());
    }
    let mut turns: Vec<(bool, Vec<&Value>)> = Vec::new();
    for (at, content) in contents.iter().enumerate() {
        let is_model = match content["role"].as_str() {
            Some("model") => true,
            Some("user" | "function") | None => false,
            Some(other) => return Err(format!("G1: {at} is said by {other}")),
        };
        let parts =
            content["parts"].as_array().filter(|parts| !parts.is_empty()).ok_or(format!("G3: {at} is empty"))?;
        parts.iter().try_for_each(|part| part_of(part, at))?;
        match turns.last_mut().filter(|(model, _)| *model == is_model) {
            Some((_, all)) => all.extend(parts),
            None => turns.push((is_model, parts.iter().collect())),
        }
    }
    if turns.first().ok_or("G3: no contents")?.0 {
        return Err("G6: the model begins".into());
    }
    for (at, (is_model, parts)) in turns.iter().enumerate() {
        match is_model {
            true if all(parts, "functionResponse").next().is_some() => return Err(format!("G12: {at} answers itself")),
            true => {}
            false => answers(at.checked_sub(1).map_or(&[][..], |before| &turns[before].1), parts)?,
        }
        let is_last = at + 1 == turns.len();
        if *is_model && is_last && (demands.asks || all(parts, "functionCall").next().is_some()) {
            return Err("G7: the model speaks last".into());
        }
    }
    if demands.signs { signed(contents) } else { Ok(()) }
}

fn all<'p>(parts: &'p [&'p Value], name: &'static str) -> impl Iterator<Item = &'p Value> {
    parts.iter().filter_map(move |part| part.get(name))
}

fn part_of(part: &Value, at: usize) -> Result<(), String> {
    let fields = part.as_object().ok_or("no part")?;
    let beside = ["thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"];
    if let Some(other) = fields.keys().find(|key| !DATA.contains(&key.as_str()) && !beside.contains(&key.as_str())) {
        return Err(format!("G4: {at} has `{other}`"));
    }
    let holds = DATA.iter().filter(|name| part.get(**name).is_some_and(|value| *value != "")).count();
    if holds != 1 {
        return Err(format!("G2: {at} holds {holds} things"));
    }
    for (name, member) in [("functionCall", "args"), ("functionResponse", "response")] {
        if part[name].get(member).is_some_and(|value| !value.is_object()) {
            return Err(format!("G8: {at} has `{member}` that is no object"));
        }
    }
    Ok(())
}

/// As many results as calls, in the same order. The words of a call are in its result, so a wrong link shows.
fn answers(calls: &[&Value], parts: &[&Value]) -> Result<(), String> {
    let asked: Vec<&Value> = all(calls, "functionCall").collect();
    let given: Vec<&Value> = all(parts, "functionResponse").collect();
    if asked.len() != given.len() {
        return Err(format!("G10: {} calls and {} results", asked.len(), given.len()));
    }
    for (call, result) in asked.iter().zip(given) {
        if call["name"] != result["name"] {
            return Err(format!("G13: {result} answers {call}"));
        }
        if let (Some(one), Some(other)) = (call.get("id"), result.get("id"))
            && one != other
        {
            return Err(format!("G13: {result} answers {call}"));
        }
        let (asked, found) = (call["args"]["path"].as_str(), result["response"]["of"].as_str());
        if asked.zip(found).is_some_and(|(asked, found)| asked != found) {
            return Err(format!("a wrong link: {result} answers {call}"));
        }
    }
    Ok(())
}

/// The first call of each step of the current turn carries a signature.
fn signed(contents: &[Value]) -> Result<(), String> {
    let has = |content: &Value, name: &str| {
        content["parts"].as_array().into_iter().flatten().any(|part| part.get(name).is_some())
    };
    let is_plain = |content: &Value| content["role"] != "model" && !has(content, "functionResponse");
    let turn = contents.iter().rposition(is_plain).map_or(0, |at| at + 1);
    let mut is_open = false;
    for content in &contents[turn..] {
        if content["role"] != "model" {
            is_open = false;
            continue;
        }
        let call = content["parts"].as_array().into_iter().flatten().find(|part| part.get("functionCall").is_some());
        if let Some(call) = call.filter(|_| !is_open) {
            is_open = true;
            call.get("thoughtSignature").ok_or(format!("G32: {call} is not signed"))?;
        }
    }
    Ok(())
}
