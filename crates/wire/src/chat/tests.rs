//! The wire on small requests.
