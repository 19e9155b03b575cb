//! Every error code with its meaning and what to do about it: one file for each part of the program that reports it.
//! Codes are for programs and never change; the words beside them may. A test compares the lists with `docs/api.md`.

mod control;
mod mcp;
mod proxy;
mod shell;

use ctx_core::ErrorCode;

/// A code in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explanation {
    pub code: ErrorCode,
    /// The status of an answer of the control API with this code.
    pub status: Option<u16>,
    /// When it occurs.
    pub meaning: &'static str,
    /// The remedy.
    pub advice: &'static str,
}

const fn control(status: u16, code: ErrorCode, meaning: &'static str, advice: &'static str) -> Explanation {
    Explanation { code, status: Some(status), meaning, advice }
}

const fn other(code: ErrorCode, meaning: &'static str, advice: &'static str) -> Explanation {
    Explanation { code, status: None, meaning, advice }
}

/// The codes of the control API, by status and then by name.
pub const CONTROL: &[Explanation] = control::CODES;
/// The codes of the MCP server itself.
pub const MCP: &[Explanation] = mcp::CODES;
/// The codes of the proxy.
pub const PROXY: &[Explanation] = proxy::CODES;
/// The codes of the command line itself.
pub const SHELL: &[Explanation] = shell::CODES;

/// A code without an explanation, or with two, fails the build.
const _: () = {
    let mut at = 0;
    while at < ErrorCode::ALL.len() {
        let code = ErrorCode::ALL[at];
        let count = count(CONTROL, code) + count(MCP, code) + count(PROXY, code) + count(SHELL, code);
        assert!(count == 1, "a code has no explanation, or two");
        at += 1;
    }
};

const fn count(list: &[Explanation], code: ErrorCode) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < list.len() {
        if list[at].code as usize == code as usize {
            count += 1;
        }
        at += 1;
    }
    count
}

/// The status with which the control API reports a code: 422 for those of other parts of the program.
pub fn status_of(code: ErrorCode) -> u16 {
    CONTROL.iter().find(|known| known.code == code).and_then(|known| known.status).unwrap_or(422)
}

#[cfg(test)]
mod tests;
