//! Scopes of keys. A scope narrows the rights of its person's role, and never widens them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Requests to providers.
    Proxy,
    /// Reading.
    Look,
    /// Changing conversations.
    Edit,
    /// Changing people, keys and shares, and opening the conversations of others.
    Admin,
}

impl Scope {
    pub const ALL: [Scope; 4] = [Scope::Proxy, Scope::Look, Scope::Edit, Scope::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Self::Proxy => "proxy",
            Self::Look => "look",
            Self::Edit => "edit",
            Self::Admin => "admin",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.name() == text);
        found.ok_or_else(|| format!("`{text}` is no scope; use proxy, look, edit or admin"))
    }
}

/// A set of scopes. Stored and shown as a list of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    pub const NONE: Scopes = Scopes(0);
    /// The scopes of a key that is not limited.
    pub const ALL: Scopes = Scopes(0b1111);

    pub const fn only(scope: Scope) -> Scopes {
        Scopes(scope.bit())
    }

    /// The scopes of a key for these uses. Edits show what they change, so `edit` includes `look`.
    pub fn of(scopes: impl IntoIterator<Item = Scope>) -> Scopes {
        let bits = scopes.into_iter().fold(0, |bits, scope| match scope {
            Scope::Edit => bits | Scope::Edit.bit() | Scope::Look.bit(),
            other => bits | other.bit(),
        });
        Scopes(bits)
    }

    /// The scopes that are here and not in `others`.
    pub fn without(self, others: Scopes) -> Scopes {
        Scopes(self.0 & !others.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn is_all(&self) -> bool {
        *self == Self::ALL
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Scope::ALL.into_iter().filter(move |scope| self.0 & scope.bit() != 0).map(Scope::name)
    }
}

/// A key without stored scopes is not limited.
impl Default for Scopes {
    fn default() -> Self {
        Self::ALL
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(", "))
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        let scopes = names.iter().map(|name| name.parse::<Scope>()).collect::<Result<Vec<_>, _>>();
        Ok(Self::of(scopes.map_err(serde::de::Error::custom)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_stored_by_name_and_an_unknown_one_is_an_error() {
        let scopes = Scopes::of([Scope::Edit, Scope::Proxy]);
        let json = serde_json::to_string(&scopes).expect("JSON");
        assert_eq!(json, r#"["proxy","look","edit"]"#);
        assert_eq!(serde_json::from_str::<Scopes>(&json).expect("scopes"), scopes);
        assert!(serde_json::from_str::<Scopes>(r#"["proxy","everything"]"#).is_err());
    }

    #[test]
    fn a_set_lacks_what_it_does_not_name() {
        let (all, look) = (Scopes::ALL, Scopes::only(Scope::Look));
        assert!(look.without(all).is_empty() && all.is_all() && !look.is_all());
        assert_eq!(all.without(look).to_string(), "proxy, edit, admin");
        assert_eq!(Scopes::of(Scope::ALL), Scopes::default());
    }
}
