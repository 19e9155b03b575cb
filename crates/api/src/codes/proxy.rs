//! The codes of the proxy, by name: the header `x-context-composer-error` of its own answers.

use super::{Explanation, other};
use ctx_core::ErrorCode::*;

pub(super) const CODES: &[Explanation] = &[
    other(AddressTooLong, "the request's address is too long", "Send a shorter one."),
    other(
        EditsLost,
        "a damaged record held edits of the conversation, so nothing was sent",
        "The doctor names the record. The next edit goes on without the lost ones.",
    ),
    other(HeadersTooLarge, "the request has too many or too long headers", "Send fewer or shorter ones."),
    other(
        MalformedRequest,
        "the request is not well-formed HTTP/1.1",
        "Check the client, and that it speaks http, not https.",
    ),
    other(
        Navigation,
        "a browser opened an address that is for programs",
        "Open the link of the page to see your conversations.",
    ),
    other(
        NoSuchUpstream,
        "a path `/to/NAME/` names an upstream that is not set",
        "Add it with `--upstream NAME=URL` or in ctx.toml.",
    ),
    other(
        NoTunnels,
        "the client uses the daemon as an HTTPS proxy",
        "Use the daemon's address as the base URL, not as HTTPS_PROXY.",
    ),
    other(NoWebsocket, "the client asked for a WebSocket", "Clients that speak HTTP too come back with HTTP requests."),
    other(
        NotComposed,
        "the edits of the conversation could not be applied, so nothing was sent",
        "Try again; if it stays, undo the newest edit.",
    ),
    other(RequestBroken, "the request body ended early or is not well framed", "Send it again."),
    other(RequestStalled, "the request body stopped before its end", "Send it again."),
    other(
        StoreUnavailable,
        "the store cannot be read, so the edits of the conversation cannot be applied",
        "Try again; the doctor shows what is wrong with the store.",
    ),
    other(
        TooManyConnections,
        "the daemon has no file handle left for another connection",
        "Try again when others are done, or start it with a higher limit (`ulimit -n`).",
    ),
    other(
        UnreadableRequest,
        "the request of an edited conversation cannot be read, so its edits cannot be applied",
        "Check that the body is a JSON request in the encoding that its header names.",
    ),
    other(
        UpstreamClosed,
        "the provider closed the connection without an answer",
        "Try again; the request may have reached the provider.",
    ),
    other(UpstreamUnreachable, "the provider cannot be reached", "Check the network and the upstream's address."),
];
