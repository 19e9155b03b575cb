//! Every key of `ctx.toml`: one struct per section, every key optional. The doc comment of a field is its help and its
//! description in the JSON schema; the attributes define the allowed values. Keys are listed nowhere else.

mod context_editing;
mod daemon;
mod defaults;
mod models;
mod provider;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

pub use self::context_editing::{AttentionBudget, ContextEditing, CutsSection, DietSection, Patterns, TrimsSection};
pub use self::daemon::{
    Edits, Helper, Listen, Mcp, Offload, OidcKeys, RetentionKeys, StoreKeys, TeamKeys, UpstreamKeys, Upstreams,
};
pub use self::defaults::defaults;
pub use self::models::ModelKeys;
pub use self::provider::{PROJECT_MEMBER, ProviderEditing};

/// All keys are optional.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    pub context_editing: ContextEditing,
    pub listen: Listen,
    pub upstream: Upstreams,
    pub store: StoreKeys,
    pub team: TeamKeys,
    pub retention: RetentionKeys,
    pub offload: Offload,
    pub mcp: Mcp,
    pub helper: Helper,
    pub edits: Edits,
    pub models: BTreeMap<String, ModelKeys>,
}
