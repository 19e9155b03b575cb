//! Stock Codex and opencode with only the settings of `ctx install`: their requests reach the daemon, and `ctx
//! uninstall` restores their settings.

use std::path::Path;
use std::process::Output;

use crate::providers::Providers;

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// Installs the agent, runs it, and uninstalls it; `settings` contains `own` before and after.
fn goes_through_ctx(stage: &Providers, agent: &str, settings: &Path, own: &str, arguments: &[&str]) {
    std::fs::create_dir_all(settings.parent().expect("a folder")).expect("folders");
    std::fs::write(settings, own).expect("settings");
    let installed = stage.ctx(&["install", agent, "--yes"]);
    assert!(installed.status.success(), "{}", said(&installed));
    let ran = stage.alone(arguments);
    assert!(ran.status.success() && said(&ran).contains("pelican_word"), "{}", said(&ran));
    assert!(stage.client().starts_with(agent), "{}", stage.client());
    stage.assert_taken();
    let received = stage.received().len();
    assert!(received > 0);

    let removed = stage.ctx(&["uninstall", agent, "--yes"]);
    assert!(removed.status.success(), "{}", said(&removed));
    assert_eq!(std::fs::read_to_string(settings).expect("settings"), own, "{}", said(&removed));
}

#[test]
fn codex_comes_by_its_settings_alone() {
    let Some(stage) = Providers::with("CTX_TEST_CODEX", &["openai"]) else { return };
    let own = "# my own words\nmodel = \"gpt-5.5\"   # why\n\n[tui]\nnotifications = false\n";
    let options = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
    let arguments = [&options[..], &["look [[tool echo pelican_word]]"]].concat();
    goes_through_ctx(&stage, "codex", &stage.path("config/config.toml"), own, &arguments);
}

#[test]
fn opencode_comes_by_its_settings_alone() {
    let Some(stage) = Providers::with("CTX_TEST_OPENCODE", &["openai"]) else { return };
    // opencode adds the first entry itself.
    let schema = "\"$schema\": \"https://opencode.ai/config.json\"";
    let own = format!("{{\n  {schema},\n  // my own words\n  \"share\": \"disabled\",\n  \"autoupdate\": false,\n}}\n");
    let settings = stage.path("home/.config/opencode/opencode.jsonc");
    goes_through_ctx(
        &stage,
        "opencode",
        &settings,
        &own,
        &["run", "-m", "openai/gpt-5.4", "look [[tool echo pelican_word]]"],
    );
}
