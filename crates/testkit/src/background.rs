//! A listener on loopback with its own thread and runtime, so that a test, async or not, can start a server with one
//! call and stop it by dropping the handle.
//!
//! The callers handle the connections.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;
use std::thread::JoinHandle;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;

/// Load tests open a thousand connections at once; a short backlog would delay them by retransmitted SYNs.
const BACKLOG: u32 = 4096;

pub(crate) struct Background {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Listens on `127.0.0.1:port` (0 picks a free one) and passes every connection, numbered from 1, to `serve`.
    pub(crate) fn listen<S, F>(port: u16, name: &str, serve: S) -> io::Result<Self>
    where
        S: Fn(TcpStream, u64) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        let (report, listening) = mpsc::channel();
        let thread =
            std::thread::Builder::new().name(name.to_owned()).spawn(move || run(port, serve, stopped, &report))?;
        let address =
            listening.recv().map_err(|_| io::Error::other("the server thread ended before it listened"))??;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // An error means that the thread has already ended.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run<S, F>(port: u16, serve: S, stopped: oneshot::Receiver<()>, report: &mpsc::Sender<io::Result<SocketAddr>>)
where
    S: Fn(TcpStream, u64) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = report.send(Err(error));
            return;
        }
    };
    runtime.block_on(async {
        let bound = bind(port).and_then(|listener| Ok((listener.local_addr()?, listener)));
        match bound {
            Err(error) => {
                let _ = report.send(Err(error));
            }
            Ok((address, listener)) => {
                let _ = report.send(Ok(address));
                tokio::select! {
                    () = accept(listener, serve) => {}
                    _ = stopped => {}
                }
            }
        }
    });
    // Dropping streams that are still written to closes their sockets.
    runtime.shutdown_background();
}

fn bind(port: u16) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    socket.listen(BACKLOG)
}

async fn accept<S, F>(listener: TcpListener, serve: S)
where
    S: Fn(TcpStream, u64) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let mut number = 0;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                number += 1;
                // Small writes must arrive separately: tests measure them.
                let _ = stream.set_nodelay(true);
                tokio::spawn(serve(stream, number));
            }
            // Probably out of file handles: let some connections end first.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    }
}
