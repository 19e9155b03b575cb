//! Peers that exchange raw bytes, for tests about exact bytes.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::soon;

pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// One end of a connection.
pub struct Peer {
    stream: Box<dyn Stream>,
    read: Vec<u8>,
}

/// How the other side stopped sending.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Closed,
    Reset,
}

impl Peer {
    pub fn new(stream: impl Stream + 'static) -> Self {
        Self { stream: Box::new(stream), read: Vec::new() }
    }

    pub async fn connect(address: SocketAddr) -> Self {
        let stream = soon("a connection", TcpStream::connect(address)).await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        Self::new(stream)
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).await.expect("sent");
    }

    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        soon("room to send", async {
            self.stream.write_all(bytes.as_ref()).await?;
            self.stream.flush().await
        })
        .await
    }

    /// Writes until the other side accepts nothing for `quiet`, or an error; returns the number of bytes.
    pub async fn send_until_stuck(&mut self, most: usize, quiet: Duration) -> usize {
        let block = vec![b'x'; 64 * 1024];
        let mut sent = 0;
        while sent < most {
            match tokio::time::timeout(quiet, self.stream.write(&block)).await {
                Ok(Ok(count)) => sent += count,
                Ok(Err(_)) | Err(_) => break,
            }
        }
        sent
    }

    /// A head, including its empty line.
    pub async fn head(&mut self) -> String {
        let end = soon("a head", async {
            loop {
                if let Some(at) = find(&self.read, b"\r\n\r\n") {
                    return at + 4;
                }
                assert!(self.more().await.is_ok_and(|count| count > 0), "no head, but {:?}", self.text());
            }
        })
        .await;
        String::from_utf8(self.read.drain(..end).collect()).expect("text")
    }

    pub async fn exactly(&mut self, count: usize) -> Vec<u8> {
        soon(&format!("{count} bytes"), async {
            while self.read.len() < count {
                assert!(self.more().await.is_ok_and(|count| count > 0), "too few: {:?}", self.text());
            }
        })
        .await;
        self.read.drain(..count).collect()
    }

    pub async fn text_of(&mut self, count: usize) -> String {
        String::from_utf8(self.exactly(count).await).expect("text")
    }

    /// A chunked body, decoded; the trailer section is returned raw.
    pub async fn chunked(&mut self) -> (Vec<u8>, String) {
        let mut body = Vec::new();
        loop {
            let line = self.line().await;
            let size = usize::from_str_radix(line.split(';').next().expect("a size").trim(), 16).expect(&line);
            if size == 0 {
                let mut trailers = String::new();
                loop {
                    let line = self.line().await;
                    if line.is_empty() {
                        return (body, trailers);
                    }
                    trailers.push_str(&line);
                    trailers.push('\n');
                }
            }
            body.extend(self.exactly(size).await);
            assert_eq!(self.line().await, "");
        }
    }

    pub async fn line(&mut self) -> String {
        let end = soon("a line", async {
            loop {
                if let Some(at) = find(&self.read, b"\r\n") {
                    return at;
                }
                assert!(self.more().await.is_ok_and(|count| count > 0), "no line, but {:?}", self.text());
            }
        })
        .await;
        let line = self.read.drain(..end + 2).take(end).collect();
        String::from_utf8(line).expect("text")
    }

    /// Everything until the other side stops, and how it stopped.
    pub async fn end(&mut self) -> (Vec<u8>, End) {
        let end = soon("the end", async {
            loop {
                match self.more().await {
                    Ok(0) => return End::Closed,
                    Ok(_) => {}
                    Err(_) => return End::Reset,
                }
            }
        })
        .await;
        (std::mem::take(&mut self.read), end)
    }

    pub async fn rest(&mut self) -> Vec<u8> {
        self.end().await.0
    }

    /// Nothing more arrives for a moment.
    pub async fn is_quiet(&mut self, moment: Duration) -> bool {
        let more = tokio::time::timeout(moment, self.more()).await;
        self.read.is_empty() && !matches!(more, Ok(Err(_)))
    }

    pub async fn close_sending(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    async fn more(&mut self) -> std::io::Result<usize> {
        self.read.reserve(64 * 1024);
        self.stream.read_buf(&mut self.read).await
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.read).into_owned()
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// An upstream whose every byte the test writes.
pub struct RawServer {
    listener: TcpListener,
    pub address: SocketAddr,
}

impl RawServer {
    pub async fn open() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        Self { listener, address }
    }

    pub async fn accept(&self) -> Peer {
        let (stream, _) = soon("a connection from the proxy", self.listener.accept()).await.expect("accepted");
        stream.set_nodelay(true).expect("no delay");
        Peer::new(stream)
    }

    pub async fn accept_tcp(&self) -> TcpStream {
        soon("a connection from the proxy", self.listener.accept()).await.expect("accepted").0
    }

    /// No connection arrives for a moment.
    pub async fn stays_alone(&self, moment: Duration) -> bool {
        tokio::time::timeout(moment, self.listener.accept()).await.is_err()
    }
}

/// Reads the head of a request byte by byte, so that nothing after it is consumed.
pub async fn head_of(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    soon("a head", async {
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a byte"));
        }
    })
    .await;
    String::from_utf8(head).expect("text")
}

/// An address where nothing listens.
pub async fn nobody() -> SocketAddr {
    RawServer::open().await.address
}
