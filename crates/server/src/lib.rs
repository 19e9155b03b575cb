//! (see docs/ARCHITECTURE.md)
