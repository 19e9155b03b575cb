//! Opens a link in the user's browser.

use std::process::{Command, Stdio};

use ctx_core::ErrorCode;

use crate::failure::Failure;

pub fn open(link: &str) -> Result<(), Failure> {
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let opened = Command::new(program)
        .args(before)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match opened {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{program}` failed ({status})")),
        Err(error) => Err(format!("`{program}` did not start ({error})")),
    }
    .map_err(|why| {
        Failure::new(ErrorCode::NoBrowser, format!("cannot open a browser: {why}")).hint("open the link above yourself")
    })
}
