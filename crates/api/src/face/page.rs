//! The names of commands on the page.

use ctx_core::hint::Command;

/// The list or the button of a command; none if only a terminal has it.
pub(super) fn name(command: Command) -> Option<String> {
    use Command::*;
    let name = match command {
        List => "the list of frames",
        Steps => "the list of steps",
        Show => "the details",
        Sent => "the request",
        Conversations => "the list of conversations",
        History => "the history",
        Timeline | Misses => "the timeline",
        Waiting => "the list of deferred edits",
        Operations => "the list of operations",
        Add | Branch | Checkout | Combine | Delete | DropResults | Edit | Import | Move | Redo | Revert | Rollback
        | Split | SummarizeResults | Undo => {
            return Some(format!("*{}*", super::capital(&command.words().replace('-', " "))));
        }
        Config | Doctor | Export | Helper | Page | Phase | Run | Status | Stop | Up | Version => return None,
    };
    Some(name.to_owned())
}
