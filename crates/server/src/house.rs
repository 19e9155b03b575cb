//! Which way a request goes: our own rooms under `/control` and `/ui`, everything else to the provider.

use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;

use crate::proxy::Proxy;
use crate::proxy::errors::Failure;
use crate::reply::Reply;
use crate::rooms::Rooms;

/// One worker's house: its own proxy, the rooms that all share.
pub(crate) struct House {
    proxy: Proxy,
    rooms: Arc<Rooms>,
}

impl House {
    pub(crate) fn new(proxy: Proxy, rooms: Arc<Rooms>) -> Self {
        Self { proxy, rooms }
    }

    /// `on_spare`: the connection got one of the last file handles, and those are for the control API.
    pub(crate) async fn answer(&self, request: Request<Incoming>, on_spare: bool) -> Response<Reply> {
        match Way::of(request.uri().path()) {
            Way::Upstream if on_spare => Failure::Crowded.into_response().map(Reply::whole),
            Way::Upstream => match self.proxy.forward(request).await {
                Ok(response) => response.map(Reply::answer),
                Err(failure) => failure.into_response().map(Reply::whole),
            },
            Way::Control => self.rooms.control(request).await,
            Way::Page => self.rooms.page(request),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Control,
    Page,
    Upstream,
}

impl Way {
    fn of(path: &str) -> Self {
        let lies_under =
            |room: &str| path.strip_prefix(room).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if lies_under("/control") {
            Self::Control
        } else if lies_under("/ui") {
            Self::Page
        } else {
            Self::Upstream
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_rooms_stay_in_the_house() {
        for (path, way) in [
            ("/control", Way::Control),
            ("/control/v1/status", Way::Control),
            ("/ui", Way::Page),
            ("/ui/", Way::Page),
            ("/ui/assets/app.js", Way::Page),
            ("/", Way::Upstream),
            ("*", Way::Upstream),
            ("/v1/messages", Way::Upstream),
            ("/uix", Way::Upstream),
            ("/controls", Way::Upstream),
            ("//ui/", Way::Upstream),
            ("/v1/../control/v1/status", Way::Upstream),
        ] {
            assert_eq!(Way::of(path), way, "{path}");
        }
    }
}
