//! One client connection: HTTP/1.1 on the socket, timeouts, and a clean end. [`crate::router`] handles the requests.

mod client_wire;
mod patience;
mod phase;
mod register;
pub(crate) mod tls;

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use http::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use self::client_wire::ClientWire;
use self::patience::Patience;
use self::phase::Phase;
pub(crate) use self::phase::Turn;
pub(crate) use self::register::{Place, Register};
use self::tls::ClientSocket;
use crate::config::Limits;
use crate::reply::{Closing, Reply};
use crate::router::PathRouter;

/// An accepted connection.
pub(crate) struct AcceptedConnection<Socket> {
    pub(crate) socket: Socket,
    pub(crate) place: Place,
    /// It came to the port for other machines.
    pub(crate) is_tls: bool,
    /// It got one of the last file handles: only the control API responds, and it must not idle.
    pub(crate) on_spare: bool,
}

/// Serves a client until it disconnects, times out, makes space for others, or `closing` ends it.
pub(crate) async fn serve(
    accepted: AcceptedConnection<ClientSocket>,
    router: Arc<PathRouter>,
    limits: Arc<Limits>,
    mut closing: Closing,
) {
    let AcceptedConnection { socket, mut place, on_spare, .. } = accepted;
    let phase = place.phase.clone();
    let wire = ClientWire::new(socket, phase.clone(), limits.linger);
    let service_phase = phase.clone();
    let service = service_fn(move |request| {
        service_phase.enter(Phase::Serving);
        let turn = Turn::new(service_phase.clone());
        let (router, phase) = (router.clone(), service_phase.clone());
        async move {
            let response = router.answer(request, on_spare).await;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                phase.enter(Phase::Upgraded);
            }
            Ok::<_, Infallible>(Reply::in_turn(response, turn))
        }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .preserve_header_case(true)
            .auto_date_header(false)
            .keep_alive(!on_spare)
            .max_headers(limits.max_headers)
            .max_header_size(limits.max_head_bytes)
            // hyper's own timeout would also close idle connections; `Patience` distinguishes them.
            .header_read_timeout(None)
            .serve_connection(TokioIo::new(wire), service)
            .with_upgrades()
    );
    let mut patience = Patience::new(&limits);
    let mut is_closing = false;
    poll_fn(|context| {
        if let Poll::Ready(ended) = connection.as_mut().poll(context) {
            if let Err(error) = ended {
                tracing::debug!(%error, "a client connection ended");
            }
            return Poll::Ready(());
        }
        if !is_closing && closing.as_mut().poll(context).is_ready() {
            is_closing = true;
            connection.as_mut().graceful_shutdown();
            context.waker().wake_by_ref();
        }
        if Pin::new(&mut place.leave).poll(context).is_ready() {
            if phase.is_idle() {
                tracing::debug!("closed an idle client connection to free a file handle");
                return Poll::Ready(());
            }
            place.stay();
            context.waker().wake_by_ref();
        }
        if patience.is_over(&phase, context) {
            tracing::debug!("closed a client connection that timed out");
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
}
