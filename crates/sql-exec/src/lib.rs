//! Runs plans.
#![forbid(unsafe_code)]

mod outcome;
mod sink;

pub use outcome::Outcome;
pub use sink::{RowSink, SinkClosed};
