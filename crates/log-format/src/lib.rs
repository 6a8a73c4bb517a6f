//! Log segments, frames and records: a pure codec (docs/design/core.md, sections 1 and 2).
#![forbid(unsafe_code)]

pub mod context;
pub mod definition;
pub mod frame;
pub mod record;
pub mod segment;
pub mod text;
