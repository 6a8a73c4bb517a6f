//! One SQL value.

use charset::Collation;

use crate::{Date, DateTime, Decimal, Fixed, Str, Time, Timestamp};

/// A value of any SQL type. 32 bytes.
#[derive(Debug, Clone, Default)]
pub enum Value {
    #[default]
    Null,
    Int(i64),
    UInt(u64),
    /// A FLOAT column's value: printed with fewer digits, computed as a double.
    Float(f32),
    Double(f64),
    Decimal(Box<Decimal>),
    Str(Str),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// A TIMESTAMP column's value; becomes a DateTime in the session's time zone when used.
    Timestamp(Timestamp),
    Year(u16),
    /// A BIT column's value: a number in numbers' company, a byte string of `(bits + 7) / 8` bytes otherwise.
    Bit {
        value: u64,
        bits: u8,
    },
    /// An ENUM or SET column's value.
    Enum(Box<EnumValue>),
    /// UUID, INET4, INET6: compared as bytes, shown as text.
    Fixed(Fixed),
}

/// A member (or set of members) of an ENUM or SET: sorts and counts by number, shows as text.
#[derive(Debug, Clone, PartialEq)]
pub struct EnumValue {
    pub number: u64,
    pub text: Str,
}

const _: () = assert!(size_of::<Value>() == 32);

impl Value {
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
    pub fn str(bytes: &[u8], collation: Collation) -> Self {
        Self::Str(Str::new(bytes, collation))
    }
    pub fn utf8(text: &str) -> Self {
        Self::Str(Str::utf8(text))
    }
    /// SQL's truth values are integers.
    pub const fn bool(v: bool) -> Self {
        Self::Int(v as i64)
    }
}

impl From<Decimal> for Value {
    fn from(d: Decimal) -> Self {
        Self::Decimal(Box::new(d))
    }
}
