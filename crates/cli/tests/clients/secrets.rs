//! Credentials pass through memory only.

use std::path::Path;

use crate::claude::{Claude, KEY};
use crate::stage::Stage;

#[test]
fn credentials_are_nowhere_in_the_store_the_log_or_any_output() {
    let Some(claude) = Claude::find() else { return };
    let stage = Stage::new();
    claude.ask_well(&stage, "SAY:one", &[]);
    claude.ask(&stage, "FAIL:401:9", &["--continue"]);
    assert!(
        stage.front.exchanges().iter().any(|exchange| exchange.request_header("x-api-key") == Some(KEY)),
        "the client sent its key"
    );
    stage.assert_faithful();

    let mark = KEY.rsplit('-').next().expect("a mark").as_bytes();
    for arguments in [
        &["conversations"][..],
        &["list", "--steps"],
        &["show", "t1"],
        &["show", "system"],
        &["compose", "--dump"],
        &["timeline"],
        &["status"],
        &["doctor"],
    ] {
        for json in [&[][..], &["--json"]] {
            if arguments.contains(&"--dump") && !json.is_empty() {
                continue;
            }
            let output = stage.ctx(&[arguments, json].concat());
            assert!(
                !contains(&output.stdout, mark) && !contains(&output.stderr, mark),
                "ctx {arguments:?} shows the key"
            );
        }
    }
    let mut files = 0;
    walk(&stage.path("ctx"), &mut |path, bytes| {
        files += 1;
        assert!(!contains(bytes, mark), "{} holds the key", path.display());
    });
    assert!(files >= 2, "the store was not looked at");
    assert!(stage.log().lines().count() > 3, "the log was not looked at");
    assert!(!contains(stage.log().as_bytes(), mark), "the log holds the key");
}

fn contains(bytes: &[u8], mark: &[u8]) -> bool {
    bytes.windows(mark.len()).any(|window| window == mark)
}

fn walk(folder: &Path, look: &mut impl FnMut(&Path, &[u8])) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => walk(&path, look),
            path => look(&path, &std::fs::read(&path).expect("a file")),
        }
    }
}
