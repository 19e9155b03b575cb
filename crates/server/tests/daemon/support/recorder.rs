//! An observer that records everything.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use ctx_server::Observer;
use ctx_server::watch::{Ending, RequestHead, RequestWatch, ResponseHead, ResponseWatch, Watch};

/// One observed exchange.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub head: String,
    pub request: Vec<u8>,
    pub request_complete: Option<bool>,
    pub response_head: Option<String>,
    pub status: u16,
    pub response: Vec<u8>,
    pub ending: Option<Ending>,
}

#[derive(Default)]
pub struct Recorder {
    seen: Mutex<Vec<Arc<Mutex<Seen>>>>,
    pub blind: std::sync::atomic::AtomicBool,
}

impl Recorder {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().iter().map(|seen| seen.lock().unwrap().clone()).collect()
    }

    /// The outcome of the given exchange, once it is known.
    pub async fn ending(&self, number: usize) -> Ending {
        super::until("the ending", || self.seen().get(number).is_some_and(|seen| seen.ending.is_some())).await;
        self.seen()[number].ending.unwrap()
    }
}

impl Observer for Recorder {
    fn begin(&self, head: &RequestHead<'_>) -> Option<Watch> {
        if self.blind.load(std::sync::atomic::Ordering::Relaxed) {
            return None;
        }
        let seen = Arc::new(Mutex::new(Seen { head: format!("{head:?}"), ..Seen::default() }));
        self.seen.lock().unwrap().push(seen.clone());
        Some(Watch { request: Box::new(Half(seen.clone())), response: Box::new(Half(seen)) })
    }
}

struct Half(Arc<Mutex<Seen>>);

impl RequestWatch for Half {
    fn chunk(&mut self, chunk: &Bytes) {
        self.0.lock().unwrap().request.extend_from_slice(chunk);
    }

    fn end(&mut self, complete: bool) {
        let before = self.0.lock().unwrap().request_complete.replace(complete);
        assert_eq!(before, None, "a request ends once");
    }
}

impl ResponseWatch for Half {
    fn head(&mut self, head: &ResponseHead<'_>) {
        let mut seen = self.0.lock().unwrap();
        seen.status = head.status().as_u16();
        seen.response_head = Some(format!("{head:?}"));
    }

    fn chunk(&mut self, chunk: &Bytes) {
        self.0.lock().unwrap().response.extend_from_slice(chunk);
    }

    fn end(&mut self, ending: Ending) {
        let before = self.0.lock().unwrap().ending.replace(ending);
        assert_eq!(before, None, "a response ends once");
    }
}
