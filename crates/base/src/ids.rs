//! Newtypes for every id and position.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $inner);
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(/// Byte position in the endless log; 0 = none.
    Lsn(u64));
id!(/// Number of a writing transaction, from one counter; 0 = none. Stored in 48 bits.
    TrxId(u64));
id!(/// One data file: the clustered index of a table and its secondary indexes. Space 0 holds the dictionary.
    SpaceId(u32));
id!(/// Number of a page inside its space.
    PageNo(u32));
id!(/// One table, stable over renames, new after TRUNCATE or a rebuild.
    TableId(u64));
id!(/// One index of one table, never reused.
    IndexId(u64));

impl Lsn {
    pub const NONE: Self = Self(0);
    pub const MAX: Self = Self(u64::MAX);
    /// The last position that a file may name: decoders refuse later ones, so that the sum of a position and a size cannot overflow.
    pub const LAST: Self = Self(u64::MAX >> 1);
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl std::ops::Add<u64> for Lsn {
    type Output = Self;
    fn add(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

impl std::ops::Sub for Lsn {
    type Output = u64;
    fn sub(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}

impl PageNo {
    /// "No page" in sibling and child links.
    pub const NONE: Self = Self(u32::MAX);
}

/// One page of one space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageId {
    pub space: SpaceId,
    pub no: PageNo,
}

impl PageId {
    pub const fn new(space: SpaceId, no: PageNo) -> Self {
        Self { space, no }
    }
    /// Space in the upper half, page number in the lower.
    pub const fn to_u64(self) -> u64 {
        (self.space.0 as u64) << 32 | self.no.0 as u64
    }
    pub const fn from_u64(v: u64) -> Self {
        Self { space: SpaceId((v >> 32) as u32), no: PageNo(v as u32) }
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}:{}", self.space, self.no)
    }
}

/// MariaDB's global transaction id, `domain-server-sequence`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Gtid {
    pub domain_id: u32,
    pub server_id: u32,
    pub seq_no: u64,
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.domain_id, self.server_id, self.seq_no)
    }
}
