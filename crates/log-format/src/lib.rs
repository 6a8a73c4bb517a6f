//! Log segments, frames and records: a pure codec.
