//! The install script and the npm wrapper with bad input: each says what is wrong and what to do, and leaves nothing
//! half done. `cargo xtask package --check` tries both with the real program.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty folder that is removed at the end, with an archive of a small program.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Place {
    fn new(name: &str, program: &str) -> Self {
        let place = Self(std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id())));
        let root = place.0.join("made/ctx-1");
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::create_dir_all(root.join("share/man")).unwrap();
        fs::write(root.join("bin/ctx"), program).unwrap();
        fs::write(root.join("share/man/ctx.1"), "").unwrap();
        place.sh("chmod +x made/ctx-1/bin/ctx && tar -czf $0 -C made ctx-1 && sha256sum $0 > $0.sha256");
        place
    }

    /// The archive's name for this machine.
    fn archive() -> String {
        format!("ctx-1-{}-linux.tar.gz", std::env::consts::ARCH)
    }

    /// Runs a line in this folder. `$0` is the archive.
    fn sh(&self, line: &str) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-c", line, &Self::archive()]).current_dir(&self.0).env("HOME", self.0.join("home"));
        shell.env("INSTALL", packaging("install.sh")).output().unwrap()
    }

    /// The message of a refused installation, which leaves nothing behind.
    fn refused(&self, line: &str) -> String {
        let output = self.sh(line);
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}: {words}");
        assert!(words.contains("error: ") && words.contains("\nhint: "), "{line}: {words}");
        let left: Vec<_> = fs::read_dir(self.0.join("home/.local")).into_iter().flatten().flatten().collect();
        assert!(left.is_empty(), "{line} leaves {left:?}");
        words
    }
}

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging").join(name)
}

const PROGRAM: &str = "#!/bin/sh\necho ctx 1\n";

#[test]
fn an_archive_is_installed_found_and_removed_twice() {
    let place = Place::new("fine", PROGRAM);
    let output = place.sh("$INSTALL $0 && home/.local/bin/ctx && $INSTALL --uninstall && $INSTALL --uninstall");
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && words.contains("Installed ctx 1 into"), "{words}");
    assert!(words.contains("Removed ctx from") && words.contains("ctx is not installed in"), "{words}");
    assert!(!place.0.join("home/.local/bin/ctx").exists());
    assert!(place.0.join("home/.local").exists());
}

#[test]
fn an_archive_of_another_machine_is_refused_before_it_is_opened() {
    let place = Place::new("machine", PROGRAM);
    let other = if std::env::consts::ARCH == "aarch64" { "x86_64" } else { "aarch64" };
    for machine in ["s390x", other] {
        let words =
            place.refused(&format!("cp $0 ctx-1-{machine}-linux.tar.gz; $INSTALL ctx-1-{machine}-linux.tar.gz"));
        assert!(words.contains("is not for this machine") && words.contains(std::env::consts::ARCH), "{words}");
    }
}

#[test]
fn a_damaged_archive_and_a_missing_checksum_are_refused() {
    let place = Place::new("damaged", PROGRAM);
    assert!(place.refused("echo x >> $0; $INSTALL $0").contains("download it again"));
    assert!(place.refused("rm $0.sha256; $INSTALL $0").contains("the checksum"));
    assert!(place.refused("$INSTALL no-such.tar.gz").contains("no archive found"));
}

#[test]
fn a_program_that_does_not_start_is_not_installed_over_one_that_does() {
    let place = Place::new("kernel", "#!/bin/sh\necho 'FATAL: kernel too old' >&2\nexit 127\n");
    let words = place.refused("$INSTALL $0");
    assert!(words.contains("kernel too old") && words.contains("it needs Linux"), "{words}");
    place.sh("mkdir -p home/.local/bin && echo old > home/.local/bin/ctx");
    assert_eq!(place.sh("$INSTALL $0").status.code(), Some(1));
    assert_eq!(fs::read_to_string(place.0.join("home/.local/bin/ctx")).unwrap(), "old\n");
}

#[test]
fn an_installation_can_be_interrupted_and_repeated() {
    // The first start of the program, which is the check before anything is moved, ends the script.
    let program = "#!/bin/sh\n[ -e again ] || { touch again; kill -TERM $PPID; sleep 1; }\necho ctx 1\n";
    let place = Place::new("interrupted", program);
    assert_eq!(place.sh("$INSTALL $0").status.code(), Some(143));
    assert_eq!(fs::read_dir(place.0.join("home/.local")).unwrap().count(), 0, "nothing is half installed");
    assert!(place.sh("$INSTALL $0").status.success());
    assert!(place.0.join("home/.local/bin/ctx").exists());
}

#[test]
fn what_a_killed_installation_left_is_removed_by_the_next_and_by_an_uninstallation() {
    let program = "#!/bin/sh\n[ -e again ] || { touch again; kill -KILL $PPID; sleep 1; }\necho ctx 1\n";
    let place = Place::new("killed", program);
    let drafts = || {
        let entries = fs::read_dir(place.0.join("home/.local")).unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".ctx-install")).count()
    };
    for next in ["$INSTALL $0", "$INSTALL --uninstall"] {
        place.sh("rm -f again; $INSTALL $0");
        assert_eq!(drafts(), 1, "it had no time to clean up");
        assert!(place.sh(next).status.success());
        assert_eq!(drafts(), 0, "{next}");
    }
    // The draft of an installation that is running stays.
    place.sh("mkdir -p home/.local/.ctx-install.$PPID.x; $INSTALL --uninstall");
    assert_eq!(drafts(), 1);
}

#[test]
fn an_archive_that_cannot_be_unpacked_is_refused() {
    let place = Place::new("full", PROGRAM);
    let full = "printf '#!/bin/sh\\nexit 2\\n' > tar; chmod +x tar; PATH=.:$PATH $INSTALL $0";
    assert!(place.refused(full).contains("is the disk full?"));
}

#[test]
fn a_folder_that_cannot_be_written_and_a_missing_home_are_refused() {
    let place = Place::new("folder", PROGRAM);
    assert!(place.refused("touch file; $INSTALL --prefix file/below $0").contains("--prefix"));
    assert!(place.refused("unset HOME; $INSTALL $0").contains("HOME is not set"));
}

#[test]
fn the_npm_wrapper_says_which_package_is_missing() {
    let Ok(output) = Command::new("node").arg(packaging("npm/ctx.js")).arg("--version").output() else {
        assert!(std::env::var_os("CI").is_none(), "CI has node");
        eprintln!("there is no node; nothing is tested");
        return;
    };
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(words.contains("error: the package context-composer-") && words.contains("hint: "), "{words}");
}
