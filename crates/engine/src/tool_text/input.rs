//! A tool input without its long texts. Everything else keeps the client's exact bytes.

use ctx_core::policy::stub::{StubForm, input_stub};
use ctx_wire::json::{self, Span};

/// Shorter texts of an input stay.
const LONG: usize = 300;
/// The maximum depth; deeper texts stay.
const DEEPEST: usize = 32;

pub struct LongInput<'i> {
    input: &'i str,
    long: Vec<(Span, String)>,
}

impl<'i> LongInput<'i> {
    /// Reads the JSON of an input; `None` if nothing in it is long.
    pub fn of(input: &'i str) -> Option<LongInput<'i>> {
        LongInput::with(input, true)
    }

    /// The same with only the texts that an edit replaces.
    pub fn replaced(input: &'i str) -> Option<LongInput<'i>> {
        LongInput::with(input, false)
    }

    fn with(input: &'i str, is_any: bool) -> Option<LongInput<'i>> {
        let mut long = Vec::new();
        find(input.as_bytes(), &(0..input.len()), 0, is_any, &mut |span, text| long.push((span, text)));
        (!long.is_empty()).then_some(LongInput { input, long })
    }

    /// The input without these texts.
    pub fn without(&self) -> String {
        self.short(None, StubForm { names: 0, lines: 0, ends: 0 }, &|_| true)
    }

    /// The shortened input: of a long text only what the form keeps stays, without names that are `known`; `kept`, a sentence that names its
    /// file, appears once.
    pub fn short(&self, kept: Option<&str>, form: StubForm, known: &impl Fn(&str) -> bool) -> String {
        let mut out = String::new();
        let mut at = 0;
        let mut kept = kept;
        for (span, text) in &self.long {
            out.push_str(self.input.get(at..span.start).unwrap_or_default());
            out.push_str(&serde_json::Value::from(input_stub(text, kept.take(), form, known)).to_string());
            at = span.end;
        }
        out.push_str(self.input.get(at..).unwrap_or_default());
        out
    }
}

/// Passes on the long texts in a value, in order; `is_any`: not only those in arguments with replaced text.
fn find(bytes: &[u8], value: &Span, depth: usize, is_any: bool, add: &mut dyn FnMut(Span, String)) {
    if value.len() < LONG || depth > DEEPEST {
        return;
    }
    if let Some(members) = json::members(bytes, value.start) {
        for member in members.flatten() {
            let key = bytes.get(member.key.clone()).unwrap_or_default();
            let is_replaced = || ctx_clients::lexicon().replaced().any(|name| name.as_bytes() == key);
            find(bytes, &member.value, depth + 1, is_any || is_replaced(), add);
        }
        return;
    }
    if let Some(elements) = json::elements(bytes, value.start) {
        return elements.flatten().for_each(|element| find(bytes, &element, depth + 1, is_any, add));
    }
    let text = bytes.get(value.clone()).filter(|_| is_any).and_then(|raw| serde_json::from_slice::<String>(raw).ok());
    let is_long = |text: &String| text.len() >= LONG && !ctx_core::policy::stub::is_input_stub(text);
    text.filter(is_long).into_iter().for_each(|text| add(value.clone(), text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_core::content::{CallInput, Content};
    use ctx_wire::Wire;
    use ctx_wire::anthropic::Anthropic;

    fn long(word: &str) -> String {
        format!(r"let {word} = \u0031;\n").repeat(40)
    }

    fn input_of(block: &str) -> String {
        let contents = Anthropic.contents(format!(r#"{{"role":"assistant","content":[{block}]}}"#).as_bytes());
        let [Content::Call { input: CallInput::Json(input), .. }] = &contents[..] else { panic!("a call") };
        input.clone()
    }

    #[test]
    fn only_what_is_long_goes_and_all_else_stays_to_the_byte() {
        let block = format!(
            r#"{{"type":"tool_use", "input" : {{"n":12345678901234567890123, "e":1.0e+2,"o":"{}","s":"a\u0062","l":[{{"x":"{}"}}]}}, "id":"toolu_1","cache_control":{{"type":"ephemeral"}}}}"#,
            long("some_name"),
            long("other_name")
        );
        let input = input_of(&block);
        let short =
            LongInput::of(&input)
                .expect("long")
                .short(Some("It is in a.json."), StubForm::default(), &|name| name == "other_name");
        let gone = "[removed to save context; it was done.";
        assert_eq!(
            short,
            format!(
                r#"{{"n":12345678901234567890123, "e":1.0e+2,"o":"{gone} It is in a.json. Names in it: some_name]","s":"a\u0062","l":[{{"x":"{gone}]"}}]}}"#
            )
        );
        let whole = Anthropic.write(&Anthropic.with_input(&block, &short)).into_owned();
        assert_eq!(whole, format!(r#"{{"type":"tool_use", "input" : {short}, "id":"toolu_1"}}"#));
        assert!(block.contains(&input));
        assert!(LongInput::of(&input_of(&whole)).is_none(), "there is nothing more to take out");
    }
}
