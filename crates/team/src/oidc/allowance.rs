//! The accounts that admins allow before they first sign in.

use super::Subject;

/// An account that an admin allows for a person.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AllowedAccount {
    /// The provider's own, unchanging id.
    Id(String),
    /// An address that the provider vouches for.
    Address(String),
    /// The claim with the name. At many providers people choose it, so only an explicit `name:` allows it.
    Name(String),
}

impl AllowedAccount {
    /// An address contains `@`; other texts without a prefix are ids, so that no name is taken for either.
    pub(crate) fn of(text: &str) -> AllowedAccount {
        match (text.strip_prefix("name:"), text.strip_prefix("id:")) {
            (Some(name), _) => Self::Name(name.trim().to_owned()),
            (_, Some(id)) => Self::Id(id.trim().to_owned()),
            _ if text.contains('@') => Self::Address(text.to_owned()),
            _ => Self::Id(text.to_owned()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let (Self::Id(text) | Self::Address(text) | Self::Name(text)) = self;
        text.is_empty()
    }

    pub(crate) fn fits(&self, subject: &Subject) -> bool {
        match self {
            Self::Id(id) => subject.id == *id,
            Self::Address(address) => subject.address.as_ref() == Some(address),
            Self::Name(name) => subject.name.as_ref() == Some(name),
        }
    }
}
