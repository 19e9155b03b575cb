//! Stock Codex, opencode, Gemini CLI and Qwen Code with only the settings of `ctx install --mcp`: their requests reach the
//! daemon and offer their model the skill and the tools of `ctx`; `ctx uninstall` restores their settings.

use std::path::Path;
use std::process::Output;

use crate::providers::Providers;

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// An agent, the name that its requests carry, and words that tell its model of the tools.
struct Agent<'a> {
    name: &'a str,
    client: &'a str,
    tools: &'a str,
}

/// Installs the agent, runs it, and uninstalls it; `settings` contains `own` before and after.
fn goes_through_ctx(stage: &Providers, agent: &Agent<'_>, settings: &Path, own: &str, arguments: &[&str]) {
    std::fs::create_dir_all(settings.parent().expect("a folder")).expect("folders");
    std::fs::write(settings, own).expect("settings");
    let installed = stage.ctx(&["install", agent.name, "--mcp", "--yes"]);
    assert!(installed.status.success(), "{}", said(&installed));
    let ran = stage.alone(arguments);
    // The end of the tool's result, as the provider saw it.
    assert!(ran.status.success() && said(&ran).contains("done: "), "{}", said(&ran));
    assert!(stage.client().starts_with(agent.client), "{}", stage.client());
    stage.assert_taken();
    let received = stage.received();
    for words in ["compose-context", agent.tools] {
        assert!(received.iter().any(|(body, _)| body.contains(words)), "no {words}: {received:?}");
    }

    let removed = stage.ctx(&["uninstall", agent.name, "--yes"]);
    assert!(removed.status.success(), "{}", said(&removed));
    assert_eq!(std::fs::read_to_string(settings).expect("settings"), own, "{}", said(&removed));
}

#[test]
fn codex_comes_by_its_settings_alone() {
    let Some(stage) = Providers::with("CTX_TEST_CODEX", &["openai"]) else { return };
    let own = "# my own words\nmodel = \"gpt-5.5\"   # why\n\n[tui]\nnotifications = false\n";
    let options = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
    let arguments = [&options[..], &["look [[tool echo pelican_word]]"]].concat();
    // Its model searches for tools, and is told where they come from.
    let agent = Agent { name: "codex", client: "codex", tools: "ctx: ctx shows and edits the context" };
    goes_through_ctx(&stage, &agent, &stage.path("config/config.toml"), own, &arguments);
}

#[test]
fn opencode_comes_by_its_settings_alone() {
    let Some(stage) = Providers::with("CTX_TEST_OPENCODE", &["openai"]) else { return };
    // opencode adds the first entry itself.
    let schema = "\"$schema\": \"https://opencode.ai/config.json\"";
    let own = format!("{{\n  {schema},\n  // my own words\n  \"share\": \"disabled\",\n  \"autoupdate\": false,\n}}\n");
    let settings = stage.path("home/.config/opencode/opencode.jsonc");
    let arguments = ["run", "-m", "openai/gpt-5.4", "look [[tool echo pelican_word]]"];
    let agent = Agent { name: "opencode", client: "opencode", tools: "\"ctx_ctx_list\"" };
    goes_through_ctx(&stage, &agent, &settings, &own, &arguments);
}

#[test]
fn gemini_cli_comes_by_its_settings_alone() {
    let Some(stage) = Providers::with("CTX_TEST_GEMINI", &["gemini"]) else { return };
    let own = "{\n  // my own words\n  \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}},\n  \"privacy\": {\"usageStatisticsEnabled\": false},\n  \"general\": {\"enableAutoUpdate\": false}\n}\n";
    let settings = stage.path("home/.gemini/settings.json");
    let arguments = ["--yolo", "-p", "look [[tool echo pelican_word]]"];
    let agent = Agent { name: "gemini-cli", client: "GeminiCLI", tools: "\"mcp_ctx_ctx_list\"" };
    goes_through_ctx(&stage, &agent, &settings, own, &arguments);
}

#[test]
fn qwen_code_comes_by_its_settings_alone() {
    let Some(stage) = Providers::with("CTX_TEST_QWEN", &["openai"]) else { return };
    // As the client itself would write it.
    let own = "{\n  // my own words\n  \"privacy\": {\"usageStatisticsEnabled\": false},\n  \"general\": {\"disableAutoUpdate\": true},\n  \"memory\": {\"enableManagedAutoMemory\": false},\n  \"$version\": 4\n}\n";
    let settings = stage.path("home/.qwen/settings.json");
    let arguments = ["--auth-type", "openai", "-m", "gpt-5.5", "--yolo", "-p", "look [[chain echo pelican_word]]"];
    // Its model searches for tools in this list.
    let agent = Agent { name: "qwen", client: "QwenCode", tools: "mcp__ctx__ctx_list" };
    goes_through_ctx(&stage, &agent, &settings, own, &arguments);
}
