//! Exported conversations come back unchanged.

use std::fs;

use serde_json::{Value, json};

use crate::editing::scene::{Scene, word};
use crate::place::{Place, Ran, Up};

/// An edited conversation with a branch, a tag, an offloaded frame and a pending reply.
fn edited() -> Scene {
    let mut scene = Scene::new();
    scene.change(&["delete", "t1", "--note", "a dead end"]);
    scene.change(&["tag", "good"]);
    scene.next("THINK:deep thoughts ;; SAY:thought about it");
    scene.change(&["branch", "trial"]);
    scene.change(&["compact", "t2", "--text", "Seven cows."]);
    scene.change(&["checkout", "main"]);
    scene.change(&["offload", "t3"]);
    scene.change(&["pin", "t2"]);
    scene.settle();
    scene
}

/// Another home with its own daemon.
fn elsewhere(scene: &Scene) -> (Place, Up) {
    let place = Place::new();
    let up = place.up(&scene.provider.url());
    (place, up)
}

/// An anonymous client.
fn ask(up: &Up, messages: &[Value]) {
    let body =
        json!({"model": "claude-sonnet-4-5", "max_tokens": 32000, "stream": true, "messages": messages}).to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut client = testkit::Client::connect(&up.url()).await.expect("connected");
        let headers = [("content-type".to_owned(), "application/json".to_owned())];
        client.send("POST", "/v1/messages", &headers, body.as_bytes()).await.expect("an answer");
    });
}

fn export(scene: &Scene) -> String {
    let file = scene.place.path("farm.ctx").display().to_string();
    let told = scene.json(&["export", &file, "--force"]);
    assert_eq!(told["bytes"].as_u64(), fs::metadata(&file).ok().map(|found| found.len()));
    file
}

fn dump(place: &Place, more: &[&str]) -> String {
    place.run(&[&["compose", "--dump"], more].concat()).ok().out
}

fn json_of(place: &Place, arguments: &[&str]) -> Value {
    place.run(&[arguments, &["--json"]].concat()).ok().json()
}

#[test]
fn a_file_larger_than_any_request_comes_in() {
    const LARGEST_REQUEST: u64 = 32 * 1024 * 1024;
    let scene = Scene::new();
    for letter in ["a", "b"] {
        let text = format!("{}\n", letter.repeat(99)).repeat(180_000);
        scene.run_with(&["add", "--text", "-", "--after", "t1", "--json"], &text).ok();
        scene.json(&["undo"]);
    }
    let file = export(&scene);
    assert!(fs::metadata(&file).expect("a file").len() > LARGEST_REQUEST);
    let (there, up) = elsewhere(&scene);
    json_of(&there, &["import", "--file", &file]);
    assert_eq!(dump(&there, &[]), scene.dump(), "to the byte");
    assert_eq!(json_of(&there, &["history"])["commits"], scene.json(&["history"])["commits"]);

    // Other programs may call it JSON.
    let headers = [("authorization", format!("Bearer {}", up.token())), ("content-type", "application/json".into())];
    let headers = headers.map(|(name, value)| (name.to_owned(), value));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let came = runtime.block_on(async {
        let mut client = testkit::Client::connect(&up.url()).await.expect("connected");
        client.send("POST", "/control/v1/import?dry_run=true", &headers, &fs::read(&file).expect("a file")).await
    });
    assert_eq!(came.expect("an answer").status, 200);
}

#[test]
fn a_conversation_comes_out_elsewhere_as_it_went_in() {
    let scene = edited();
    let file = export(&scene);
    let content = fs::read_to_string(&file).expect("text");
    assert!(content.lines().next().is_some_and(|line| line.contains("\"ctx-conversation\"")), "{content}");
    #[cfg(unix)]
    assert_eq!(crate::place::mode(file.as_ref()), 0o600);
    let (there, _up) = elsewhere(&scene);
    let looked = json_of(&there, &["import", "--file", &file, "--dry-run"]);
    assert_eq!(there.run(&["compose"]).code, Some(1), "nothing has come in");
    let came = json_of(&there, &["import", "--file", &file]);
    assert_eq!((&came["conversation"], &came["was"]), (&looked["conversation"], &came["conversation"]));
    assert_eq!(came["session"], scene.session.session_id(), "it goes on as what it was");
    assert_eq!(came["files_missing"], 0, "the same machine: the file is there");

    assert_eq!(dump(&there, &[]), scene.dump(), "to the byte");
    for at in ["good", "trial", "source"] {
        assert_eq!(dump(&there, &["--at", at]), dump(&scene.place, &["--at", at]), "{at}");
    }
    for verb in
        [&["history"][..], &["list", "--steps"], &["branch"], &["tag"], &["show", "t2"], &["diff", "source", "trial"]]
    {
        assert_eq!(json_of(&there, verb), scene.json(verb), "{verb:?}");
    }
    let again = there.path("again.ctx").display().to_string();
    there.run(&["export", &again]).ok();
    assert_eq!(fs::read_to_string(&again).expect("text"), content, "and out again");
    // The conversation continues.
    there.run(&["checkout", "trial"]).ok();
    assert!(dump(&there, &[]).contains("Seven cows."));
    there.run(&["restore", "t3", "--conv", &word(&came["conversation"])]).refused();
    there.run(&["checkout", "main"]).ok();
    there.run(&["restore", "t3"]).ok();
    assert!(dump(&there, &[]).contains("it is red now"), "what was offloaded is in the log");
}

#[test]
fn where_its_session_goes_on_it_is_composed_as_before() {
    let mut scene = edited();
    let file = export(&scene);
    let (there, up) = elsewhere(&scene);
    there.run(&["import", "--file", &file]).ok();
    scene.session.assistant("Moo.").user("SAY:on we go");
    up.send(&scene.session);
    let sent = scene.provider.requests().pop().expect("a request");
    let sent = String::from_utf8_lossy(&sent.body).into_owned();
    assert!(!sent.contains("needle") && sent.contains("Offloaded") && sent.contains("on we go"), "{sent}");
    assert_eq!(json_of(&there, &["conversations"])["conversations"].as_array().map(Vec::len), Some(1));
}

#[test]
fn beside_the_original_it_is_one_of_its_own() {
    let mut scene = edited();
    let file = export(&scene);
    let before = scene.dump();
    let own = word(&scene.json(&["list"])["conversation"]);
    let came = scene.json(&["import", "--file", &file]);
    let copy = word(&came["conversation"]);
    assert_ne!(copy, own);
    let imported = |id: &str| {
        let all = scene.json(&["conversations"]);
        let mut all = all["conversations"].as_array().into_iter().flatten();
        all.find(|one| one["id"] == id).expect("it is listed")["imported"].clone()
    };
    assert_eq!((imported(&copy), imported(&own)), (true.into(), Value::Null), "a copy is known as one");
    assert_eq!((word(&came["was"]), &came["session"]), (own.clone(), &Value::Null));
    assert_eq!(dump(&scene.place, &["--conv", &copy]), before);
    scene.place.run(&["rollback", "source", "--conv", &copy]).ok();
    assert_eq!(dump(&scene.place, &["--conv", &own]), before, "one does not touch the other");
    // The session's next request belongs to the original.
    scene.next("SAY:on we go");
    let frames = |id: &str| scene.json(&["list", "--conv", id])["frames"].as_array().map(Vec::len);
    assert!(frames(&own) > frames(&copy));
    let third = scene.json(&["import", "--file", &file]);
    assert_ne!(third["conversation"], came["conversation"], "each time another one");
    scene.restart();
    assert_eq!(dump(&scene.place, &["--conv", &word(&third["conversation"])]), before, "also after a restart");
}

#[test]
fn a_client_without_a_session_goes_on_in_the_original() {
    let place = Place::new();
    let provider = crate::place::provider();
    let up = place.up(&provider.url());
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let mut messages = vec![said("user", "Find the needle"), said("assistant", "Here."), said("user", "SAY:good")];
    ask(&up, &messages);
    let own = word(&json_of(&place, &["list"])["conversation"]);
    let file = place.path("own.ctx").display().to_string();
    place.run(&["export", &file]).ok();
    let copy = word(&json_of(&place, &["import", "--file", &file])["conversation"]);
    messages.extend([said("assistant", "good"), said("user", "SAY:on we go")]);
    ask(&up, &messages);
    let frames = |id: &str| json_of(&place, &["list", "--conv", id])["frames"].as_array().map(Vec::len);
    assert!(frames(&own) > frames(&copy), "{own} {copy}");
}

#[test]
fn files_of_offloaded_content_stay_behind_and_that_is_told() {
    let scene = edited();
    let file = export(&scene);
    assert!(
        !fs::read_to_string(&file).expect("text").contains("# Paint the barn\\n\\nOffloaded from"),
        "it is not carried along"
    );
    fs::remove_dir_all(scene.place.home().join("offload")).expect("files");
    let (there, _up) = elsewhere(&scene);
    let told = there.run(&["import", "--file", &file]).ok().out;
    assert!(told.contains("1 offloaded file missing here") && told.contains("ctx restore"), "{told}");
    assert_eq!(dump(&there, &[]), scene.dump(), "the stub is the same, to the byte");
    assert!(!there.home().join("offload").exists(), "no file is written for somebody else");
    there.run(&["restore", "t3"]).ok();
    assert!(dump(&there, &[]).contains("it is red now"));
}

#[test]
fn nothing_secret_is_in_the_file() {
    let scene = edited();
    let content = fs::read_to_string(export(&scene)).expect("text");
    let token = fs::read_to_string(scene.place.home().join("token")).expect("a token");
    assert!(!content.contains(token.trim()));
    for (name, value) in scene.session.headers() {
        let is_secret = name.eq_ignore_ascii_case("authorization") || name.eq_ignore_ascii_case("x-api-key");
        assert!(!is_secret || !content.contains(value.trim_start_matches("Bearer ")), "{name}");
    }
}

#[test]
fn files_that_are_damaged_cut_off_or_foreign_are_refused_with_their_place() {
    let scene = edited();
    let content = fs::read_to_string(export(&scene)).expect("text");
    let (there, _up) = elsewhere(&scene);
    let refused = |text: &str| -> Ran {
        let file = there.write("bad.ctx", text);
        let ran = there.run(&["import", "--file", &file.display().to_string(), "--json"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran
    };
    let told = |text: &str| {
        let error = refused(text).json()["error"].clone();
        assert_eq!(error["code"], "bad-file", "{error}");
        assert!(!word(&error["hint"]).is_empty());
        word(&error["message"])
    };
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let last = lines.len();
    assert!(told("").contains("it is empty"));
    assert!(told("hello\n").contains("not an exported conversation"));
    assert!(told("{\"format\":\"zip\",\"version\":1}\n").contains("not an exported conversation"));
    assert!(told(&content.replacen("\"version\":1", "\"version\":2", 1)).contains("version 2"));
    let cut = told(&lines[..last - 1].concat());
    assert!(cut.contains(&format!("truncated after line {}", last - 1)), "{cut}");
    let half = told(&content[..content.len() / 2]);
    assert!(half.contains("damaged in line") || half.contains("truncated"), "{half}");
    let changed = told(&content.replacen("straw and straw", "straw and hay !", 1));
    assert!(changed.contains("damaged in line"), "{changed}");
    let swapped: String = [&lines[..1], &lines[2..3], &lines[1..2], &lines[3..]].concat().concat();
    assert!(told(&swapped).contains("line"), "order counts");
    let blob = lines.iter().position(|line| line.starts_with("{\"blob\"")).expect("a blob");
    let without: String = [&lines[..blob], &lines[blob + 1..]].concat().concat();
    assert!(told(&without).contains("needs content that is not in the file"));
    assert!(told(&format!("{content}{{}}\n")).contains("data after the end"));
    let foreign = content.replacen("\"conversation\":\"c", "\"conversation\":\"../c", 1);
    assert!(told(&foreign).contains("line 1"));
    assert_eq!(json_of(&there, &["conversations"])["conversations"], json!([]), "nothing has changed");
    there.run(&["import", "--file", "nowhere.ctx"]).refused();
}

#[test]
fn a_file_is_not_written_over_another_and_import_of_frames_is_another_thing() {
    let scene = Scene::new();
    let id = word(&scene.json(&["list"])["conversation"]);
    let told = scene.place.run(&["export"]).ok().out;
    assert!(told.contains(&format!("{id}.ctx")), "{told}");
    let file = scene.place.path("work").join(format!("{id}.ctx"));
    let before = fs::read(&file).expect("a file");
    let refused = scene.place.run(&["export"]).refused();
    assert!(refused.err.contains("already exists") && refused.err.contains("--force"), "{refused:?}");
    assert_eq!(scene.place.run(&["export", "-"]).ok().out.into_bytes(), before);
    assert_eq!(scene.place.run(&["export", "-", "--conv", "the needle"]).ok().out.into_bytes(), before);
    assert_eq!(scene.place.run(&["export", "-", "--json"]).code, Some(2));
    for wrong in [
        &["import"][..],
        &["import", &id],
        &["import", &id, "t1", "--file", "x"],
        &["import", "--file", "x", "--start"],
    ] {
        assert_eq!(scene.place.run(wrong).code, Some(2), "{wrong:?}");
    }
    scene.place.run(&["export", "--conv", "c000000"]).refused();
}
