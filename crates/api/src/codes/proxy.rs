//! The codes of the proxy, by name: the header `x-context-composer-error` of its own answers.

use super::{Explanation, other};
use ctx_core::ErrorCode::*;

pub(super) const CODES: &[Explanation] = &[
    other(AddressTooLong, "the request's address is too long", "Send a shorter one."),
    other(
        CredentialNeeded,
        "the team's daemon has no credential for this provider, and the request has none either",
        "Send your own credential as usual, and your key in the header `x-ctx-key`.",
    ),
    other(
        EditsLost,
        "a damaged record held edits of the conversation, so nothing was sent",
        "Run `ctx doctor` to see the record. To continue without the lost edits, edit again.",
    ),
    other(HeadersTooLarge, "the request's headers are too many or too long", "Send fewer or shorter ones."),
    other(
        KeyMisplaced,
        "a key of the team's daemon is in a part of the request that goes to the provider, so nothing was sent",
        "Send the key in the header `x-ctx-key`, or as `Authorization: Bearer ctxk_…`, without quotes or encoding.",
    ),
    other(
        MalformedRequest,
        "the request is not well-formed HTTP/1.1",
        "Check the client; it must use http, not https.",
    ),
    other(Navigation, "a browser opened an address for programs", "Open the link that `ctx ui` prints."),
    other(
        NoSuchUpstream,
        "the path `/to/NAME/` names an unknown upstream",
        "Add it with `--upstream NAME=URL` or in ctx.toml.",
    ),
    other(
        NoTunnels,
        "the client uses the daemon as an HTTPS proxy",
        "Use the daemon's address as the base URL, not as HTTPS_PROXY.",
    ),
    other(
        NoWebsocket,
        "the client requested a WebSocket, and the settings refuse it",
        "Most clients fall back to HTTP by themselves.",
    ),
    other(
        NotComposed,
        "the edits of the conversation could not be applied, so nothing was sent",
        "Try again; if it fails again, undo the newest edit.",
    ),
    other(RequestBroken, "the request body ended early or is malformed", "Send it again."),
    other(RequestStalled, "the request body stalled", "Send it again."),
    other(
        StoreUnavailable,
        "the store cannot be read, so the edits of the conversation cannot be applied",
        "Try again; `ctx doctor` checks the store.",
    ),
    other(
        SubscriptionRefused,
        "the credential is the login of a subscription, which this team's daemon refuses",
        "Use an API key. An operator who has the right can set `subscriptions = \"pass\"` under [team].",
    ),
    other(
        TooManyConnections,
        "the daemon has run out of file handles",
        "Try again later, or start the daemon with a higher limit (`ulimit -n`).",
    ),
    other(
        UnreadableRequest,
        "the request of an edited conversation cannot be read, so its edits cannot be applied",
        "The body must be a JSON request in the encoding that its header names.",
    ),
    other(
        UpstreamClosed,
        "the provider closed the connection without a response",
        "Try again; the request may have reached the provider.",
    ),
    other(UpstreamUnreachable, "the provider cannot be reached", "Check the network and the upstream's address."),
];
