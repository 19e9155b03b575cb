//! The official SDKs: no session id, streaming and not.

use std::process::Command;

use crate::stage::{Stage, finish, needed};

const PYTHON: &str = r#"
import anthropic, os
client = anthropic.Anthropic(base_url=os.environ["BASE"], api_key="sk-ant-marked", max_retries=0)
messages = []
def ask(text, stream):
    messages.append({"role": "user", "content": text})
    arguments = dict(model="claude-opus-fake", max_tokens=1000, messages=messages)
    if stream:
        with client.messages.stream(**arguments) as events:
            for _ in events: pass
            reply = events.get_final_message()
    else:
        reply = client.messages.create(**arguments)
    messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]})
    print(reply.content[0].text)
ask("SAY:plain ünïcödé", False)
ask("SAY:streamed", True)
"#;

const TYPESCRIPT: &str = r#"
import Anthropic from "@anthropic-ai/sdk";
const client = new Anthropic({ baseURL: process.env.BASE, apiKey: "sk-ant-marked", maxRetries: 0 });
const messages = [];
async function ask(text, stream) {
  messages.push({ role: "user", content: text });
  const request = { model: "claude-opus-fake", max_tokens: 1000, messages };
  const reply = stream ? await client.messages.stream(request).finalMessage() : await client.messages.create(request);
  messages.push({ role: "assistant", content: reply.content });
  console.log(reply.content[0].text);
}
await ask("SAY:plain ünïcödé", false);
await ask("SAY:streamed", true);
"#;

fn assert_two_turns(stage: &Stage, command: Command) {
    let output = finish(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "plain ünïcödé\nstreamed\n");
    stage.assert_faithful();
    let conversation = stage.conversation(|_| true);
    assert_eq!(conversation["class"], "main");
    let titles: Vec<_> = stage.turns(&conversation).iter().map(|turn| turn["title"].clone()).collect();
    assert_eq!(titles, ["SAY:plain ünïcödé", "SAY:streamed"]);
    stage.assert_dump_was_sent(&conversation);
}

#[test]
fn the_python_sdk_streams_and_asks_in_one_conversation() {
    let Some(python) = needed("CTX_TEST_ANTHROPIC_PY") else { return };
    let stage = Stage::new();
    let mut command = Command::new(python);
    command.args(["-c", PYTHON]).env("BASE", stage.front.url()).env("PYTHONIOENCODING", "utf-8");
    assert_two_turns(&stage, command);
}

#[test]
fn the_typescript_sdk_streams_and_asks_in_one_conversation() {
    let Some(folder) = needed("CTX_TEST_ANTHROPIC_TS") else { return };
    let stage = Stage::new();
    let mut command = Command::new("node");
    // Node resolves the package from its working directory.
    command.args(["--input-type=module", "-e", TYPESCRIPT]).env("BASE", stage.front.url()).current_dir(folder);
    assert_two_turns(&stage, command);
}
