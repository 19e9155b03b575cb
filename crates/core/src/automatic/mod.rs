//! The automatic editor, as far as it is pure: what somebody wants of it ([`settings`]), which results may go and in what
//! order ([`targets`]), and which never ([`artifacts`]). When it pays, a policy says.

pub mod artifacts;
pub mod settings;
pub mod targets;

pub use artifacts::{Artifact, Call};
pub use settings::{Budget, Layer, Mode, Settings};
pub use targets::Target;
