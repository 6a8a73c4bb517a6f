//! SQL values: numbers, decimals, strings, temporal types, and MariaDB's conversions between them.
//!
//! # Invariants
//! T1. A [`Value`] is 32 bytes; strings to 28 bytes are inline, longer ones are shared, so a clone never copies text.
//! T2. Everything a conversion loses is told through [`Context::warn`]; numbers and texts of warnings are the business of
//!     `client-error`.
//! T3. Nothing here panics on any input.
#![forbid(unsafe_code)]

mod context;
mod decimal;
mod temporal;
mod text;
mod value;

pub use context::{Context, SqlMode, TypeName, ValueError, Warning};
pub use decimal::Decimal;
pub use temporal::{Date, DateTime, Time, Timestamp};
pub use text::Str;
pub use value::{EnumValue, Value};
