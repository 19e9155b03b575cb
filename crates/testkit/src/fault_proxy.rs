//! A TCP proxy with faults on command, for tests of what a client does when its server is out of reach.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;

use crate::background::Background;

/// The treatment of the bytes of all connections, old and new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// They pass.
    None,
    /// Connections are closed, and new ones at once.
    Cut,
    /// Nothing passes, in either direction; it arrives later.
    Stall,
    /// The client's bytes pass, the answers vanish.
    HalfOpen,
    /// Every chunk arrives this much later.
    Delay(Duration),
    /// One byte arrives after the other, with this pause.
    Trickle(Duration),
    /// As soon as the client has sent these bytes, they pass, and the connection is closed before the answer.
    LoseAnswer(&'static [u8]),
    /// As soon as the client sends these bytes, nothing of its connection passes until the fault ends.
    HoldFrom(&'static [u8]),
}

/// A proxy to one port of loopback.
pub struct FaultProxy {
    listener: Background,
    fault: watch::Sender<Fault>,
}

impl FaultProxy {
    pub fn to(port: u16) -> io::Result<Self> {
        let (fault, faults) = watch::channel(Fault::None);
        let listener = Background::listen(0, "fault-proxy", move |client, _| serve(client, port, faults.clone()))?;
        Ok(Self { listener, fault })
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    pub fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }
}

async fn serve(client: TcpStream, port: u16, mut faults: watch::Receiver<Fault>) {
    if *faults.borrow() == Fault::Cut {
        return;
    }
    let Ok(socket) = TcpSocket::new_v4() else { return };
    let Ok(server) = socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await else { return };
    let _ = server.set_nodelay(true);
    let ((client_reads, client_writes), (server_reads, server_writes)) = (client.into_split(), server.into_split());
    tokio::select! {
        () = pass(client_reads, server_writes, faults.clone(), true) => {}
        () = pass(server_reads, client_writes, faults.clone(), false) => {}
        _ = faults.wait_for(|fault| *fault == Fault::Cut) => {}
    }
}

/// Passes bytes in one direction until it ends.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut faults: watch::Receiver<Fault>, is_request: bool) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let bytes = &buffer[..length];
        if faults.wait_for(|fault| *fault != Fault::Stall).await.is_err() {
            return;
        }
        let fault = *faults.borrow();
        let passed = match fault {
            Fault::Delay(time) => {
                tokio::time::sleep(time).await;
                to.write_all(bytes).await
            }
            Fault::Trickle(pause) => trickle(&mut to, bytes, pause).await,
            Fault::HalfOpen if !is_request => Ok(()),
            Fault::LoseAnswer(_) if !is_request => to.write_all(bytes).await,
            Fault::LoseAnswer(last) if contains(bytes, last) => {
                let _ = to.write_all(bytes).await;
                // The server gets them before it notices the end, and its answer goes nowhere.
                return;
            }
            Fault::HoldFrom(first) if is_request && contains(bytes, first) => {
                let _ = faults.wait_for(|fault| *fault != Fault::HoldFrom(first)).await;
                to.write_all(bytes).await
            }
            _ => to.write_all(bytes).await,
        };
        if passed.is_err() {
            return;
        }
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

async fn trickle(to: &mut OwnedWriteHalf, bytes: &[u8], pause: Duration) -> io::Result<()> {
    for byte in bytes {
        to.write_all(&[*byte]).await?;
        tokio::time::sleep(pause).await;
    }
    Ok(())
}
