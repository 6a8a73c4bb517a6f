//! The static type of an expression, and what a client is told of a result column.

use charset::Collation;
use types::FixedKind;

/// Protocol type codes of result columns; the numbers are MariaDB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FieldType {
    Decimal = 246,
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    Bit = 16,
    /// ENUM and SET columns are sent as strings with a flag.
    Enum = 247,
    Set = 248,
    Blob = 252,
    VarString = 253,
    String = 254,
    /// These are sent as strings.
    Uuid = 201,
    Inet4 = 202,
    Inet6 = 203,
}

impl FieldType {
    pub const fn is_integer(self) -> bool {
        matches!(
            self,
            Self::Tiny | Self::Short | Self::Long | Self::LongLong | Self::Int24 | Self::Year | Self::Bit
        )
    }
    pub const fn is_real(self) -> bool {
        matches!(self, Self::Float | Self::Double)
    }
    pub const fn is_numeric(self) -> bool {
        self.is_integer() || self.is_real() || matches!(self, Self::Decimal)
    }
    pub const fn is_temporal(self) -> bool {
        matches!(self, Self::Date | Self::Time | Self::DateTime | Self::Timestamp)
    }
    pub const fn is_text(self) -> bool {
        matches!(self, Self::VarString | Self::String | Self::Blob | Self::Enum | Self::Set)
            || self.fixed().is_some()
    }
    /// UUID, INET4, INET6.
    pub const fn fixed(self) -> Option<FixedKind> {
        match self {
            Self::Uuid => Some(FixedKind::Uuid),
            Self::Inet4 => Some(FixedKind::Inet4),
            Self::Inet6 => Some(FixedKind::Inet6),
            _ => None,
        }
    }
    pub const fn of_fixed(kind: FixedKind) -> Self {
        match kind {
            FixedKind::Uuid => Self::Uuid,
            FixedKind::Inet4 => Self::Inet4,
            FixedKind::Inet6 => Self::Inet6,
        }
    }
    /// The code that goes over the wire.
    pub const fn code(self) -> u8 {
        match self {
            Self::Enum | Self::Set | Self::Uuid | Self::Inet4 | Self::Inet6 => Self::String as u8,
            other => other as u8,
        }
    }
    /// The type's name in "Illegal parameter data types int and row ..." and the like.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decimal => "decimal",
            Self::Tiny => "tinyint",
            Self::Short => "smallint",
            Self::Long => "int",
            Self::Float => "float",
            Self::Double => "double",
            Self::Null => "null",
            Self::Timestamp => "timestamp",
            Self::LongLong => "bigint",
            Self::Int24 => "mediumint",
            Self::Date => "date",
            Self::Time => "time",
            Self::DateTime => "datetime",
            Self::Year => "year",
            Self::Bit => "bit",
            Self::Enum => "enum",
            Self::Set => "set",
            Self::Blob => "blob",
            Self::VarString => "varchar",
            Self::String => "char",
            Self::Uuid => "uuid",
            Self::Inet4 => "inet4",
            Self::Inet6 => "inet6",
        }
    }
}

/// Which collation wins when two texts meet; lower wins (MariaDB's COERCIBILITY()).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Coercibility {
    Explicit = 0,
    None = 1,
    Implicit = 2,
    SysConst = 3,
    Coercible = 4,
    Numeric = 5,
    Ignorable = 6,
}

/// `decimals` of a value whose number of decimals is not fixed.
pub const NOT_FIXED_DECIMALS: u8 = 39;
/// The most decimals that a FLOAT or DOUBLE shows.
const REAL_DECIMALS_MAX: u8 = 30;

/// Static type of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExprType {
    pub field: FieldType,
    /// Characters a client needs to show it.
    pub length: u32,
    pub decimals: u8,
    pub unsigned: bool,
    pub nullable: bool,
    pub collation: Collation,
    pub coercibility: Coercibility,
    pub nature: Nature,
}

/// What a value is beside its type; decides how JSON functions take it in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nature {
    #[default]
    Plain,
    /// A truth value.
    Boolean,
    /// A text that is JSON by its making.
    Json,
}

impl ExprType {
    const fn number(field: FieldType, length: u32, decimals: u8) -> Self {
        Self {
            field,
            length,
            decimals,
            unsigned: false,
            nullable: true,
            collation: Collation::BINARY,
            coercibility: Coercibility::Numeric,
            nature: Nature::Plain,
        }
    }
    pub const fn bigint() -> Self {
        Self::number(FieldType::LongLong, 21, 0)
    }
    pub const fn int(length: u32) -> Self {
        Self::number(FieldType::Long, length, 0)
    }
    /// Comparisons and logic.
    pub const fn boolean() -> Self {
        let mut ty = Self::int(1);
        ty.nature = Nature::Boolean;
        ty
    }
    pub const fn double() -> Self {
        Self::number(FieldType::Double, 23, NOT_FIXED_DECIMALS)
    }
    pub const fn decimal(precision: u32, decimals: u8) -> Self {
        let point = if decimals > 0 { 1 } else { 0 };
        Self::number(FieldType::Decimal, precision + point + 1, decimals)
    }
    pub const fn null() -> Self {
        Self {
            field: FieldType::Null,
            length: 0,
            decimals: 0,
            unsigned: false,
            nullable: true,
            collation: Collation::BINARY,
            coercibility: Coercibility::Ignorable,
            nature: Nature::Plain,
        }
    }
    pub const fn text(length: u32, collation: Collation, coercibility: Coercibility) -> Self {
        Self {
            field: FieldType::VarString,
            length,
            decimals: NOT_FIXED_DECIMALS,
            unsigned: false,
            nullable: true,
            collation,
            coercibility,
            nature: Nature::Plain,
        }
    }
    /// A floating number that shows so many decimals, as far as there is such a number.
    #[must_use]
    pub const fn with_decimals(mut self, decimals: u8) -> Self {
        self.decimals = if decimals > REAL_DECIMALS_MAX { NOT_FIXED_DECIMALS } else { decimals };
        self
    }
    #[must_use]
    pub const fn not_null(mut self) -> Self {
        self.nullable = false;
        self
    }
    #[must_use]
    pub const fn nullable(mut self, nullable: bool) -> Self {
        self.nullable = nullable;
        self
    }
    #[must_use]
    pub const fn unsigned(mut self) -> Self {
        self.unsigned = true;
        self
    }
    /// Digits before and after the point that a decimal of this value needs.
    pub fn precision(&self) -> (u32, u8) {
        let sign = u32::from(!self.unsigned);
        match self.field {
            FieldType::Decimal => {
                let point = u32::from(self.decimals > 0);
                ((self.length.saturating_sub(sign + point)).max(1), self.decimals)
            }
            FieldType::LongLong => (if self.unsigned { 20 } else { 19 }.min(self.length.max(1)), 0),
            // A literal's length is its digits, a column's may be less than what it holds.
            FieldType::Tiny => (3, 0),
            FieldType::Short => (5, 0),
            FieldType::Int24 => (8 - sign, 0),
            FieldType::Long => (self.length.clamp(1, 10), 0),
            _ => (self.length.saturating_sub(sign).clamp(1, 20), 0),
        }
    }
}

/// Column flags of the protocol.
pub mod flags {
    pub const NOT_NULL: u16 = 1;
    pub const PRI_KEY: u16 = 2;
    pub const UNIQUE_KEY: u16 = 4;
    pub const MULTIPLE_KEY: u16 = 8;
    pub const BLOB: u16 = 16;
    pub const UNSIGNED: u16 = 32;
    pub const ZEROFILL: u16 = 64;
    pub const BINARY: u16 = 128;
    pub const ENUM: u16 = 256;
    pub const AUTO_INCREMENT: u16 = 512;
    pub const TIMESTAMP: u16 = 1024;
    pub const SET: u16 = 2048;
    pub const NO_DEFAULT_VALUE: u16 = 4096;
    pub const ON_UPDATE_NOW: u16 = 8192;
    pub const NUM: u16 = 32768;
}

/// What a client is told of a result column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnMeta {
    pub schema: String,
    /// Alias of the table.
    pub table: String,
    pub org_table: String,
    pub name: String,
    pub org_name: String,
    pub ty: ExprType,
    pub flags: u16,
}

impl ColumnMeta {
    /// A column that is no table's: SHOW and expressions.
    pub fn plain(name: impl Into<String>, ty: ExprType) -> Self {
        let mut flags = 0;
        if !ty.nullable {
            flags |= flags::NOT_NULL;
        }
        if ty.unsigned {
            flags |= flags::UNSIGNED;
        }
        if ty.collation.is_binary() {
            flags |= flags::BINARY;
        }
        if ty.field.is_numeric() {
            flags |= flags::NUM;
        }
        Self {
            schema: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: name.into(),
            org_name: String::new(),
            ty,
            flags,
        }
    }
    pub fn text(name: &str, length: u32) -> Self {
        Self::plain(name, ExprType::text(length, Collation::UTF8MB3_GENERAL_CI, Coercibility::Implicit))
    }
}
