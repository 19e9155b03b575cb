//! Single turns, tool loops and sub-agents, headless.

use crate::claude::Claude;
use crate::stage::Stage;

#[test]
fn a_single_turn_passes_and_shows_as_one_frame() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let result = claude.ask(&stage, "SAY:hello from the other side", &[]);
    assert_eq!(result["result"], "hello from the other side");
    stage.assert_faithful();

    let conversation = stage.conversation(|_| true);
    assert_eq!((&conversation["class"], &conversation["active"]), (&"main".into(), &true.into()));
    assert_eq!(conversation["session"], result["session_id"]);
    assert_eq!(conversation["calibrated"], true);
    assert_eq!(stage.verdicts(&conversation), [("main".into(), "new".into())]);
    let turns = stage.turns(&conversation);
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0]["title"], "SAY:hello from the other side");
    assert_eq!((&turns[0]["steps"], &turns[0]["pending"]), (&1.into(), &true.into()));
    stage.assert_dump_was_sent(&conversation);
    assert_eq!(stage.ctx(&["compose", "--dump"]).stdout, stage.sent_bodies()[0]);
}

#[test]
fn a_tool_loop_is_one_frame_with_steps() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let file = stage.file("notes.txt", "the needle lies here\n");
    claude.ask_well(
        &stage,
        &format!("THINK:where is it ;; SAY:looking ;; USE_TOOL:Read:{file} ;; THEN ;; SAY:found it"),
        &[],
    );
    stage.assert_faithful();

    let conversation = stage.conversation(|_| true);
    let turns = stage.turns(&conversation);
    assert_eq!(turns.len(), 1, "{turns:#?}");
    let steps = turns[0]["step_list"].as_array().expect("steps");
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0]["tools"], serde_json::json!(["Read"]));
    assert!(steps[0]["title"].as_str().expect("a title").starts_with("Read /"), "{}", steps[0]["title"]);
    let shown = stage.json(&["show", "t1/1"]);
    assert!(shown.to_string().contains("the needle lies here"));
    assert_eq!(stage.verdicts(&conversation), [("main".into(), "new".into()), ("main".into(), "next".into())]);
    stage.assert_dump_was_sent(&conversation);
}

#[test]
fn parallel_calls_are_one_step() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    let (one, two) = (stage.file("one.txt", "1\n"), stage.file("two.txt", "2\n"));
    claude.ask_well(&stage, &format!("USE_TOOL:Read:{one} ;; USE_TOOL:Read:{two} ;; THEN ;; SAY:both read"), &[]);
    stage.assert_faithful();
    let turns = stage.turns(&stage.conversation(|_| true));
    assert_eq!(turns[0]["step_list"][0]["tools"], serde_json::json!(["Read", "Read"]));
    assert_eq!(turns[0]["steps"], 2);
}

#[test]
fn a_sub_agent_is_a_conversation_of_its_own_linked_to_its_parent() {
    let Some(claude) = Claude::find() else { return };
    for claude in [Claude::find().expect("found before"), claude.hinting()] {
        let stage = Stage::new();
        let file = stage.file("deep.txt", "deep down\n");
        let input = serde_json::json!({"description": "look", "prompt": format!("USE_TOOL:Read:{file}\nTHEN\nSAY:sub done"), "subagent_type": "general-purpose", "run_in_background": false});
        claude.ask_well(&stage, &format!("USE_TOOL:Agent:{input} ;; THEN ;; SAY:all done"), &[]);
        stage.assert_faithful();

        let main = stage.conversation(|conversation| conversation["class"] == "main");
        let sub = stage.conversation(|conversation| conversation["class"] == "subagent");
        assert_eq!(sub["parent"], main["id"]);
        assert_eq!(sub["session"], main["session"]);
        assert_eq!((stage.turns(&main).len(), stage.turns(&sub).len()), (1, 1));
        assert_eq!(stage.turns(&sub)[0]["steps"], 2);
        assert!(stage.verdicts(&sub).iter().all(|(class, _)| class == "subagent"));
        assert_eq!(stage.json(&["list"])["conversation"], main["id"], "the main conversation stays the active one");
    }
}
