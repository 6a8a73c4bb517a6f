//! Column types as written. Sizes that a type cannot have are accepted here; the catalog answers with MariaDB's errors.

use super::Ident;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DataType<'a> {
    Int {
        size: IntSize,
        width: Option<u64>,
        sign: Sign,
    },
    /// `BOOL` is `TINYINT(1)`.
    Decimal {
        precision: Option<u64>,
        scale: Option<u64>,
        sign: Sign,
    },
    Float {
        precision: Option<u64>,
        scale: Option<u64>,
        sign: Sign,
    },
    Double {
        precision: Option<u64>,
        scale: Option<u64>,
        sign: Sign,
    },
    Bit {
        width: Option<u64>,
    },
    Char {
        length: Option<u64>,
        charset: CharsetSpec<'a>,
        national: bool,
    },
    Varchar {
        length: Option<u64>,
        charset: CharsetSpec<'a>,
        national: bool,
    },
    Binary {
        length: Option<u64>,
    },
    Varbinary {
        length: Option<u64>,
    },
    /// `TEXT(length)` picks the smallest size that fits.
    Text {
        size: BlobSize,
        length: Option<u64>,
        charset: CharsetSpec<'a>,
    },
    Blob {
        size: BlobSize,
        length: Option<u64>,
    },
    Enum {
        values: &'a [&'a [u8]],
        charset: CharsetSpec<'a>,
    },
    Set {
        values: &'a [&'a [u8]],
        charset: CharsetSpec<'a>,
    },
    Json {
        charset: CharsetSpec<'a>,
    },
    Date,
    Time {
        precision: Option<u64>,
    },
    DateTime {
        precision: Option<u64>,
    },
    Timestamp {
        precision: Option<u64>,
    },
    Year {
        width: Option<u64>,
    },
    Geometry {
        kind: GeometryKind,
        srid: Option<u64>,
    },
    Vector {
        dimensions: Option<u64>,
    },
    Uuid,
    Inet4,
    Inet6,
    /// `SERIAL`: BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE.
    Serial,
    /// Any other word: an unknown type is not a syntax error (4161).
    Named {
        name: Ident<'a>,
        length: Option<u64>,
        scale: Option<u64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntSize {
    Tiny,
    Small,
    Medium,
    Normal,
    Big,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Sign {
    pub unsigned: bool,
    pub zerofill: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlobSize {
    Tiny,
    Normal,
    Medium,
    Long,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GeometryKind {
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
}

/// `CHARACTER SET x`, `BINARY`, `COLLATE y` of a type. ASCII, UNICODE and BYTE are their character sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CharsetSpec<'a> {
    pub charset: Option<Ident<'a>>,
    pub collation: Option<Ident<'a>>,
    /// `BINARY` attribute: the `_bin` collation of the character set.
    pub binary: bool,
}
