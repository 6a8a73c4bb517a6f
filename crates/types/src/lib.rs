//! SQL values: numbers, decimals, strings, temporal types, and MariaDB's conversions between them.
//!
//! # Invariants
//! T1. A [`Value`] is 32 bytes; strings to 28 bytes are inline, longer ones are shared, so a clone never copies text.
//! T2. Everything a conversion loses is told through [`Context::warn`]; numbers and texts of warnings are the business of
//!     `client-error`.
//! T3. Nothing here panics on any input.
#![forbid(unsafe_code)]

mod compare;
mod context;
mod convert;
mod decimal;
mod fixed;
pub mod number;
pub mod ops;
pub mod temporal;
mod text;
mod value;

pub use compare::{CompareAs, compare, compare_as};
pub use context::{Context, Random, SqlMode, TypeName, ValueError, Warning};
pub use convert::{Class, interval_of, literal_number};
pub use decimal::{Decimal, MAX_PRECISION, MAX_SCALE, Overflow, Parsed, Rounding};
pub use fixed::{Fixed, FixedKind};
pub use temporal::{Date, DateTime, Interval, IntervalUnit, Time, Timestamp};
pub use text::Str;
pub use value::{EnumValue, Value};
