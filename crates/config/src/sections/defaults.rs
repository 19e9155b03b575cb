//! The default of each key. A text in place of a number or a list describes the behaviour without one.

use serde_json::{Value, json};

use super::PROJECT_MEMBER;

/// All defaults, as in a file; `*` stands for a user-defined name.
pub fn defaults() -> Value {
    let (helper, moments) = (ctx_server::helper::Settings::default(), ctx_engine::Moments::default());
    let mut provider = json!({
        "enabled": false,
        "agents": "all",
        "clear_tool_uses": {
            "enabled": true,
            "trigger": "60%",
            "keep": 5,
            "clear_at_least": "enough to pay for the cache",
            "exclude_tools": "tools for memory, skills and todos",
            "clear_tool_inputs": false,
        },
        "clear_thinking": {"enabled": true, "keep": "all"},
        "compact": {"enabled": false, "trigger": "80%"},
    });
    provider[PROJECT_MEMBER] = json!({"*": provider.clone()});
    let mut context_editing = serde_json::to_value(ctx_clients::editor_settings()).unwrap_or_default();
    context_editing["provider"] = provider;
    json!({
        "context_editing": context_editing,
        "listen": {
            "address": crate::DEFAULT_LISTEN,
            "allow_remote": false,
            "tls_certificate": "none",
            "tls_key": "none",
            "public_url": "none",
            "metrics": "none",
            "drain_seconds": 0,
        },
        "upstream": {"url": crate::DEFAULT_UPSTREAM, "ca_files": [], "http2": true, "websocket": true},
        "store": {"url": "a file in the home", "password_file": "none"},
        "team": {
            "enabled": false,
            "credentials": "own",
            "keys": [],
            "subscriptions": "refuse",
            "reads_back": "mcp",
            "idle_minutes": 15,
            "oidc": {
                "issuer": "none",
                "client_id": "none",
                "client_secret_file": "none",
                "client_secret_env": "none",
                "label": "the host of the issuer",
                "scopes": ["openid", "profile", "email"],
                "name_claim": "preferred_username",
                "trust_unverified_email": false,
                "groups_claim": "none",
                "allowed_groups": [],
                "admin_groups": [],
                "auditor_groups": [],
                "unknown_people": "refuse",
                "session_hours": 12,
                "jwt_audience": "none",
            },
        },
        "retention": {"content_days": "for ever", "figures_days": "for ever", "edited": false},
        "offload": {"folder": "offload in the home"},
        "mcp": {"read_only": false, "allow": "all operations"},
        "helper": {
            "provider": "none",
            "budget_per_day": helper.budget_per_day,
            "timeout": helper.timeout.as_secs(),
            "max_chars": helper.max_chars,
            "titles": false,
            "phases": false,
        },
        "edits": {"near_limit_percent": moments.near_limit_percent, "cache_seconds": "the provider's own"},
    })
}
