//! What a conversion needs to know of its session, and what it tells back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use charset::Collation;
use jiff::tz::TimeZone;

/// The parts of `sql_mode` that values depend on; bits are MariaDB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SqlMode(pub u64);

impl SqlMode {
    pub const REAL_AS_FLOAT: u64 = 1;
    pub const PIPES_AS_CONCAT: u64 = 2;
    pub const ANSI_QUOTES: u64 = 4;
    pub const IGNORE_SPACE: u64 = 8;
    pub const ONLY_FULL_GROUP_BY: u64 = 1 << 5;
    pub const NO_UNSIGNED_SUBTRACTION: u64 = 1 << 6;
    pub const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
    pub const STRICT_TRANS_TABLES: u64 = 1 << 21;
    pub const STRICT_ALL_TABLES: u64 = 1 << 22;
    pub const NO_ZERO_IN_DATE: u64 = 1 << 23;
    pub const NO_ZERO_DATE: u64 = 1 << 24;
    pub const ALLOW_INVALID_DATES: u64 = 1 << 25;
    pub const ERROR_FOR_DIVISION_BY_ZERO: u64 = 1 << 26;
    pub const NO_AUTO_CREATE_USER: u64 = 1 << 28;
    pub const NO_ENGINE_SUBSTITUTION: u64 = 1 << 30;
    pub const PAD_CHAR_TO_FULL_LENGTH: u64 = 1 << 31;
    pub const TIME_ROUND_FRACTIONAL: u64 = 1 << 34;

    /// 11.8's default.
    pub const DEFAULT: Self = Self(
        Self::STRICT_TRANS_TABLES | Self::ERROR_FOR_DIVISION_BY_ZERO | Self::NO_ENGINE_SUBSTITUTION | 1 << 28,
    );

    pub const fn has(self, bit: u64) -> bool {
        self.0 & bit != 0
    }
    pub const fn strict(self) -> bool {
        self.has(Self::STRICT_TRANS_TABLES | Self::STRICT_ALL_TABLES)
    }
}

/// The type a text could not be read as, in the words of messages 1292 and 1366.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeName {
    Integer,
    Double,
    Decimal,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Boolean,
    Str,
    Fixed(crate::FixedKind),
}

impl TypeName {
    pub const fn text(self) -> &'static str {
        match self {
            Self::Integer => "INTEGER",
            Self::Double => "DOUBLE",
            Self::Decimal => "DECIMAL",
            Self::Date => "date",
            Self::Time => "time",
            Self::DateTime => "datetime",
            Self::Timestamp => "timestamp",
            Self::Year => "year",
            Self::Boolean => "BOOLEAN",
            Self::Str => "string",
            Self::Fixed(kind) => kind.name(),
        }
    }
}

/// Something lost or wrong that does not stop the statement by itself. `column`-less: the caller knows column and row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// 1292 Truncated incorrect %s value: '%s' — a text read as a number or temporal value in an expression.
    TruncatedWrongValue {
        as_type: TypeName,
        text: String,
    },
    /// 1292/1411 Incorrect %s value: '%s' [for function %s].
    IncorrectValue {
        as_type: TypeName,
        text: String,
    },
    /// 1265 Data truncated for column: digits or text were cut off.
    Truncated,
    /// 1264 Out of range value for column.
    OutOfRange,
    /// 1366 Incorrect %s value: '%s' for column.
    IncorrectForColumn {
        as_type: TypeName,
        text: String,
    },
    /// 1406 Data too long for column (an error when strict, else reported as truncation 1265).
    TooLong,
    /// 1048/1263 NULL in a NOT NULL column.
    NullToNotNull,
    /// 1365 Division by 0.
    DivisionByZero,
    /// 1441 Datetime function: %s field overflow.
    DatetimeOverflow {
        function: &'static str,
    },
    /// 1300 Invalid %s character string: '%s'.
    InvalidString {
        charset: charset::Charset,
        text: String,
    },
    /// 3719-like notes and others that carry their whole text: 1260 GROUP_CONCAT cut, 1301 result larger than max_allowed_packet.
    ResultTooLarge {
        function: &'static str,
        limit: u64,
    },
    GroupConcatCut {
        row: u64,
    },
    /// 1916 Got overflow when converting '%s' to %s. Value truncated.
    CastOverflow {
        text: String,
        as_type: &'static str,
        /// A double's: nothing that strict mode minds.
        note: bool,
    },
    /// A warning with a number and text of its own (4035 and up: JSON).
    Numbered {
        errno: u16,
        text: String,
    },
    /// A note with a number and text of its own.
    Noted {
        errno: u16,
        text: String,
    },
    /// 1105 Cast to signed converted positive out-of-range integer to its negative complement, or the reverse.
    CastToSigned,
    CastToUnsigned,
    /// 1411 Incorrect %s value: '%s' for function %s.
    WrongForFunction {
        what: &'static str,
        text: String,
        function: &'static str,
    },
}

impl Warning {
    /// A note: strict mode makes no error of it.
    pub fn is_note(&self) -> bool {
        matches!(
            self,
            Self::CastToSigned
                | Self::CastToUnsigned
                | Self::Noted { .. }
                | Self::CastOverflow { note: true, .. }
        )
    }
}

/// An expression that has no value: the statement stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueError {
    /// 1690 %s value is out of range in '%s': the type; the caller knows the expression's text.
    OutOfRange { type_name: &'static str },
    /// 1267 Illegal mix of collations.
    IllegalMix { operation: &'static str },
    /// 1582 Incorrect parameter count in the call to native function.
    WrongArgCount { function: String },
    /// 4079 Illegal parameter data type %s for operation '%s'.
    IllegalType { type_name: &'static str, operation: &'static str },
    /// 1210 Incorrect arguments to %s.
    WrongArguments { function: &'static str },
    /// A strict statement that turns a warning into an error.
    Strict(Warning),
    /// 1365 Division by 0 under ERROR_FOR_DIVISION_BY_ZERO and strict mode in DML.
    DivisionByZero,
    /// 1139 Got error from regexp.
    Regexp { text: String },
    /// The session was killed or timed out inside a long function.
    Interrupted,
    /// This build does not have it.
    NotSupported { what: String },
}

/// MariaDB's generator behind RAND(): two numbers below 2^30 - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Random {
    pub seed1: u32,
    pub seed2: u32,
}

impl Random {
    const LIMIT: u64 = 0x3fff_ffff;

    /// RAND(n).
    pub fn seeded(n: u32) -> Self {
        let low = |v: u64| (v as u32 as u64 % Self::LIMIT) as u32;
        let n = n as u64;
        Self { seed1: low(n * 0x1_0001 + 55_555_555), seed2: low(n * 0x1000_0001) }
    }

    /// The next number, from 0 to below 1.
    pub fn draw(&mut self) -> f64 {
        let first = (u64::from(self.seed1) * 3 + u64::from(self.seed2)) % Self::LIMIT;
        let second = (first + u64::from(self.seed2) + 33) % Self::LIMIT;
        (self.seed1, self.seed2) = (first as u32, second as u32);
        first as f64 / Self::LIMIT as f64
    }
}

/// Settings of the session that evaluates, and the warnings it gathers.
#[derive(Debug, Clone)]
pub struct Context {
    pub sql_mode: SqlMode,
    pub div_precision_increment: u8,
    pub time_zone: TimeZone,
    /// Start of the statement, microseconds since 1970 UTC: NOW().
    pub now_micros: i64,
    pub max_allowed_packet: u64,
    /// Collation of texts made from numbers and temporal values (`collation_connection`).
    pub collation: Collation,
    /// Of RAND() without a seed; lives as long as the session.
    pub random: Random,
    /// Of each RAND(seed) of the statement; emptied when a statement starts.
    pub seeded: Vec<(u32, Random)>,
    /// Set when the statement must stop: a kill or a time limit. Long functions look at it.
    pub interrupted: Option<Arc<AtomicBool>>,
    pub warnings: Vec<Warning>,
    /// Warnings beyond this are counted, not kept (`max_error_count`).
    pub max_warnings: usize,
    pub warning_count: u64,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            sql_mode: SqlMode::DEFAULT,
            div_precision_increment: 4,
            time_zone: TimeZone::UTC,
            now_micros: 0,
            max_allowed_packet: 16 << 20,
            collation: Collation::UTF8MB4_UCA1400_AI_CI,
            random: Random::seeded(1),
            seeded: Vec::new(),
            interrupted: None,
            warnings: Vec::new(),
            max_warnings: 64,
            warning_count: 0,
        }
    }
}

impl Context {
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    pub fn warn(&mut self, warning: Warning) {
        self.warning_count += 1;
        if self.warnings.len() < self.max_warnings {
            self.warnings.push(warning);
        }
    }
}
