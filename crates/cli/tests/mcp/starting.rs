//! Without a daemon, the server starts one or reports the reason.

use serde_json::json;

use crate::place::{Place, provider, until};
use crate::speaker::Speaker;

#[test]
fn the_daemon_is_started_when_none_is_up() {
    let (place, provider) = (Place::new(), provider());
    let url = provider.url();
    let mut agent = Speaker::start(place.ctx(&["mcp", "--listen", "127.0.0.1:0", "--upstream", &url]));
    until("the daemon is up before anything is asked", || place.notice());
    agent.refuses("ctx_list", json!({}), "no-conversation");
    let status = place.run(&["status", "--json"]).ok().json();
    assert_eq!(status["upstream"].as_str().map(|given| given.trim_end_matches('/')), Some(url.trim_end_matches('/')));
    place.run(&["stop"]).ok();
    until("it is gone", || place.notice().is_none().then_some(()));
    agent.refuses("ctx_list", json!({}), "no-conversation");
    place.run(&["stop"]).ok();
}

#[test]
fn when_it_cannot_be_started_every_call_says_why() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let mut command = place.ctx(&["mcp"]);
    command.env("CTX_LISTEN", &address);
    let mut agent = Speaker::start(command);
    let refused = agent.refused("ctx_list", json!({}));
    assert!(
        ["port-taken", "not-a-daemon", "no-daemon"].contains(&refused["code"].as_str().expect("a code")),
        "{refused}"
    );
    assert_eq!(agent.tool_names().len(), 10, "it goes on");
    assert_eq!(agent.leave(), Some(0));
}

#[test]
fn nobody_who_speaks_is_told_who_should() {
    let place = Place::new();
    let ran = place.run(&["mcp"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.err.contains("claude mcp add ctx -- ctx mcp"), "{ran:?}");
    assert!(!place.home().exists(), "and nothing was started for them");
}
