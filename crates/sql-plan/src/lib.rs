//! Names, types, index choice: from syntax tree to plan.
#![forbid(unsafe_code)]

pub mod error;
pub mod meta;
