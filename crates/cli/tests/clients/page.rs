//! The page in a real browser, opened with the link that `ctx ui` prints.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::claude::Claude;
use crate::stage::{Stage, finish, needed};

#[test]
fn the_page_shows_the_frames_and_asks_no_other_host() {
    let (Some(claude), Some(chromium)) = (Claude::find(), needed("CTX_TEST_CHROMIUM")) else { return };
    let stage = Stage::new();
    if stage.json(&["status"])["page"] != true {
        assert!(std::env::var_os("CI").is_none(), "the page is not embedded: run `cargo xtask page` before the build");
        eprintln!("SKIPPED: this build has no page; `cargo xtask page` makes it");
        return;
    }
    claude.ask_well(&stage, "SAY:what the page shows", &[]);
    let link = String::from_utf8(stage.ctx(&["ui"]).stdout).expect("text");
    let link = link.split_whitespace().find(|word| word.starts_with("http")).expect("a link");

    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let mut look = Command::new("node");
    look.arg("e2e/look.mjs").arg(link).arg(chromium).arg("SAY:what the page shows").current_dir(web);
    let output = finish(look);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).expect("JSON");

    assert_eq!(seen["frames"], serde_json::json!(["system", "tools", "t1"]));
    assert_eq!(seen["complaints"], serde_json::json!([]), "nothing breaks the page's security policy");
    assert_eq!(seen["stranger"], 401, "without the link the page stays closed");
    let address = seen["address"].as_str().expect("an address");
    assert!(!address.contains("token"), "the token does not stay in the address: {address}");
    assert_eq!(seen["hosts"].as_array().map(Vec::len), Some(1), "only the daemon was asked: {}", seen["hosts"]);
}
