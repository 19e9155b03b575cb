//! Leaves the clearing to the provider, which [`crate::provider_clearing`] simulates.

use super::variant::changed;
use crate::provider_clearing::ProviderClearing;
use ctx_core::policy::{Look, Policy, Proposal};

/// The provider's clearing, with the settings of one of its names.
pub struct Provider {
    name: String,
    about: &'static str,
}

/// The names, their settings and what these do.
const NAMED: [(&str, ProviderClearing, &str); 3] = [
    (
        "provider",
        ProviderClearing::RESULTS,
        "the provider itself clears tool results, with its defaults: from 100,000 tokens, all but the newest 3",
    ),
    (
        "provider-ctx",
        ProviderClearing::BY_CTX,
        "the same as `ctx` requests it: from 60 % of the window, all but the newest 5, only as much as pays off",
    ),
    ("provider-thinking", ProviderClearing::THINKING, "the provider itself clears thinking of earlier turns"),
];

impl Provider {
    /// All of them with their own settings.
    pub fn all() -> impl Iterator<Item = Provider> {
        NAMED.into_iter().map(|(name, _, about)| Provider { name: name.to_owned(), about })
    }

    /// With this name, or a variant of it, such as `provider:keep=5`. `None`: another policy.
    pub fn named(name: &str) -> Option<Result<Provider, String>> {
        let (_, _, about) = known(name)?;
        Some(clearing(name)?.map(|_| Provider { name: name.to_owned(), about }))
    }
}

/// The clearing that a policy of this name leaves to the provider.
pub fn clearing(name: &str) -> Option<Result<ProviderClearing, String>> {
    let (base, settings, _) = known(name)?;
    Some(match name.split_once(':') {
        Some((_, changes)) => changed(&settings, base, changes),
        None => Ok(settings),
    })
}

fn known(name: &str) -> Option<(&'static str, ProviderClearing, &'static str)> {
    let base = name.split_once(':').map_or(name, |(base, _)| base);
    NAMED.into_iter().find(|(known, _, _)| *known == base)
}

impl Policy for Provider {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    /// The request leaves as it came.
    fn propose(&self, _: &Look) -> Vec<Proposal> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_has_the_named_settings_and_else_its_own() {
        let keep = |name: &str| clearing(name).expect("known").expect("settings").keep;
        assert_eq!([keep("provider"), keep("provider-ctx"), keep("provider-ctx:keep=9")], [3, 5, 9]);
        assert!(Provider::named("auto:gain=3").is_none() && clearing("provide").is_none());
        let why = Provider::named("provider:kept=9").expect("known").err().expect("refused");
        assert!(why.contains("`provider`") && why.contains("by_message"), "{why}");
    }
}
