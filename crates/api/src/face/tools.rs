//! The names of commands among the tools of the MCP server.

use ctx_core::hint::Command;

/// The tool or the operation of a command; none if only a terminal has it.
pub(super) fn name(command: Command) -> Option<String> {
    use Command::*;
    let words = command.words();
    match command {
        Steps => Some("ctx_list with `steps_of`".to_owned()),
        List | Sent | Show | Undo => Some(format!("ctx_{words}")),
        History | Status | Waiting => Some("ctx_status".to_owned()),
        Branch | Checkout | Redo | Revert | Rollback => Some(format!("ctx_undo with `action` {words}")),
        Add | Combine | Delete | DropResults | Edit | Import | Move | Split | SummarizeResults => {
            Some(format!("the operation `{words}`"))
        }
        Phase => Some("ctx_phase".to_owned()),
        Config | Conversations | Doctor | Export | Helper | Misses | Operations | Page | Run | Stop | Timeline | Up
        | Version => None,
    }
}
