//! Names, types, index choice: from syntax tree to plan.

pub mod error;
