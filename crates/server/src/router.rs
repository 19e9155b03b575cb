//! Routes requests: `/control` and `/ui` are ours, everything else goes to the provider.

use std::sync::Arc;

use http::{Request, Response, Uri};
use hyper::body::Incoming;

use crate::local::LocalPaths;
use crate::metrics::Metrics;
use crate::proxy::Proxy;
use crate::proxy::errors::Failure;
use crate::reply::Reply;

/// One worker's router: its own proxy, and the local paths that all workers share.
pub(crate) struct PathRouter {
    proxy: Proxy,
    local: Arc<LocalPaths>,
    metrics: Arc<Metrics>,
}

impl PathRouter {
    pub(crate) fn new(proxy: Proxy, local: Arc<LocalPaths>, metrics: Arc<Metrics>) -> Self {
        Self { proxy, local, metrics }
    }

    /// `on_spare`: the connection got one of the last file handles, which are reserved for the control API.
    pub(crate) async fn answer(&self, request: Request<Incoming>, on_spare: bool) -> Response<Reply> {
        match Route::of(request.uri().path()) {
            Route::Upstream if on_spare => self.refuse(Failure::Crowded, target(request.uri())),
            Route::Upstream => {
                let uri = request.uri().clone();
                match self.proxy.forward(request).await {
                    Ok(response) => response.map(Reply::answer),
                    Err(failure) => self.refuse(failure, target(&uri)),
                }
            }
            Route::Control => self.local.control(request).await,
            Route::Page => self.local.page(request).await,
        }
    }

    fn refuse(&self, failure: Failure, target: &str) -> Response<Reply> {
        self.metrics.refused(failure.code());
        failure.into_response(target).map(Reply::whole)
    }
}

/// The path of a call with its query.
fn target(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |target| target.as_str())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Control,
    Page,
    Upstream,
}

impl Route {
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
            ("/control", Route::Control),
            ("/control/v1/status", Route::Control),
            ("/ui", Route::Page),
            ("/ui/", Route::Page),
            ("/ui/assets/app.js", Route::Page),
            ("/", Route::Upstream),
            ("*", Route::Upstream),
            ("/v1/messages", Route::Upstream),
            ("/uix", Route::Upstream),
            ("/controls", Route::Upstream),
            ("//ui/", Route::Upstream),
            ("/v1/../control/v1/status", Route::Upstream),
        ] {
            assert_eq!(Route::of(path), way, "{path}");
        }
    }
}
