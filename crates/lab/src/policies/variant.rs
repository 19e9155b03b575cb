//! The automatic editor with other parameters, for comparison: `auto:gain=3:stub.names=20`.

use ctx_core::policy::{Auto, Cuts, Look, Policy, Proposal, Rules, Settings, Trims};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The automatic editor with other parameters.
pub struct Variant {
    name: String,
    parameters: Parameters,
}

/// All that can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Parameters {
    #[serde(flatten)]
    rules: Rules,
    trims: Trims,
    cuts: Cuts,
}

impl Variant {
    /// With these parameters, each as `NAME=VALUE`, separated by colons. The error lists the names.
    pub fn of(name: &str, changes: &str) -> Result<Variant, String> {
        let Settings { rules, trims, cuts, .. } = Settings::default();
        let shipped = Parameters { rules, trims, cuts };
        Ok(Variant { name: name.to_owned(), parameters: changed(&shipped, "auto", changes)? })
    }
}

/// The parameters of a policy with these changes, each as `NAME=VALUE`, separated by colons. The error lists the names.
pub fn changed<P: Serialize + DeserializeOwned>(parameters: &P, policy: &str, changes: &str) -> Result<P, String> {
    let mut all = serde_json::to_value(parameters).unwrap_or_default();
    for change in changes.split(':') {
        let set = change.split_once('=').and_then(|(key, value)| {
            let value: Value = serde_json::from_str(value).ok()?;
            *all.pointer_mut(&format!("/{}", key.replace('.', "/"))).filter(|old| !old.is_object())? = value;
            Some(())
        });
        if set.is_none() {
            return Err(format!("parameters of `{policy}`: {}", names("", &all).join(", ")));
        }
    }
    serde_json::from_value(all).map_err(|error| error.to_string())
}

/// The names of all parameters.
fn names(start: &str, value: &Value) -> Vec<String> {
    let of = |(key, value): (&String, &Value)| match value.is_object() {
        true => names(&format!("{start}{key}."), value),
        false => vec![format!("{start}{key}")],
    };
    value.as_object().into_iter().flatten().flat_map(of).collect()
}

impl Policy for Variant {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        "`auto` with other parameters"
    }

    fn propose(&self, look: &Look) -> Vec<Proposal> {
        Auto(self.parameters.rules).propose(look)
    }

    fn editor(&self, settings: Settings) -> Option<Settings> {
        let Parameters { rules, trims, cuts } = self.parameters;
        Some(Settings { rules, trims, cuts, ..settings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_has_the_named_parameters_and_else_the_shipped_ones() {
        let variant = Variant::of("it", "gain=3:stub.names=20:cuts.build=900:trims.views=false").expect("a variant");
        let settings = variant.editor(Settings::default()).expect("settings");
        assert_eq!((settings.rules.gain, settings.rules.stub.names, settings.cuts.build), (3.0, 20, 900));
        assert_eq!(settings.trims, Trims { views: false, ..Trims::default() });
        let (rules, cuts) = (Rules::default(), Settings::default().cuts);
        let back = Rules { gain: rules.gain, stub: rules.stub, ..settings.rules };
        assert_eq!((back, Cuts { build: cuts.build, ..settings.cuts }), (rules, cuts));
    }

    #[test]
    fn an_unknown_parameter_is_refused_with_the_known_ones() {
        for wrong in ["gian=3", "gain", "gain=", "stub=3", "gain=\"x\"", ""] {
            let why = Variant::of("auto", wrong).err().expect(wrong);
            assert!(why.contains("stub.names") || why.contains("invalid"), "{wrong}: {why}");
        }
    }
}
