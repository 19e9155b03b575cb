//! Turns errors of the proxied side into responses: always in the provider's format, so that every client can parse
//! them, and with a header that marks them as ours.

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use super::connect_error::ConnectError;
use crate::auth::Refusal;
use crate::config::UpstreamUrl;
use crate::team::{KeyRefusal, NoCredential};
use crate::watch::Ending;
use ctx_core::ErrorCode;
use ctx_service::recorder::{Flaw, Withheld};
use ctx_wire::socket::Socket;

/// Marks a response as ours and names the error.
pub(crate) const ERROR_HEADER: HeaderName = HeaderName::from_static("x-context-composer-error");

/// All failures between a client's request and the upstream's response.
#[derive(Debug)]
pub(crate) enum Failure {
    Unreachable {
        upstream: UpstreamUrl,
        cause: ConnectError,
    },
    /// The upstream received the request, at least in part, and closed without a response.
    NoAnswer {
        upstream: UpstreamUrl,
        reason: String,
    },
    /// The client stopped in the middle of its body.
    ClientStalled {
        seconds: u64,
    },
    /// The client disconnected or broke its own framing, and does not read this response.
    ClientBroke,
    /// The conversation is edited, or may be, and the edits could not be applied. Deleted content must not leave, so
    /// nothing does.
    Withheld(Withheld),
    /// `/to/NAME/…` with an unknown name, or a provider without an upstream.
    NoSuchUpstream {
        name: String,
        known: Vec<String>,
    },
    /// The client requests a WebSocket, and the settings refuse it. It falls back to HTTP.
    Upgrade,
    /// `CONNECT` requests a tunnel, which this proxy does not offer.
    Tunnel,
    /// All file handles are in use, and no connection is idle.
    Crowded,
    /// The requests that are being held leave no room for another one.
    Full,
    /// It does not come from a local program.
    Refused(Refusal),
    /// The daemon serves a team, and the request has no valid key.
    Key(KeyRefusal),
    /// A key stands where it would not be removed.
    MisplacedKey {
        place: String,
    },
    /// There is no credential for the provider that may be sent.
    Unpaid(NoCredential),
    /// The conversations of a person cannot be opened, so it is unknown whether the request is edited.
    NoDesk {
        why: String,
    },
}

impl Failure {
    /// The outcome of the exchange, for the observer.
    pub(crate) fn ending(&self) -> Ending {
        match self {
            Self::ClientStalled { .. } | Self::ClientBroke => Ending::Cancelled,
            _ => Ending::Unreachable,
        }
    }

    pub(crate) fn code(&self) -> ErrorCode {
        self.tell().code
    }

    /// The response in the format of the path's provider.
    pub(crate) fn into_response(self, path: &str) -> Response<Bytes> {
        let told = self.tell();
        if let Self::Withheld(why) = self {
            tracing::error!(?why, "a request of an edited conversation could not be composed and was not sent");
        }
        tracing::debug!(code = %told.code, status = told.status.as_u16(), "answered for the upstream: {}", told.message);
        told.into_response(path)
    }

    /// The same as a message on a WebSocket.
    pub(super) fn into_message(self, socket: &dyn Socket) -> String {
        let told = self.tell();
        if let Self::Withheld(why) = self {
            tracing::error!(?why, "a request of an edited conversation could not be composed and was not sent");
        }
        let error = ctx_wire::LocalError { kind: told.kind, code: told.code.as_str(), message: &told.message };
        socket.error(told.status.as_u16(), &error)
    }

    fn tell(&self) -> ErrorText {
        match self {
            Self::Unreachable { upstream, cause } => ErrorText {
                status: StatusCode::BAD_GATEWAY,
                kind: "api_error",
                code: ErrorCode::UpstreamUnreachable,
                message: format!("Context Composer cannot reach {upstream}: {cause}. {}", cause.advice()),
                permanent: cause.is_permanent(),
            },
            Self::NoAnswer { upstream, reason } => ErrorText {
                status: StatusCode::BAD_GATEWAY,
                kind: "api_error",
                code: ErrorCode::UpstreamClosed,
                message: format!(
                    "{upstream} closed the connection without a response ({reason}). The request may have reached \
                     it. Try again."
                ),
                permanent: false,
            },
            Self::ClientStalled { seconds } => ErrorText {
                status: StatusCode::REQUEST_TIMEOUT,
                kind: "invalid_request_error",
                code: ErrorCode::RequestStalled,
                message: format!("The request body stalled for {seconds} s. Send it again."),
                permanent: false,
            },
            Self::ClientBroke => ErrorText::refusal(
                StatusCode::BAD_REQUEST,
                ErrorCode::RequestBroken,
                "The request body ended early or is malformed. Send it again.",
            ),
            Self::Withheld(why) => withheld(*why),
            Self::NoSuchUpstream { name, known } => ErrorText::refusal(
                StatusCode::NOT_FOUND,
                ErrorCode::NoSuchUpstream,
                &format!(
                    "Context Composer knows no upstream `{name}`; it knows {}. Add it with `--upstream {name}=URL`, or as \
                     `[upstream.{name}]` in ctx.toml.",
                    known.join(", ")
                ),
            ),
            Self::Upgrade => ErrorText::refusal(
                StatusCode::UPGRADE_REQUIRED,
                ErrorCode::NoWebsocket,
                "WebSockets are off for this upstream (`websocket = false`). Send HTTP requests.",
            ),
            Self::Tunnel => ErrorText::refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                ErrorCode::NoTunnels,
                "Context Composer does not open tunnels (CONNECT). Use its address as the base URL of the \
                 client, not as its HTTPS_PROXY.",
            ),
            Self::Full => ErrorText {
                status: StatusCode::SERVICE_UNAVAILABLE,
                kind: "api_error",
                code: ErrorCode::NotComposed,
                message: "Context Composer has no room for another request to edit at the moment. The request was not \
                    sent. Try again."
                    .to_owned(),
                permanent: false,
            },
            Self::Crowded => ErrorText {
                status: StatusCode::SERVICE_UNAVAILABLE,
                kind: "api_error",
                code: ErrorCode::TooManyConnections,
                message: "Context Composer has run out of file handles. Try again later, or start it with a higher \
                    limit (`ulimit -n`)."
                    .to_owned(),
                permanent: false,
            },
            Self::Refused(Refusal::ForeignHost) => ErrorText::refusal(
                StatusCode::FORBIDDEN,
                ErrorCode::ForeignHost,
                "The request names a host that may not be this machine, as in a DNS rebinding attack. Use 127.0.0.1, \
                 localhost or another address of this machine in the base URL.",
            ),
            Self::Refused(Refusal::Navigation) => ErrorText::refusal(
                StatusCode::FORBIDDEN,
                ErrorCode::Navigation,
                "This address is for programs, not for browsers. To see your conversations, open the link that `ctx \
                 ui` prints.",
            ),
            Self::Key(why) => keyless(*why),
            Self::MisplacedKey { place } => ErrorText::refusal(
                StatusCode::BAD_REQUEST,
                ErrorCode::KeyMisplaced,
                &format!(
                    "A key of this gateway is in {place}, from where it would reach the provider. Nothing was sent. Send it \
                     in the header `x-ctx-key`, or as `Authorization: Bearer ctxk_…`, without quotes or encoding. It may \
                     be in logs on its way here: consider replacing it."
                ),
            ),
            Self::Unpaid(NoCredential::Subscription) => ErrorText::refusal(
                StatusCode::FORBIDDEN,
                ErrorCode::SubscriptionRefused,
                "This gateway does not pass the logins of subscriptions. Use an API key, or ask its operator. Nothing was \
                 sent.",
            ),
            Self::Unpaid(NoCredential::Missing) => ErrorText::refusal(
                StatusCode::UNAUTHORIZED,
                ErrorCode::CredentialNeeded,
                "This gateway has no credential of its own for this provider. Send your credential as usual, and your \
                 key in the header `x-ctx-key`. Nothing was sent.",
            ),
            Self::Unpaid(NoCredential::NoKey) => ErrorText::refusal(
                StatusCode::UNAUTHORIZED,
                ErrorCode::CredentialNeeded,
                "This gateway has no key for this upstream and your groups, and passes no credentials of its clients. Ask \
                 its operator to add one. Nothing was sent.",
            ),
            Self::NoDesk { why } => ErrorText::refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                ErrorCode::StoreUnavailable,
                &format!(
                    "Context Composer cannot open your conversations, so it cannot tell whether this one is edited. \
                          The request was not sent. Try again. {why}"
                ),
            ),
            Self::Refused(_) => ErrorText::refusal(
                StatusCode::FORBIDDEN,
                ErrorCode::CrossSite,
                "Context Composer refuses requests from pages of other sites. Use a program on this machine.",
            ),
        }
    }
}

fn keyless(why: KeyRefusal) -> ErrorText {
    let (status, code, message) = match why {
        KeyRefusal::Missing => (
            StatusCode::UNAUTHORIZED,
            ErrorCode::KeyNeeded,
            "This gateway needs a key. Send it in the header `x-ctx-key`; `ctx keys new NAME` makes one. Nothing was sent.",
        ),
        KeyRefusal::Wrong => (
            StatusCode::UNAUTHORIZED,
            ErrorCode::KeyWrong,
            "This gateway does not know the key, or it was revoked or has expired. Ask an admin for a new one. Nothing \
             was sent.",
        ),
        KeyRefusal::Unchecked => (
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::KeyUnchecked,
            "The database with the keys is out of reach, and this key is not known here. Nothing was sent. Try again in a \
             moment.",
        ),
        KeyRefusal::Lacks(_) => (
            StatusCode::FORBIDDEN,
            ErrorCode::ScopeNeeded,
            "This key may not send requests to providers: it lacks the scope `proxy`. Use another key, or ask an admin for \
             one. Nothing was sent.",
        ),
        KeyRefusal::IdentityWrong => (
            StatusCode::UNAUTHORIZED,
            ErrorCode::IdentityWrong,
            "The token of the identity provider has expired, or is not for this gateway. Get a new one, or send a key in \
             the header `x-ctx-key`. Nothing was sent.",
        ),
        KeyRefusal::IdentityRefused => (
            StatusCode::FORBIDDEN,
            ErrorCode::IdentityRefused,
            "The identity provider knows you, but this team does not admit you. Ask an admin to add you, or for the \
             right group. Nothing was sent.",
        ),
        KeyRefusal::IdentityUnchecked => (
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::IdentityUnchecked,
            "The token cannot be checked: the identity provider or the database is out of reach. Nothing was sent. Try \
             again in a moment.",
        ),
    };
    ErrorText::refusal(status, code, message)
}

/// The client retries errors that may pass, and no others.
fn withheld(why: Withheld) -> ErrorText {
    let (status, code, message) = match why {
        Withheld::Store => (
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::StoreUnavailable,
            "Context Composer cannot read its store, so it cannot apply the edits of this conversation. The request \
             was not sent. Try again; `ctx doctor` checks the store.",
        ),
        Withheld::LostEdits => (
            StatusCode::BAD_REQUEST,
            ErrorCode::EditsLost,
            "A damaged record contained edits of this conversation, so Context Composer cannot apply them. The \
             request was not sent. `ctx doctor` names the record, `ctx list` shows the remaining edits. To \
             continue without the lost edits, edit again; to continue without any, run `ctx rollback source`.",
        ),
        Withheld::Unreadable(flaw) => (StatusCode::BAD_REQUEST, ErrorCode::UnreadableRequest, unreadable(flaw)),
        Withheld::Defect => (
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::NotComposed,
            "Context Composer failed to apply the edits of this conversation; this is a bug. The request was not \
             sent. Try again; if it fails again, `ctx undo` undoes the newest edit.",
        ),
    };
    let kind = if status == StatusCode::BAD_REQUEST { "invalid_request_error" } else { "api_error" };
    ErrorText { status, kind, code, message: message.to_owned(), permanent: false }
}

fn unreadable(flaw: Flaw) -> &'static str {
    match flaw {
        Flaw::Size => {
            "This request is too large for Context Composer to read, so it cannot apply edits. The request was not \
             sent. Compact the conversation, or start a new one."
        }
        Flaw::Encoding => {
            "The body of this request does not match its `content-encoding` header, so Context Composer cannot apply \
             edits. The request was not sent. Check the header, or send the body without an encoding."
        }
        Flaw::Json => {
            "The body of this request is not a JSON request, so Context Composer cannot apply edits. The request was \
             not sent. Check the client."
        }
    }
}

/// The responses of the HTTP parser, before a request exists.
pub(crate) fn malformed(status: StatusCode) -> Response<Bytes> {
    let told = match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => ErrorText::refusal(
            status,
            ErrorCode::HeadersTooLarge,
            "The request's headers are too many or too long. Send fewer or shorter ones.",
        ),
        StatusCode::URI_TOO_LONG => ErrorText::refusal(
            status,
            ErrorCode::AddressTooLong,
            "The request's address is too long. Send a shorter one.",
        ),
        _ => ErrorText::refusal(
            status,
            ErrorCode::MalformedRequest,
            "The request is not well-formed HTTP/1.1. Check the client; it must use http here, not https.",
        ),
    };
    told.into_response("")
}

struct ErrorText {
    status: StatusCode,
    kind: &'static str,
    code: ErrorCode,
    message: String,
    permanent: bool,
}

impl ErrorText {
    fn refusal(status: StatusCode, code: ErrorCode, message: &str) -> Self {
        Self { status, kind: kind_of(status), code, message: message.to_owned(), permanent: false }
    }

    fn into_response(self, target: &str) -> Response<Bytes> {
        let error = ctx_wire::LocalError { kind: self.kind, code: self.code.as_str(), message: &self.message };
        let body = Bytes::from(ctx_wire::error_body(target, self.status.as_u16(), &error));
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let length = HeaderValue::from(response.body().len());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ERROR_HEADER, HeaderValue::from_static(self.code.as_str()));
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.permanent {
            // The provider's clients honour this; otherwise they retry a 502 for minutes.
            headers.insert("x-should-retry", HeaderValue::from_static("false"));
        }
        headers.insert(header::CONTENT_LENGTH, length);
        response
    }
}

fn kind_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::SERVICE_UNAVAILABLE => "api_error",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE | StatusCode::URI_TOO_LONG => "request_too_large",
        _ => "invalid_request_error",
    }
}
