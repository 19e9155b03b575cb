//! Plans: previewed as a whole, applied in part, refused when they are no longer possible.

use serde_json::{Value, json};

use super::scene::{Scene, word};

fn path(scene: &Scene, plan: &Value) -> String {
    scene.file("plan.json", &plan.to_string()).display().to_string()
}

fn tidy() -> Value {
    json!({"note": "tidy", "operations": [
        {"op": "delete", "ids": ["t1"], "reason": "a dead end"},
        {"op": "drop-results", "ids": ["t2"]},
        {"op": "compact", "ids": ["t3"], "text": "The barn is red.", "reason": "only what came of it matters"},
    ]})
}

#[test]
fn a_plan_is_looked_at_and_changes_nothing() {
    let scene = Scene::new();
    let (file, before) = (path(&scene, &tidy()), scene.dump());
    let plan = scene.json(&["plan", &file]);
    assert_eq!((&plan["commit"], &plan["head"]), (&Value::Null, &Value::Null));
    let operations = plan["operations"].as_array().expect("operations");
    assert_eq!(operations.len(), 3);
    for (number, operation) in (1..).zip(operations) {
        assert_eq!(operation["number"], number, "{operation}");
        assert!(["low", "medium", "high"].contains(&operation["risk"].as_str().expect("a risk")), "{operation}");
    }
    assert_eq!(operations[0]["reason"], "a dead end");
    assert_eq!(operations[0]["frames"], json!(["t1"]));
    for (one, next) in operations.iter().zip(&operations[1..]) {
        assert_eq!(one["tokens_after"], next["tokens_before"], "each on top of those before it");
    }
    assert!(operations[1]["risks"].to_string().contains("saves nothing"), "small results: {plan}");
    assert_eq!(plan["tokens_after"], operations[2]["tokens_after"]);
    assert_eq!(plan["preview"]["first_change"], "t1", "the client's notes in it stay: {plan}");
    assert!(plan["cost"]["first"].as_u64() > plan["cost"]["later"].as_u64(), "{plan}");
    assert!(plan["cost"]["pays_off_after"].as_u64() > Some(1), "{plan}");
    assert_eq!(scene.dump(), before);

    let told = scene.place.run(&["plan", &file]).ok().out;
    for words in ["preview", "a dead end", "removes the request in t1", "re-reads", "pays off after", "overall risk"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(scene.place.run(&["batch", &file, "--dry-run"]).ok().out, told);
    assert_eq!(scene.place.run(&["preview", "batch", &file]).ok().out, told);
    assert_eq!(scene.dump(), before);
}

#[test]
fn some_of_a_plan_becomes_one_commit_with_its_reasons() {
    let scene = Scene::new();
    let file = path(&scene, &tidy());
    let (applied, sent) = scene.change(&["plan", &file, "--apply", "--only", "1,3"]);
    assert!(!sent.contains("needle") && sent.contains("seven cows") && sent.contains("The barn is red."), "{sent}");
    assert_eq!(applied["operations"], json!([]), "what each would do is told before, not after");
    assert_eq!(applied["head"], Value::Null, "the head that it was made at");
    assert!(applied["cost"]["later"].as_u64() > Some(0), "{applied}");
    let history = scene.json(&["history"]);
    let commit = &history["commits"][0];
    assert_eq!(history["commits"].as_array().map(Vec::len), Some(1));
    assert_eq!(commit["note"], "tidy");
    assert_eq!(commit["reasons"], json!(["a dead end", "only what came of it matters"]));
    for verb in ["history", "timeline"] {
        let told = scene.place.run(&[verb]).ok().out;
        assert!(told.contains("delete t1: a dead end") && told.contains("only what came of it"), "{verb}: {told}");
    }
    // The head has moved, but the plan expects no particular head.
    let (_, sent) = scene.change(&["batch", &file, "--only", "2", "--note", "the rest"]);
    assert!(!sent.contains("seven cows"), "{sent}");
    assert_eq!(scene.json(&["history"])["commits"][0]["note"], "the rest", "it wins over that of the plan");
    assert_eq!(scene.json(&["history"])["commits"][0]["reasons"], json!([]));
}

#[test]
fn what_would_be_lost_is_told() {
    let scene = Scene::new();
    scene.change(&["pin", "t2"]);
    let risks = |operation: Value| -> (String, String) {
        let plan = scene.json(&["plan", &path(&scene, &json!([operation]))]);
        let operation = &plan["operations"][0];
        assert_eq!(plan["risk"], operation["risk"]);
        let told: Vec<String> =
            operation["risks"].as_array().into_iter().flatten().map(|risk| word(&risk["what"])).collect();
        (word(&operation["risk"]), told.join("|"))
    };
    let risk = risks(json!({"op": "drop-results", "ids": ["t2"]}));
    assert!(risk.0 == "high" && risk.1.starts_with("t2 is pinned|"), "{risk:?}");
    assert!(!risk.1.contains("A65"), "once is enough: {risk:?}");
    let (level, told) = risks(json!({"op": "delete", "ids": ["t4"]}));
    assert!(level == "medium" && told.contains("t4 is the newest frame"), "{told}");
    assert_eq!(risks(json!({"op": "retitle", "id": "t2", "title": "Cows"})), ("low".into(), String::new()));
    let (level, told) = risks(json!({"op": "delete", "ids": ["tools/Bash"]}));
    assert!(level == "medium" && told.contains("changes the tools: Bash"), "{told}");
    let (level, told) = risks(json!({"op": "edit", "id": "system#0", "text": "Moo.", "force": true}));
    assert!(["medium", "high"].contains(&level.as_str()) && told.contains("system"), "{told}");
}

#[test]
fn an_open_loop_results_that_are_worked_on_and_thinking_are_told() {
    let mut scene = Scene::new();
    let calls = |tool: &str| {
        format!(r#"USE_TOOL:{tool}:{{"file_path":"hay/stack.txt","old_string":"straw","new_string":"hay"}}"#)
    };
    scene.next("THINK:how many ;; SAY:many");
    scene.next(&calls("Edit"));
    // The call has arrived and waits for its result.
    let plan = |operations: Value| scene.json(&["plan", &path(&scene, &operations)]);
    let one = plan(json!([{"op": "drop-results", "ids": ["t1"]}]));
    let told = one["operations"][0]["risks"].to_string();
    assert!(told.contains("`hay/stack.txt`, whose result is removed"), "{told}");
    let newest = scene.ids().pop().expect("a frame");
    let open = plan(json!([{"op": "delete", "ids": [newest]}]));
    assert_eq!(open["risk"], "high", "{open}");
    assert!(open["operations"][0]["risks"].to_string().contains("its tool loop is in progress"), "{open}");
    let thinking = plan(json!([{"op": "delete", "ids": ["t1"]}]));
    let count = thinking["thinking_lost"].as_u64().expect("a number");
    assert_eq!(Some(count), thinking["preview"]["thinking_dropped"].as_u64(), "{thinking}");
    assert!(count > 1, "{thinking}");
    assert!(
        thinking["operations"][0]["risks"].to_string().contains(&format!("{count} thinking blocks are no longer sent")),
        "{thinking}"
    );
}

#[test]
fn a_plan_that_does_not_fit_any_more_is_refused_and_told_why() {
    let scene = Scene::new();
    let mut plan = tidy();
    plan["expect"] = "none".into();
    let file = path(&scene, &plan);
    scene.json(&["plan", &file]);
    let first = word(&scene.json(&["delete", "t1"])["commit"]);
    scene.json(&["pin", "t4"]);
    for arguments in [&["plan", &file][..], &["plan", &file, "--apply"], &["batch", &file]] {
        let error = scene.refused(arguments);
        let told = word(&error["message"]);
        assert_eq!(error["code"], "stale", "{arguments:?}");
        assert!(
            told.contains(&format!("{first} by cli: delete t1")) && told.contains("[touches t1 of operation 1]"),
            "{told}"
        );
        assert!(told.contains("pin t4\n") || told.ends_with("pin t4"), "the other one touches nothing: {told}");
    }
    // The same plan without `expect`: already removed content is skipped.
    let head = word(&scene.json(&["history"])["head"]);
    let applied = scene.json(&["plan", &file, "--expect", &head]);
    assert!(word(&applied["operations"][0]["nothing"]).contains("t1"), "{applied}");

    plan["expect"] = "abcdef0123".into();
    let error = scene.refused(&["plan", &path(&scene, &plan)]);
    assert!(word(&error["message"]).contains("not a commit of this conversation"), "{error}");
    let gone = json!([{"op": "delete", "ids": ["t8"]}, {"op": "pin", "ids": ["t2"]}, {"op": "pin", "ids": ["t9"]}]);
    let error = scene.refused(&["plan", &path(&scene, &gone)]);
    assert_eq!(error["code"], "does-not-fit");
    assert!(word(&error["message"]).contains("t8") && word(&error["message"]).contains("t9"), "{error}");
    assert!(word(&error["hint"]).contains("--only 2"), "{error}");
    scene.change(&["plan", &path(&scene, &gone), "--apply", "--only", "2"]);
    let error = scene.refused(&["plan", &path(&scene, &gone), "--only", "4"]);
    assert_eq!(error["code"], "bad-number", "{error}");
    let error = scene.refused(&["plan", &path(&scene, &json!([{"op": "pin", "ids": ["t2"]}]))]);
    assert_eq!(error["code"], "nothing-to-do", "{error}");
}

#[test]
fn plans_that_are_none_are_refused_with_their_place() {
    let scene = Scene::new();
    for (text, told) in [
        ("", "contains no operations"),
        ("{\"operations\": [", "the JSON is incomplete"),
        ("{\"operations\": {}}", "expected a list, not an object"),
        ("[{\"op\": \"delete\", \"ids\": [\"t1\"], \"reason\": {}}]", "operation 1: expected a text"),
        ("{\"note\": \"x\"}", "the field `op` is missing"),
        ("[1]", "operation 1: expected an operation"),
        ("\u{0}", "line 1, column 1"),
    ] {
        let file = scene.file("bad.json", text).display().to_string();
        let error = scene.refused(&["plan", &file]);
        assert!(word(&error["message"]).contains(told), "{text}: {error}");
    }
    scene.refused(&["plan", "nowhere.json"]);
    let ran = scene.run_with(&["plan", "-", "--json"], &tidy().to_string()).ok();
    assert_eq!(ran.json()["operations"].as_array().map(Vec::len), Some(3), "a plan may come from stdin");
    for wrong in
        [&["plan"][..], &["plan", "f", "--only", "0"], &["plan", "f", "--only", "x"], &["plan", "f", "-i", "--apply"]]
    {
        assert_eq!(scene.place.run(wrong).code, Some(2), "{wrong:?}");
    }
    let refused = scene.place.run(&["plan", "-i", &path(&scene, &tidy())]).refused();
    assert!(refused.err.contains("this is not a terminal") && refused.err.contains("--only"), "{refused:?}");
}

/// Runs in a terminal of `script`, which feeds it this input.
#[cfg(unix)]
fn in_a_terminal(scene: &Scene, file: &str, keys: &str) -> Option<String> {
    use std::process::{Command, Stdio};
    let ctx = scene.place.ctx(&["plan", "-i", file]);
    let line = format!("{} plan -i {file}", ctx.get_program().to_string_lossy());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env_clear().current_dir(ctx.get_current_dir().expect("a folder"));
    command.envs(ctx.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("NO_COLOR", "1").env("TERM", "xterm").env("EDITOR", "sed -i s/red/blue/").env("SHELL", "/bin/sh");
    let input = scene.file("keys", keys);
    let out = command.stdin(std::fs::File::open(input).ok()?).stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&out.stdout).replace("\r\n", "\n"))
}

#[test]
#[cfg(unix)]
fn in_a_terminal_each_operation_is_asked_for() {
    let scene = Scene::new();
    let file = path(&scene, &tidy());
    let before = scene.dump();
    let Some(told) = in_a_terminal(&scene, &file, "y\nq\n") else {
        eprintln!("there is no `script`; nothing is tested");
        return;
    };
    assert!(told.contains("(1/3) Apply this operation") && told.contains("nothing was changed"), "{told}");
    assert_eq!(scene.dump(), before);
    let told = in_a_terminal(&scene, &file, "?\ns\ny\nn\ne\ny\n").expect("a terminal");
    assert!(told.contains("skip it") && told.contains("Find the needle"), "{told}");
    let sent = scene.dump();
    assert!(
        !sent.contains("needle") && sent.contains("seven cows") && sent.contains("The barn is blue."),
        "{told}\n{sent}"
    );
    let history = scene.json(&["history"]);
    assert_eq!(history["commits"].as_array().map(Vec::len), Some(1));
    assert_eq!(history["commits"][0]["reasons"], json!(["a dead end", "only what came of it matters"]));
    let told = in_a_terminal(&scene, &file, "a\n").expect("a terminal");
    assert!(told.contains("skipped"), "t1 is gone already: {told}");
    assert!(!scene.dump().contains("seven cows"));
}
