//! Accepted and refused paths.

#![cfg(unix)]

use super::*;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

struct Place {
    root: tempfile::TempDir,
    elsewhere: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { root: tempfile::tempdir().expect("a folder"), elsewhere: tempfile::tempdir().expect("a folder") }
    }

    fn folder(&self) -> Folder {
        Folder::open(self.root.path()).expect("a folder")
    }

    #[track_caller]
    fn assert_untouched(&self) {
        assert_eq!(fs::read_dir(self.elsewhere.path()).expect("a folder").count(), 0, "nothing was written elsewhere");
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn files_and_folders_are_made_private() {
    let place = Place::new();
    let folder = place.folder().make(Path::new("a/b")).expect("made");
    folder.create_new("new").and_then(|mut file| file.write_all(b"x")).expect("written");
    folder.append("notes").and_then(|mut file| file.write_all(b"one\n")).expect("written");
    folder.append("notes").and_then(|mut file| file.write_all(b"two\n")).expect("written");
    assert_eq!(fs::read_to_string(folder.path().join("notes")).expect("a file"), "one\ntwo\n");
    for (name, expected) in [("a", 0o700), ("a/b", 0o700), ("a/b/new", 0o600), ("a/b/notes", 0o600)] {
        assert_eq!(mode(&place.root.path().join(name)), expected, "{name}");
    }
    let mut text = String::new();
    folder.read("notes").and_then(|mut file| file.read_to_string(&mut text)).expect("read");
    assert_eq!(text, "one\ntwo\n");
    assert_eq!(folder.create_new("new").expect_err("taken").kind(), io::ErrorKind::AlreadyExists);
    folder.remove("new").expect("removed");
    assert!(!folder.path().join("new").exists());
}

#[test]
fn a_link_in_any_place_is_refused_and_named() {
    let place = Place::new();
    symlink(place.elsewhere.path(), place.root.path().join("out")).expect("a link");
    symlink(place.elsewhere.path().join("x"), place.root.path().join("file")).expect("a link");
    let folder = place.folder();
    for refused in [
        folder.make(Path::new("out")).map(drop),
        folder.make(Path::new("out/deep")).map(drop),
        folder.below(Path::new("out")).map(drop),
        folder.append("file").map(drop),
        folder.read("file").map(drop),
        Folder::exact(&place.root.path().join("out")).map(drop),
    ] {
        let why = refused.expect_err("refused").to_string();
        assert!(why.contains("is a link"), "{why}");
    }
    assert!(folder.create_new("file").is_err());
    assert!(remove(&place.root.path().join("out/x")).is_err());
    place.assert_untouched();
}

#[test]
fn a_folder_that_is_swapped_for_a_link_after_it_was_opened_changes_nothing() {
    let place = Place::new();
    let folder = place.folder().make(Path::new("notes")).expect("made");
    fs::rename(place.root.path().join("notes"), place.root.path().join("moved")).expect("renamed");
    symlink(place.elsewhere.path(), place.root.path().join("notes")).expect("a link");
    folder.append("x").and_then(|mut file| file.write_all(b"x")).expect("written");
    assert!(place.root.path().join("moved/x").exists());
    place.assert_untouched();
}

#[test]
fn names_cannot_climb_or_descend() {
    let place = Place::new();
    let folder = place.folder();
    for name in ["..", "../x", "a/b", "/x", "", ".", "x/"] {
        assert!(folder.create_new(name).is_err() && folder.append(name).is_err(), "{name}");
    }
    for path in ["..", "a/../..", "/etc"] {
        assert!(folder.make(Path::new(path)).is_err(), "{path}");
    }
    assert_eq!(fs::read_dir(place.root.path()).expect("a folder").count(), 0);
}

#[test]
fn what_is_no_plain_file_is_refused_without_waiting_for_it() {
    let place = Place::new();
    let pipe = place.root.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).expect("a pipe");
    fs::create_dir(place.root.path().join("folder")).expect("a folder");
    for name in ["pipe", "folder"] {
        for refused in [place.folder().append(name), place.folder().read(name)] {
            let why = refused.expect_err(name).to_string();
            assert!(why.contains("not a plain file"), "{name}: {why}");
        }
    }
}

#[test]
fn a_folder_on_the_way_may_be_closed_for_reading() {
    let place = Place::new();
    fs::create_dir_all(place.root.path().join("closed/open")).expect("folders");
    fs::set_permissions(place.root.path().join("closed"), fs::Permissions::from_mode(0o311)).expect("closed");
    let folder = Folder::exact(&fs::canonicalize(place.root.path()).expect("a path").join("closed/open"));
    folder.expect("passed through").create_new("x").expect("made");
    fs::set_permissions(place.root.path().join("closed"), fs::Permissions::from_mode(0o700)).expect("opened");
}

#[test]
fn others_who_may_write_are_noticed() {
    let place = Place::new();
    assert!(place.folder().is_own_and_private().expect("known"));
    for mode in [0o770, 0o707] {
        fs::set_permissions(place.root.path(), fs::Permissions::from_mode(mode)).expect("set");
        assert!(!place.folder().is_own_and_private().expect("known"), "{mode:o}");
    }
    let own = Identity::of(&fs::metadata(place.root.path()).expect("there"));
    assert!(own.is_own() && own.owner == fs::metadata(place.root.path()).expect("there").uid());
    assert!(!Identity { owner: own.owner.wrapping_add(1), mode: 0o700 }.is_own());
}
