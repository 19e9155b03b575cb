//! The scopes that a request needs, by its method and path. Admission asks here once; so does the MCP server, for each
//! route that a tool uses. A route that is not listed needs all scopes.

use ctx_team::{Scope, Scopes};
use http::Method;

/// Forwarding a request to a provider.
pub(crate) const FORWARD: Scopes = Scopes::only(Scope::Proxy);
/// Signing in on the page, which reads.
pub(crate) const SIGN_IN: Scopes = Scopes::only(Scope::Look);

const NONE: Scopes = Scopes::NONE;
const LOOK: Scopes = Scopes::only(Scope::Look);
const EDIT: Scopes = Scopes::only(Scope::Edit);
const ADMIN: Scopes = Scopes::only(Scope::Admin);

/// The routes of the control API that are read. `{…}` is one part of a path, `{*…}` the rest of it.
const READ: &[(Scopes, &[&str])] = &[
    // These concern no person.
    (NONE, &["/status", "/me", "/openapi.json", "/models", "/explain", "/explain/{name}", "/mcp"]),
    (
        LOOK,
        &[
            "/metrics",
            "/stats",
            "/search",
            "/events",
            "/helper",
            "/helper/jobs/{job}",
            "/conversations",
            "/conversations/{conversation}/frames",
            "/conversations/{conversation}/frames/{*id}",
            "/conversations/{conversation}/offloaded/{handle}",
            "/conversations/{conversation}/compose",
            "/conversations/{conversation}/requests/{request}",
            "/conversations/{conversation}/requests/{request}/body",
            "/conversations/{conversation}/explain",
            "/conversations/{conversation}/diff",
            "/conversations/{conversation}/history",
            "/conversations/{conversation}/branches",
            "/conversations/{conversation}/tags",
            "/conversations/{conversation}/waiting",
            "/conversations/{conversation}/context",
            "/conversations/{conversation}/worth",
            "/conversations/{conversation}/phases",
            "/conversations/{conversation}/export",
            "/conversations/{conversation}/map",
            "/conversations/{conversation}/timeline",
            "/conversations/{conversation}/misses",
            "/conversations/{conversation}/shares",
            "/shares",
            "/notices",
            "/keys",
            "/people",
            "/people/{person}/conversations",
            "/audit",
            "/logins/{code}",
        ],
    ),
];

/// The routes that change something.
const WRITTEN: &[(Scopes, &[&str])] = &[
    // Each tool needs the scopes of the routes that it uses.
    (NONE, &["/mcp"]),
    (
        EDIT,
        &[
            "/conversations/{conversation}/history",
            "/conversations/{conversation}/operations",
            "/conversations/{conversation}/plan",
            "/conversations/{conversation}/waiting/accept",
            "/conversations/{conversation}/waiting/cancel",
            "/conversations/{conversation}/waiting/{edit}/cancel",
            "/conversations/{conversation}/waiting/{edit}/accept",
            "/conversations/{conversation}/clear",
            "/conversations/{conversation}/phases",
            "/conversations/{conversation}/helper",
            "/conversations/{conversation}/heal",
            "/helper/test",
            "/helper/jobs/{job}/cancel",
            "/helper/jobs/{job}/retry",
            "/import",
            "/purge",
        ],
    ),
    (
        ADMIN,
        &[
            "/people",
            "/people/{person}",
            "/people/{person}/remove",
            "/people/{person}/conversations/{conversation}/open",
            "/keys",
            "/keys/{key}/revoke",
            "/logins/{code}/approve",
            "/logins/{code}/refuse",
            "/conversations/{conversation}/share",
            "/conversations/{conversation}/unshare",
        ],
    ),
];

/// The scopes for a path relative to `/control/v1`.
pub(crate) fn needed(method: &Method, path: &str) -> Scopes {
    let table = match *method {
        Method::GET | Method::HEAD => READ,
        Method::POST => WRITTEN,
        _ => &[],
    };
    let found = table.iter().find(|(_, routes)| routes.iter().any(|route| fits(route, path)));
    found.map_or(Scopes::ALL, |(scopes, _)| *scopes)
}

/// The key that a request revokes. Any key may end itself.
pub(crate) fn ended_key<'p>(method: &Method, path: &'p str) -> Option<&'p str> {
    let id = path.strip_prefix("/keys/")?.strip_suffix("/revoke")?;
    (*method == Method::POST && !id.contains('/')).then_some(id)
}

fn fits(route: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (route.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(rest), Some(part)) if rest.starts_with("{*") => return !part.is_empty(),
            (Some(any), Some(part)) if any.starts_with('{') && !part.is_empty() => {}
            (Some(wanted), Some(part)) if wanted == part => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_that_a_request_ends_is_in_its_path() {
        assert_eq!(ended_key(&Method::POST, "/keys/3f9a81c2/revoke"), Some("3f9a81c2"));
        for (method, path) in [
            (Method::GET, "/keys/3f9a81c2/revoke"),
            (Method::POST, "/keys/3f9a81c2"),
            (Method::POST, "/keys/3f9a81c2/x/revoke"),
            (Method::POST, "/keys"),
        ] {
            assert_eq!(ended_key(&method, path), None, "{method} {path}");
        }
    }

    #[test]
    fn a_path_needs_the_scope_of_its_route_and_an_unknown_one_all() {
        for (method, path, scopes) in [
            (Method::GET, "/conversations/anna%3Ac1/frames/t1/2", "look"),
            (Method::HEAD, "/conversations", "look"),
            (Method::POST, "/conversations/c1/operations", "edit"),
            (Method::POST, "/conversations/c1/waiting/w1/accept", "edit"),
            (Method::POST, "/keys", "admin"),
            (Method::POST, "/mcp", ""),
            (Method::GET, "/me", ""),
            (Method::GET, "/people/anna/unheard", "proxy, look, edit, admin"),
            (Method::POST, "/keys/", "proxy, look, edit, admin"),
            (Method::DELETE, "/keys", "proxy, look, edit, admin"),
            (Method::GET, "/conversations//frames", "proxy, look, edit, admin"),
        ] {
            assert_eq!(needed(&method, path).to_string(), scopes, "{method} {path}");
        }
    }
}
