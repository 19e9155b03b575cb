//! The page: its files, its security headers, and small pages in its place.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode, Uri};

use super::embedded::Asset;
use crate::auth::page_keys;

const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Only our scripts, no framing, no referrer for other sites. There are no CORS headers anywhere: no other page may
/// read anything.
pub(super) fn secure(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin"));
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin"));
}

/// A file of the page by its name below `/ui/`. Names without an extension are places inside the page. A client that
/// accepts gzip gets it compressed.
pub(super) fn serve(assets: &'static [Asset], name: &str, client: &HeaderMap) -> Response<Bytes> {
    let find = |wanted: &str| assets.iter().find(|asset| asset.name == wanted);
    let is_place = !name.rsplit('/').next().unwrap_or_default().contains('.');
    match find(name).or_else(|| is_place.then(|| find("index.html")).flatten()) {
        Some(asset) => file(asset, takes_gzip(client)),
        None if assets.is_empty() && is_place => small_page(
            StatusCode::OK,
            "This build has no page",
            "Everything else works. To get the page, install Node and run <code>cargo xtask install</code> in the \
             source folder.",
        ),
        None => small_page(StatusCode::NOT_FOUND, "No such file", "Go back to <a href=\"/ui/\">the page</a>."),
    }
}

fn file(asset: &Asset, is_packed: bool) -> Response<Bytes> {
    let packed = Bytes::from_static(asset.packed);
    // The build packed it, so it can be unpacked; if that fails, the client gets it packed.
    let (body, is_packed) = match is_packed {
        true => (packed, true),
        false => asset.unpacked().map_or((packed, true), |body| (body, false)),
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_packed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(asset.name)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching(asset.name)));
    response
}

fn takes_gzip(client: &HeaderMap) -> bool {
    let values = client.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| coding.trim().eq_ignore_ascii_case("gzip"))
}

pub(super) fn needs_link() -> Response<Bytes> {
    small_page(
        StatusCode::UNAUTHORIZED,
        "Open the link with the token",
        "Run <code>ctx ui</code> in a terminal and open the link that it prints. This browser then stays signed in \
         for thirty days.",
    )
}

pub(super) fn foreign() -> Response<Bytes> {
    small_page(
        StatusCode::FORBIDDEN,
        "This is not the daemon's address",
        "Run <code>ctx ui</code> in a terminal and open the link that it prints.",
    )
}

pub(super) fn wrong_method() -> Response<Bytes> {
    let mut response = small_page(StatusCode::METHOD_NOT_ALLOWED, "The page is read-only", "Nothing was changed.");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

pub(super) fn moved(to: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/ui/"));
    response.headers_mut().insert(header::LOCATION, to);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The same address with the page key in place of the token. The page stores the key and removes it from its address;
/// in a browser's history it is worthless without the cookie.
pub(super) fn with_key(uri: &Uri, page_key: &str) -> String {
    let path = if uri.path() == "/ui" { "/ui/" } else { uri.path() };
    let pairs = uri.query().unwrap_or_default().split('&');
    let rest = pairs.filter(|pair| !pair.is_empty() && !pair.starts_with("token=") && !pair.starts_with("key="));
    let mut address = format!("{path}?key={page_key}");
    rest.for_each(|pair| address.extend(["&", pair]));
    address
}

/// The same address without a page key.
pub(super) fn without_key(uri: &Uri) -> String {
    let keys: Vec<&str> = page_keys(uri).map(|(name, _)| name).collect();
    let is_key = |pair: &&str| keys.contains(&pair.split('=').next().unwrap_or_default());
    let pairs = uri.query().unwrap_or_default().split('&');
    let rest: Vec<&str> = pairs.filter(|pair| !pair.is_empty() && !is_key(pair)).collect();
    let mark = if rest.is_empty() { "" } else { "?" };
    format!("{}{mark}{}", uri.path(), rest.join("&"))
}

/// A person came back from an identity provider. Only a page of ours leads on with a page key.
pub(super) fn entered(page_key: &str) -> Response<Bytes> {
    let to = format!("/ui/?key={page_key}");
    let link = format!("<a href=\"{to}\">Continue</a>");
    let refresh = format!("<meta http-equiv=\"refresh\" content=\"0; url={to}\">\n");
    small_page_with(&refresh, StatusCode::OK, "You are signed in", &link)
}

pub(super) fn no_session() -> Response<Bytes> {
    small_page(
        StatusCode::INTERNAL_SERVER_ERROR,
        "No session",
        "The system provides no random bytes for a session. Try again; <code>ctx doctor</code> checks the daemon.",
    )
}

/// A sign-in at the identity provider that came to nothing. The words are shown as text.
pub(super) fn not_signed_in(status: StatusCode, words: &str) -> Response<Bytes> {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    small_page(status, "You are not signed in", &format!("{words}</p>\n<p><a href=\"/ui/\">Back to the page</a>"))
}

fn small_page(status: StatusCode, title: &str, text: &str) -> Response<Bytes> {
    small_page_with("", status, title, text)
}

fn small_page_with(head: &str, status: StatusCode, title: &str, text: &str) -> Response<Bytes> {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n{head}\
         <title>{title} · Context Composer</title>\n<h1>{title}</h1>\n<p>{text}</p>\n</html>\n"
    );
    let mut response = Response::new(Bytes::from(html));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Names below `assets/` contain a hash, so their content never changes.
fn caching(name: &str) -> &'static str {
    if name.starts_with("assets/") { "private, max-age=31536000, immutable" } else { "no-cache" }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "woff" => "font/woff",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Two files.
    fn assets() -> &'static [Asset] {
        let asset = |name, text: &str| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            packer.write_all(text.as_bytes()).expect("packed");
            Asset { name, packed: packer.finish().expect("packed").leak() }
        };
        vec![asset("index.html", "<!doctype html>"), asset("assets/app-3f2a9c1b.js", "go()")].leak()
    }

    fn header(response: &Response<Bytes>, name: HeaderName) -> &str {
        response.headers().get(name).expect("the header").to_str().expect("text")
    }

    #[test]
    fn hashed_files_are_kept_for_ever_and_the_page_itself_is_asked_for_again() {
        let script = serve(assets(), "assets/app-3f2a9c1b.js", &HeaderMap::new());
        assert_eq!(script.body(), &Bytes::from_static(b"go()"));
        assert!(header(&script, header::CACHE_CONTROL).contains("immutable"));
        assert_eq!(header(&script, header::CONTENT_TYPE), "text/javascript; charset=utf-8");
        for name in ["", "index.html", "c/3f9a1/t3"] {
            let page = serve(assets(), name, &HeaderMap::new());
            assert_eq!(page.body(), &Bytes::from_static(b"<!doctype html>"), "{name}");
            assert_eq!(header(&page, header::CACHE_CONTROL), "no-cache");
        }
    }

    #[test]
    fn who_takes_gzip_gets_it_and_others_do_not() {
        for (said, is_packed) in [("gzip, deflate, br", true), ("br,GZIP", true), ("br", false), ("gzip;q=0", false)] {
            let client = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(said))]);
            let script = serve(assets(), "assets/app-3f2a9c1b.js", &client);
            assert_eq!(script.body().starts_with(&[0x1f, 0x8b]), is_packed, "{said}");
            assert_eq!(script.body() == "go()", !is_packed, "{said}");
            assert_eq!(script.headers().contains_key(header::CONTENT_ENCODING), is_packed, "{said}");
        }
    }

    #[test]
    fn a_missing_file_is_not_found_and_a_missing_page_is_explained() {
        assert_eq!(serve(assets(), "assets/gone.js", &HeaderMap::new()).status(), StatusCode::NOT_FOUND);
        assert_eq!(serve(assets(), "../token.txt", &HeaderMap::new()).status(), StatusCode::NOT_FOUND);
        let explained = serve(&[], "", &HeaderMap::new());
        assert_eq!(explained.status(), StatusCode::OK);
        assert!(String::from_utf8_lossy(explained.body()).contains("cargo xtask install"));
    }

    #[test]
    fn words_about_a_sign_in_are_text() {
        let page = not_signed_in(StatusCode::FORBIDDEN, "<script>\"a&b\"</script>");
        let html = String::from_utf8_lossy(page.body()).into_owned();
        assert!(
            html.contains("&lt;script&gt;&quot;a&amp;b&quot;&lt;/script&gt;") && !html.contains("<script"),
            "{html}"
        );
    }

    #[test]
    fn the_token_leaves_the_address_and_the_rest_stays() {
        let with = |uri: &str| with_key(&uri.parse().expect("a uri"), "k");
        assert_eq!(with("/ui/?token=hush"), "/ui/?key=k");
        assert_eq!(with("/ui?token=hush&key=old"), "/ui/?key=k");
        assert_eq!(with("/ui/c/1?a=2&token=hush&b"), "/ui/c/1?key=k&a=2&b");
    }

    #[test]
    fn a_page_key_leaves_the_address_in_any_spelling() {
        let without = |uri: &str| without_key(&uri.parse().expect("a uri"));
        assert_eq!(without("/ui/?key=k"), "/ui/");
        assert_eq!(without("/ui/c/1?a=2&k%65y=k&key&b"), "/ui/c/1?a=2&b");
    }
}
