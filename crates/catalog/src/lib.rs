//! Data dictionary and metadata locks.
