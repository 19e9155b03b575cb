//! Ctrl-C during long work: files are whole or absent, stores are sound, and the next run completes the work.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::editing::scene::Scene;
use crate::place::Place;

/// The times after which a command is interrupted: before its work, during it, and after it.
const DELAYS: [u64; 8] = [0, 4, 8, 12, 16, 24, 40, 80];

/// Starts a command and interrupts it. True: it had not ended.
fn interrupt(place: &Place, arguments: &[&str], after: u64) -> bool {
    let mut command = place.ctx(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(after));
    let _ = kill_process(Pid::from_child(&child), Signal::INT);
    child.wait().expect("it ends").code().is_none()
}

/// The visible files of a folder.
fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").file_name());
    names.map(|name| name.to_string_lossy().into_owned()).filter(|name| !name.starts_with('.')).collect()
}

fn scene() -> Scene {
    let mut scene = Scene::new();
    for turn in 0..12 {
        scene.next(&format!("SAY:{} {turn}", "and on ".repeat(2000)));
    }
    scene.change(&["delete", "t1"]);
    scene.settle();
    scene
}

#[test]
fn an_interrupted_export_leaves_no_half_file() {
    let scene = scene();
    let (whole, folder) = (scene.place.path("whole.ctx"), tempfile::tempdir().expect("a folder"));
    scene.place.run(&["export", &whole.display().to_string()]).ok();
    let whole = fs::read(whole).expect("an export");
    let mut interrupted = 0;
    for after in DELAYS {
        let file = folder.path().join("farm.ctx");
        interrupted += usize::from(interrupt(&scene.place, &["export", &file.display().to_string()], after));
        match files(folder.path()).as_slice() {
            [] => {}
            _ => assert_eq!(fs::read(&file).expect("an export").len(), whole.len(), "after {after} ms"),
        }
        let _ = fs::remove_file(&file);
    }
    assert!(interrupted > 0, "no run was interrupted");
}

#[test]
fn an_interrupted_import_is_there_or_not() {
    let scene = scene();
    let file = scene.place.path("farm.ctx").display().to_string();
    scene.place.run(&["export", &file]).ok();
    let (there, bytes) = (Place::new(), scene.dump());
    let _up = there.up(&scene.provider.url());
    for after in DELAYS {
        interrupt(&there, &["import", "--file", &file], after);
    }
    there.run(&["import", "--file", &file]).ok();
    let listed = there.run(&["conversations", "--json"]).ok().json();
    for conversation in listed["conversations"].as_array().expect("a list") {
        let id = conversation["id"].as_str().expect("an id");
        assert_eq!(there.run(&["compose", "--dump", "--conv", id]).ok().out, bytes, "{id} is whole");
    }
}

#[test]
fn an_interrupted_copy_is_completed_by_the_next_one() {
    let scene = scene();
    let bytes = scene.dump();
    let from = scene.place.home().display().to_string();
    for after in DELAYS {
        let there = Place::new();
        let to = there.home().display().to_string();
        interrupt(&scene.place, &["store", "copy", &from, &to], after);
        let copied = scene.place.run(&["store", "copy", &from, &to]).ok().out;
        assert!(copied.contains("1 conversation compared: equal."), "{copied}");
        there.run(&["store", "check"]).ok();
        let _up = there.up(&scene.provider.url());
        assert_eq!(there.run(&["compose", "--dump"]).ok().out, bytes, "after {after} ms");
    }
}

#[test]
fn an_interrupted_look_changes_nothing() {
    let scene = scene();
    let (bytes, home) = (scene.dump(), scene.place.home().display().to_string());
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("report.html").display().to_string();
    for after in DELAYS {
        interrupt(&scene.place, &["store", "check"], after);
        interrupt(&scene.place, &["doctor"], after);
        interrupt(&scene.place, &["lab", "run", "--on", &home, "--html", &page], after);
        if files(folder.path()) == ["report.html"] {
            let text = fs::read_to_string(&page).expect("a report");
            assert!(text.trim_end().ends_with("</html>"), "after {after} ms");
            fs::remove_file(&page).expect("removed");
        }
    }
    assert_eq!(scene.dump(), bytes);
    scene.place.run(&["store", "check"]).ok();
}
