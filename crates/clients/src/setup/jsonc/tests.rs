use proptest::prelude::*;
use serde_json::{Value, json};

use super::splice::{Draft, take_back};
use super::*;

fn path(dotted: &str) -> Vec<String> {
    dotted.split('.').map(str::to_owned).collect()
}

/// Sets a string, and checks that reversing it is exact.
fn set(text: &str, dotted: &str, value: Value) -> String {
    let mut draft = Draft::of(text);
    draft.set(&path(dotted), &value).expect("set");
    assert_eq!(take_back(&draft.text, &draft.steps).as_deref(), Some(text), "the way back");
    assert_eq!(Document::read(&draft.text).expect("still JSON").get(&path(dotted)), Some(value));
    draft.text
}

fn removed(text: &str, dotted: &str) -> String {
    let mut draft = Draft::of(text);
    draft.remove(&path(dotted)).expect("removed");
    assert_eq!(take_back(&draft.text, &draft.steps).as_deref(), Some(text), "the way back");
    Document::read(&draft.text).unwrap_or_else(|broken| panic!("{broken} in {}", draft.text));
    draft.text
}

#[test]
fn a_new_member_follows_the_manner_of_the_file() {
    assert_eq!(set("{}", "a", json!("x")), "{\n  \"a\": \"x\"\n}");
    assert_eq!(set("", "e.a", json!("x")), "{\n  \"e\": {\n    \"a\": \"x\"\n  }\n}\n");
    assert_eq!(set("{\n\t\"b\": 1\n}\n", "e.a", json!(1)), "{\n\t\"b\": 1,\n\t\"e\": {\n\t\t\"a\": 1\n\t}\n}\n");
    assert_eq!(set("{\r\n    \"b\": 1\r\n}\r\n", "a", json!(1)), "{\r\n    \"b\": 1,\r\n    \"a\": 1\r\n}\r\n");
    assert_eq!(set("{\"b\":1}", "e.a", json!(1)), "{\"b\":1,\"e\":{\"a\":1}}");
    assert_eq!(set("{\"b\": 1}", "a", json!(1)), "{\"b\": 1, \"a\": 1}");
    assert_eq!(set("{\n  \"e\": {\"b\": 1}\n}", "e.a", json!(1)), "{\n  \"e\": {\"b\": 1, \"a\": 1}\n}");
    assert_eq!(set("{\n  \"e\": {}\n}", "e.a", json!(1)), "{\n  \"e\": {\n    \"a\": 1\n  }\n}");
    assert_eq!(set("\u{feff}{\"b\":1}", "a", json!(1)), "\u{feff}{\"b\":1,\"a\":1}");
}

#[test]
fn comments_and_trailing_commas_stay_where_they_are() {
    let text = "{\n  // first\n  \"b\": 1, // one\n  /* two */\n}\n";
    assert_eq!(set(text, "a", json!(2)), "{\n  // first\n  \"b\": 1, // one\n  /* two */\n  \"a\": 2,\n}\n");
    assert_eq!(set("{\n  \"b\": 1 // one\n}", "a", json!(2)), "{\n  \"b\": 1, // one\n  \"a\": 2\n}");
    assert_eq!(set("{ \"b\": 1 // one\n}", "a", json!(2)), "{ \"b\": 1, // one\n  \"a\": 2\n}");
    assert_eq!(set("{\"b\": 1,}", "a", json!(2)), "{\"b\": 1, \"a\": 2,}");
    assert_eq!(set("{ // nothing yet\n}", "a", json!(2)), "{ // nothing yet\n  \"a\": 2\n}");
}

#[test]
fn a_value_is_replaced_in_its_place_and_the_last_of_two_counts() {
    assert_eq!(set("{\"a\": 1 , \"b\": 2}", "a", json!("x")), "{\"a\": \"x\" , \"b\": 2}");
    assert_eq!(set("{\"a\": 1, \"a\": 2}", "a", json!(3)), "{\"a\": 1, \"a\": 3}");
    assert_eq!(set("{\"\\u0061\": 1}", "a", json!(3)), "{\"\\u0061\": 3}");
    let same = "{\"a\" :\t[1, 2]}";
    assert_eq!(set(same, "a", json!([1, 2])), same, "what is there already is not written again");
}

#[test]
fn a_member_goes_with_its_comma_and_its_line() {
    for (before, after) in [
        ("{\n  \"b\": 1,\n  \"a\": 2\n}", "{\n  \"b\": 1\n}"),
        ("{\n  \"a\": 2,\n  \"b\": 1\n}", "{\n  \"b\": 1\n}"),
        ("{\r\n  \"b\": 1,\r\n  \"a\": 2\r\n}", "{\r\n  \"b\": 1\r\n}"),
        ("{\"b\": 1, \"a\": 2}", "{\"b\": 1}"),
        ("{\"a\": 2, \"b\": 1}", "{\"b\": 1}"),
        ("{\"b\": 1, \"a\": 2, \"c\": 3}", "{\"b\": 1, \"c\": 3}"),
        ("{\n  \"a\": 2\n}", "{}"),
        ("{\"a\": 2,}", "{}"),
        ("{\n  // why\n  \"a\": 2\n}", "{\n  // why\n}"),
        ("{\"b\": 1, // one\n \"a\": 2 }", "{\"b\": 1 // one\n }"),
        ("{ // one\n \"a\": 2, \"b\": 1 }", "{ // one\n \"b\": 1 }"),
        ("{\n \"b\": 1, // one\n \"a\": 2 // two\n}", "{\n \"b\": 1 // one\n // two\n}"),
        ("{\n \"a\": 2 /* two */, \"b\": 1}", "{\n /* two */ \"b\": 1}"),
        ("{\n \"b\": 1,\n \"a\": 2,\n}", "{\n \"b\": 1,\n}"),
        ("{\"b\": 1}", "{\"b\": 1}"),
    ] {
        assert_eq!(removed(before, "a"), after, "{before}");
    }
}

#[test]
fn what_cannot_hold_an_entry_is_refused_with_its_place() {
    let refused = |text: &str| Draft::of(text).set(&path("env.A"), &json!("x")).expect_err(text).to_string();
    assert_eq!(refused("[1]"), "line 1, column 1: the whole is not an object");
    assert_eq!(refused("{\n  \"env\": \"no\"\n}"), "line 2, column 10: `env` is not an object");
    assert_eq!(refused("{\"env\": [{\"A\": 1}]}"), "line 1, column 9: `env` is not an object");
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    let refused = |text: &str| Document::read(text).expect_err(text).to_string();
    for (text, told) in [
        ("{\n  \"é\": tru\n}", "line 2, column 8: a value is missing here"),
        ("\u{feff}{a: 1}", "line 1, column 2: a name in double quotes or `}` is expected here"),
        ("{\"a\" 1}", "line 1, column 6: `:` is expected here"),
        ("{\"a\": 1 \"b\": 2}", "line 1, column 9: `,` or `}` is expected here"),
        ("[1 2]", "line 1, column 4: `,` or `]` is expected here"),
        ("[,]", "line 1, column 2: a value is missing here"),
        ("{\"a\": 1,,}", "line 1, column 9: a name in double quotes or `}` is expected here"),
        ("{} {}", "line 1, column 4: nothing may follow the first value"),
        ("{\"a", "line 1, column 2: this string does not end"),
        ("\"\\x\"", "line 1, column 2: invalid escape"),
        ("\"\\u12\"", "line 1, column 2: invalid escape"),
        ("\"a\nb\"", "line 1, column 3: this character must be escaped in a string"),
        ("{} /* a", "line 1, column 4: this comment does not end"),
        ("01", "line 1, column 2: nothing may follow the first value"),
        ("-", "line 1, column 2: a digit is expected here"),
        ("1.", "line 1, column 3: a digit is expected here"),
        ("1e+", "line 1, column 4: a digit is expected here"),
        ("<<<<<<< HEAD", "line 1, column 1: a value is missing here"),
        ("", "line 1, column 1: a value is missing here"),
    ] {
        assert_eq!(refused(text), told, "{text}");
    }
    assert!(refused(&"[".repeat(100_000)).contains("nested too deeply"));
}

#[test]
fn what_json_proper_does_not_know_is_remarked() {
    let relaxed = |text: &str| Document::read(text).expect(text).relaxed.map(|position| position.to_string());
    assert_eq!(relaxed("\u{feff}{\"a\": \"// no\"}\r\n"), None);
    assert_eq!(relaxed("{\n // x\n}").as_deref(), Some("line 2, column 2"));
    assert_eq!(relaxed("[1, 2,]").as_deref(), Some("line 1, column 6"));
}

#[test]
fn steps_that_were_made_to_another_text_do_not_panic() {
    let mut draft = Draft::of("{\"b\": 1}");
    draft.set(&path("a"), &json!(1)).expect("set");
    assert_eq!(take_back("{}", &draft.steps), None);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~é\n/*]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

/// Writes a value with white space, comments and trailing commas chosen by the numbers.
fn written(value: &Value, choose: &mut dyn FnMut() -> u8) -> String {
    let mut gap = {
        let taste: Vec<u8> = (0..6).map(|_| choose()).collect();
        let mut at = 0;
        move || {
            at += 1;
            match taste[at % taste.len()] % 8 {
                0 => " ",
                1 => "\n  ",
                2 => "\r\n\t",
                3 => " /* , } */ ",
                4 => " // \"a\": {\n",
                _ => "",
            }
        }
    };
    let many = |parts: Vec<String>, gap: &mut dyn FnMut() -> &'static str, trailing: bool| {
        let mut all = parts.join(",");
        if trailing && !parts.is_empty() {
            all.push_str(gap());
            all.push(',');
        }
        all
    };
    match value {
        Value::Array(items) => {
            let parts = items.iter().map(|item| format!("{}{}{}", gap(), written(item, choose), gap())).collect();
            format!("[{}{}]", many(parts, &mut gap, choose().is_multiple_of(3)), gap())
        }
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}{}{}:{}{}{}", gap(), json!(key), gap(), gap(), written(value, choose), gap())
            };
            let parts = members.iter().map(member).collect();
            format!("{{{}{}}}", many(parts, &mut gap, choose().is_multiple_of(3)), gap())
        }
        other => other.to_string(),
    }
}

fn file() -> impl Strategy<Value = (Value, String)> {
    let members = prop::collection::btree_map("[a-d]", value(), 0..4);
    (members, prop::collection::vec(any::<u8>(), 8)).prop_map(|(members, taste)| {
        let value = json!(members);
        let mut at = 0;
        let text = written(&value, &mut || {
            at += 1;
            taste[at % taste.len()]
        });
        (value, text)
    })
}

/// The value of a relaxed text.
fn meant(document: &Document, node: &Node) -> Option<Value> {
    match &node.members {
        Some(members) => {
            let member = |member: &Member| Some((member.key.clone(), meant(document, &member.value)?));
            members.iter().map(member).collect::<Option<serde_json::Map<_, _>>>().map(Value::Object)
        }
        None => Some(serde_json::from_str(document.raw(node)).unwrap_or_else(|_| json!(document.raw(node)))),
    }
}

proptest! {
    #[test]
    fn any_entry_can_be_set_taken_back_and_removed((_, text) in file(), key in "[a-f]", inner in prop::option::of("[a-f]"), new in value()) {
        let before = Document::read(&text).expect("it was written as JSON");
        let original = meant(&before, &before.root).expect("a value");
        let path: Vec<String> = [key].into_iter().chain(inner).collect();
        let was_there = before.find(&path).is_some();
        let mut draft = Draft::of(&text);
        let made = match draft.set(&path, &new) {
            Ok(made) => made,
            Err(_) => {
                prop_assert_eq!(&draft.text, &text, "what is refused changes nothing");
                return Ok(());
            }
        };
        let after = Document::read(&draft.text).map_err(|broken| TestCaseError::fail(format!("{broken}: {}", draft.text)))?;
        prop_assert_eq!(after.get(&path), Some(new.clone()));
        prop_assert_eq!(take_back(&draft.text, &draft.steps), Some(text.clone()));
        let comments = |text: &str| (text.matches("/* , } */").count(), text.matches("// \"a\": {").count());
        prop_assert!(was_there || comments(&draft.text) == comments(&text), "comments are lost");

        if !was_there {
            let mut bare = Draft::of(&draft.text);
            bare.remove(&path).expect("removed");
            if let Some(made) = made {
                bare.remove(&made).expect("removed");
            }
            let document = Document::read(&bare.text).map_err(|broken| TestCaseError::fail(format!("{broken}: {}", bare.text)))?;
            prop_assert_eq!(meant(&document, &document.root), Some(original));
            prop_assert_eq!(take_back(&bare.text, &bare.steps), Some(draft.text.clone()));
        }
    }

    #[test]
    fn any_member_can_be_removed_and_the_rest_means_the_same((_, text) in file(), choice in any::<prop::sample::Index>()) {
        let document = Document::read(&text).expect("it was written as JSON");
        let mut expected = meant(&document, &document.root).expect("a value");
        let keys: Vec<String> = expected.as_object().expect("an object").keys().cloned().collect();
        if keys.is_empty() {
            return Ok(());
        }
        let key = choice.get(&keys).clone();
        expected.as_object_mut().expect("an object").shift_remove(&key);
        let mut draft = Draft::of(&text);
        draft.remove(&[key]).expect("removed");
        let document = Document::read(&draft.text).map_err(|broken| TestCaseError::fail(format!("{broken}: {}", draft.text)))?;
        prop_assert_eq!(meant(&document, &document.root), Some(expected));
    }

    #[test]
    fn plain_json_is_read_as_serde_reads_it(text in "[\\[\\]{}\":, a1.e+\\-\\\\tnul/*\n]{0,12}") {
        let ours = Document::read(&text);
        let theirs = serde_json::from_str::<Value>(&text);
        if let Ok(document) = &ours && document.relaxed.is_none() {
            prop_assert!(theirs.is_ok(), "{text}");
        }
        if theirs.is_ok() {
            prop_assert!(ours.is_ok(), "{text}");
        }
    }
}
