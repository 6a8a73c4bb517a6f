//! SQL's scalar functions: a registry of pure functions over values.
//!
//! [`find`] gives a [`Function`]: how many arguments, the type of its result, and the evaluator. What depends on the session (DATABASE(),
//! LAST_INSERT_ID(), ...) and what is syntax (IF, CASE, CAST, COALESCE) is not here.
//!
//! # Conventions
//! F1. A NULL argument gives NULL unless the function's page says otherwise.
//! F2. A unit (`DATE_ADD`, `EXTRACT`, `TIMESTAMPDIFF`, ...) is an argument: its number, [`unit_number`].
//! F3. Texts of several arguments meet in one collation at run time: `binary` if any is binary, else the one whose character set holds
//!     all others. The planner, which knows which argument is a literal, puts the result into the collation of the static type.
#![forbid(unsafe_code)]

mod arguments;
mod calendar;
mod crypt;
mod date_format;
mod date_parse;
mod digest;
mod encode;
pub mod json;
mod locale;
mod math;
mod misc;
mod now;
mod numeric;
mod pad;
mod regexp;
mod registry;
mod search;
mod sformat;
mod substring;
mod text;
mod to_char;
mod ty;

pub use registry::{Function, find, names};
pub use ty::{Arg, NOT_FIXED, Type};

use types::IntervalUnit;

/// The number that stands for a unit in an argument list.
pub fn unit_number(unit: IntervalUnit) -> i64 {
    IntervalUnit::ALL.iter().position(|u| *u == unit).unwrap_or(0) as i64
}
