//! engine
pub(crate) mod barrier;
pub mod control;
pub mod error;
