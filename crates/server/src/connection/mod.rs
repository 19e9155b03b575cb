//! One client connection: HTTP/1.1 on the socket, patience with the client, a clean goodbye. What the
//! requests mean is for [`crate::house`].

mod client_wire;
mod patience;
mod phase;

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use self::client_wire::ClientWire;
use self::patience::Patience;
pub(crate) use self::phase::Turn;
use self::phase::{Phase, PhaseCell};
use crate::config::Limits;
use crate::house::House;
use crate::reply::{Closing, Reply};

/// Serves a client until it leaves, wears out our patience, or `closing` asks for an end.
pub(crate) async fn serve(socket: TcpStream, house: Arc<House>, limits: Arc<Limits>, mut closing: Closing) {
    let phase = Arc::new(PhaseCell::default());
    let wire = ClientWire::new(socket, phase.clone(), limits.linger);
    let service_phase = phase.clone();
    let service = service_fn(move |request| {
        service_phase.enter(Phase::Serving);
        let turn = Turn::new(service_phase.clone());
        let house = house.clone();
        async move { Ok::<_, Infallible>(Reply::in_turn(house.answer(request).await, turn)) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .preserve_header_case(true)
            .auto_date_header(false)
            .max_headers(limits.max_headers)
            .max_header_size(limits.max_head_bytes)
            // hyper's own timeout would also close connections that merely rest; `Patience` knows the difference.
            .header_read_timeout(None)
            .serve_connection(TokioIo::new(wire), service)
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
        if patience.is_over(&phase, context) {
            tracing::debug!("a client connection was closed: it kept us waiting");
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
}
