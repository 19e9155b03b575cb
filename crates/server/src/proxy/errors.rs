//! The one place where errors on the proxied side become responses: always in the provider's own shape, so
//! that every client knows how to read them, and with a header that says they are ours.

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use super::connect_error::ConnectError;
use crate::auth::Refusal;
use crate::config::UpstreamUrl;
use crate::watch::Ending;
use ctx_core::ErrorCode;
use ctx_service::recorder::{Flaw, Withheld};

/// Marks an answer as ours and tells which error it is.
pub(crate) const ERROR_HEADER: HeaderName = HeaderName::from_static("x-context-composer-error");

/// Everything that can go wrong between a client's request and the upstream's answer.
#[derive(Debug)]
pub(crate) enum Failure {
    Unreachable {
        upstream: UpstreamUrl,
        cause: ConnectError,
    },
    /// The upstream took the request, or part of it, and closed without an answer.
    NoAnswer {
        upstream: UpstreamUrl,
        reason: String,
    },
    /// The client stopped sending in the middle of its body.
    ClientStalled {
        seconds: u64,
    },
    /// The client went away or broke its own framing; nobody reads this answer.
    ClientBroke,
    /// Its conversation is edited, or may be, and the edits could not be applied. What an edit took out must not
    /// leave, so nothing does.
    Withheld(Withheld),
    /// `/to/NAME/…` with a name that no setting gives, or a provider without an upstream.
    NoSuchUpstream {
        name: String,
        known: Vec<String>,
    },
    /// A client wants to speak over a WebSocket. It comes back without when it is told so.
    Upgrade,
    /// `CONNECT` asks for a tunnel, and we are not that kind of proxy.
    Tunnel,
    /// All file handles are taken, and no connection rests.
    Crowded,
    /// It does not come from a program that means us.
    Refused(Refusal),
}

impl Failure {
    /// How the exchange ended for whoever looks on.
    pub(crate) fn ending(&self) -> Ending {
        match self {
            Self::ClientStalled { .. } | Self::ClientBroke => Ending::Cancelled,
            _ => Ending::Unreachable,
        }
    }

    /// The answer in the words of the provider that the path belongs to.
    pub(crate) fn into_response(self, path: &str) -> Response<Bytes> {
        let told = self.tell();
        if let Self::Withheld(why) = self {
            tracing::error!(?why, "a request of an edited conversation could not be composed and was not sent");
        }
        tracing::debug!(code = %told.code, status = told.status.as_u16(), "answered for the upstream: {}", told.message);
        told.into_response(path)
    }

    fn tell(&self) -> Told {
        match self {
            Self::Unreachable { upstream, cause } => Told {
                status: StatusCode::BAD_GATEWAY,
                kind: "api_error",
                code: ErrorCode::UpstreamUnreachable,
                message: format!("Context Composer cannot reach {upstream}: {cause}. {}", cause.advice()),
                permanent: cause.is_permanent(),
            },
            Self::NoAnswer { upstream, reason } => Told {
                status: StatusCode::BAD_GATEWAY,
                kind: "api_error",
                code: ErrorCode::UpstreamClosed,
                message: format!(
                    "{upstream} closed the connection without an answer ({reason}). \
                     The request may have reached it. Try again."
                ),
                permanent: false,
            },
            Self::ClientStalled { seconds } => Told {
                status: StatusCode::REQUEST_TIMEOUT,
                kind: "invalid_request_error",
                code: ErrorCode::RequestStalled,
                message: format!("The request body stopped for {seconds} s before its end. Send it again."),
                permanent: false,
            },
            Self::ClientBroke => Told::refusal(
                StatusCode::BAD_REQUEST,
                ErrorCode::RequestBroken,
                "The request body ended before its announced end, or is not well framed. Send it again.",
            ),
            Self::Withheld(why) => withheld(*why),
            Self::NoSuchUpstream { name, known } => Told::refusal(
                StatusCode::NOT_FOUND,
                ErrorCode::NoSuchUpstream,
                &format!(
                    "Context Composer knows no upstream `{name}`; it knows {}. Add it with `--upstream {name}=URL`, or as \
                     `[upstream.{name}]` in ctx.toml.",
                    known.join(", ")
                ),
            ),
            Self::Upgrade => Told::refusal(
                StatusCode::UPGRADE_REQUIRED,
                ErrorCode::NoWebsocket,
                "Context Composer edits whole requests, and a WebSocket carries parts of them. Send HTTP requests.",
            ),
            Self::Tunnel => Told::refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                ErrorCode::NoTunnels,
                "Context Composer does not open tunnels (CONNECT). Use its address as the base URL of the \
                 client (ANTHROPIC_BASE_URL), not as its HTTPS_PROXY.",
            ),
            Self::Crowded => Told {
                status: StatusCode::SERVICE_UNAVAILABLE,
                kind: "api_error",
                code: ErrorCode::TooManyConnections,
                message: "Context Composer has no file handle left for another connection. Try again when others are \
                          done, or start it with a higher limit (`ulimit -n`)."
                    .to_owned(),
                permanent: false,
            },
            Self::Refused(Refusal::ForeignHost) => Told::refusal(
                StatusCode::FORBIDDEN,
                ErrorCode::ForeignHost,
                "The request is addressed to a host name that is not this machine's own, as in a DNS rebinding attack. \
                 Use 127.0.0.1, localhost or another address of this machine in the base URL (ANTHROPIC_BASE_URL).",
            ),
            Self::Refused(Refusal::Navigation) => Told::refusal(
                StatusCode::FORBIDDEN,
                ErrorCode::Navigation,
                "This address is for programs: what the provider answers is not shown in a browser. \
                 To look at your conversations, open the link that `ctx ui` prints.",
            ),
            Self::Refused(_) => Told::refusal(
                StatusCode::FORBIDDEN,
                ErrorCode::CrossSite,
                "Context Composer refuses requests from web pages of other sites. \
                 Use a program on this machine, not a page in a browser.",
            ),
        }
    }
}

/// The client retries what may work the next time. It does not retry what stays as it is.
fn withheld(why: Withheld) -> Told {
    let (status, code, message) = match why {
        Withheld::Store => (
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::StoreUnavailable,
            "Context Composer cannot read its store, so it cannot apply the edits of this conversation. The request \
             was not sent. Try again; `ctx doctor` shows what is wrong with the store.",
        ),
        Withheld::LostEdits => (
            StatusCode::BAD_REQUEST,
            ErrorCode::EditsLost,
            "A damaged record of the store held edits of this conversation, so Context Composer cannot apply them. The \
             request was not sent. `ctx doctor` names the record, `ctx list` shows what is left. The next edit goes on \
             without the lost ones; `ctx rollback source` goes on without any.",
        ),
        Withheld::Unreadable(flaw) => (StatusCode::BAD_REQUEST, ErrorCode::UnreadableRequest, unreadable(flaw)),
        Withheld::Defect => (
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::NotComposed,
            "Context Composer failed to apply the edits of this conversation; this is a defect. The request was \
             not sent. Try again; if it fails again, `ctx undo` reverts the newest edit.",
        ),
    };
    let kind = if status == StatusCode::BAD_REQUEST { "invalid_request_error" } else { "api_error" };
    Told { status, kind, code, message: message.to_owned(), permanent: false }
}

fn unreadable(flaw: Flaw) -> &'static str {
    match flaw {
        Flaw::Size => {
            "This request is larger than Context Composer reads, so the edits that its conversation may have cannot be \
             applied. The request was not sent. Compact the conversation, or begin a new one."
        }
        Flaw::Encoding => {
            "The body of this request does not decode as its `content-encoding` header says, so the edits that its \
             conversation may have cannot be applied. The request was not sent. Check the header, or send the body \
             without an encoding."
        }
        Flaw::Json => {
            "The body of this request is no JSON request, so the edits that its conversation may have cannot be \
             applied. The request was not sent. Check the body that the client sends."
        }
    }
}

/// The answers that the HTTP parser gives before a request exists.
pub(crate) fn malformed(status: StatusCode) -> Response<Bytes> {
    let told = match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => Told::refusal(
            status,
            ErrorCode::HeadersTooLarge,
            "The request has too many headers, or they are too long. Send fewer or shorter ones.",
        ),
        StatusCode::URI_TOO_LONG => {
            Told::refusal(status, ErrorCode::AddressTooLong, "The request's address is too long. Send a shorter one.")
        }
        _ => Told::refusal(
            status,
            ErrorCode::MalformedRequest,
            "The request is not well-formed HTTP/1.1. Check the client, and that it speaks http, not https, here.",
        ),
    };
    told.into_response("")
}

struct Told {
    status: StatusCode,
    kind: &'static str,
    code: ErrorCode,
    message: String,
    permanent: bool,
}

impl Told {
    fn refusal(status: StatusCode, code: ErrorCode, message: &str) -> Self {
        Self { status, kind: kind_of(status), code, message: message.to_owned(), permanent: false }
    }

    fn into_response(self, path: &str) -> Response<Bytes> {
        let error = ctx_wire::LocalError { kind: self.kind, code: self.code.as_str(), message: &self.message };
        let body = Bytes::from(ctx_wire::error_body(path, self.status.as_u16(), &error));
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
            // Clients of the provider honour this; otherwise they repeat a 502 for minutes.
            headers.insert("x-should-retry", HeaderValue::from_static("false"));
        }
        headers.insert(header::CONTENT_LENGTH, length);
        response
    }
}

fn kind_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE | StatusCode::URI_TOO_LONG => "request_too_large",
        _ => "invalid_request_error",
    }
}
