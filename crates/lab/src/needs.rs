//! What later steps relied on.
