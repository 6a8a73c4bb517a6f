//! Data dictionary and metadata locks.
#![forbid(unsafe_code)]

pub mod mdl;
