//! Status variables of QUERY: what the statement's session was set to.
//!
//! # Layout
//! Code u8, then by code (the order in which a server writes them is its own; unknown codes end the reading):
//! ```text
//! 0 flags2 u32               1 sql_mode u64             2 catalog: length u8, name, NUL      3 auto_increment increment u16, offset u16
//! 4 client charset, connection collation, server collation u16 each        5 time zone: length u8, name    6 catalog: length u8, name
//! 7 lc_time_names u16        8 collation of the database u16                9 bits of updated tables u64   10 master's length u32
//! 11 invoker: length u8, user, length u8, host           12 updated databases: count u8, {name NUL}... (254: too many, none follow)
//! 128 microseconds u24       129 xid of the DDL u64      130 flags_extra of the GTID u8 [COMMIT or ROLLBACK ALTER: start number u64]
//! 131 character_set_collations: count u8, {charset u16, collation u16}...
//! ```

use base::{Corruption, Put, Reader};

use crate::gtid_flags_extra;
use crate::lenenc::{put_short_string, short_string};

/// One status variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusVariable<'a> {
    /// Of [`crate::query_flags`].
    Flags2(u32),
    SqlMode(u64),
    OldCatalog(&'a [u8]),
    AutoIncrement {
        increment: u16,
        offset: u16,
    },
    Charset {
        client: u16,
        connection: u16,
        server: u16,
    },
    TimeZone(&'a [u8]),
    Catalog(&'a [u8]),
    LcTimeNames(u16),
    DatabaseCollation(u16),
    UpdatedTables(u64),
    MasterDataWritten(u32),
    Invoker {
        user: &'a [u8],
        host: &'a [u8],
    },
    /// `{name NUL}...` of as many names as the first byte says.
    UpdatedDatabases(&'a [u8]),
    /// Of the statement's time.
    Microseconds(u32),
    DdlXid(u64),
    AlterFlags {
        /// Of [`gtid_flags_extra`].
        flags: u8,
        /// With COMMIT_ALTER or ROLLBACK_ALTER.
        start_alter: u64,
    },
    /// `{charset u16, collation u16}...`
    CharsetCollations(&'a [u8]),
}

/// Reads the variables one by one.
#[derive(Debug, Clone)]
pub struct StatusVariables<'a> {
    reader: Reader<'a>,
}

impl<'a> StatusVariables<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes) }
    }

    /// The next variable; `None` at the end or at a code that is not known (what follows it cannot be read).
    pub fn read(&mut self) -> Result<Option<StatusVariable<'a>>, Corruption> {
        let r = &mut self.reader;
        if r.is_empty() {
            return Ok(None);
        }
        let code = r.u8("status variable")?;
        let variable = StatusVariable::decode(code, r).map_err(|found| found.within("status variables"))?;
        if variable.is_none() {
            crate::event::take_rest(r);
        }
        Ok(variable)
    }
}

impl<'a> Iterator for StatusVariables<'a> {
    type Item = Result<StatusVariable<'a>, Corruption>;
    fn next(&mut self) -> Option<Self::Item> {
        let next = self.read().transpose();
        if let Some(Err(_)) = next {
            crate::event::take_rest(&mut self.reader);
        }
        next
    }
}

impl<'a> StatusVariable<'a> {
    const ENDS_ALTER: u8 = gtid_flags_extra::COMMIT_ALTER | gtid_flags_extra::ROLLBACK_ALTER;
    /// More databases than this are not named.
    const DATABASES_MAX: u8 = 254;

    fn decode(code: u8, r: &mut Reader<'a>) -> Result<Option<Self>, Corruption> {
        Ok(Some(match code {
            0 => Self::Flags2(r.u32("flags2")?),
            1 => Self::SqlMode(r.u64("sql_mode")?),
            2 => {
                let name = short_string(r, "catalog")?;
                r.u8("end of catalog")?;
                Self::OldCatalog(name)
            }
            3 => Self::AutoIncrement { increment: r.u16("increment")?, offset: r.u16("offset")? },
            4 => Self::Charset {
                client: r.u16("client character set")?,
                connection: r.u16("connection collation")?,
                server: r.u16("server collation")?,
            },
            5 => Self::TimeZone(short_string(r, "time zone")?),
            6 => Self::Catalog(short_string(r, "catalog")?),
            7 => Self::LcTimeNames(r.u16("lc_time_names")?),
            8 => Self::DatabaseCollation(r.u16("database collation")?),
            9 => Self::UpdatedTables(r.u64("updated tables")?),
            10 => Self::MasterDataWritten(r.u32("master data written")?),
            11 => Self::Invoker { user: short_string(r, "user")?, host: short_string(r, "host")? },
            12 => Self::UpdatedDatabases(databases(r)?),
            128 => Self::Microseconds(r.u24("microseconds")?),
            129 => Self::DdlXid(r.u64("xid")?),
            130 => {
                let flags = r.u8("alter flags")?;
                let ends = flags & Self::ENDS_ALTER != 0;
                Self::AlterFlags { flags, start_alter: if ends { r.u64("start of ALTER")? } else { 0 } }
            }
            131 => {
                let count = usize::from(r.u8("collation count")?);
                Self::CharsetCollations(r.bytes(4 * count, "collations")?)
            }
            _ => return Ok(None),
        }))
    }

    /// Appends the variable.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Flags2(v) => coded(out, 0).put_u32(v),
            Self::SqlMode(v) => coded(out, 1).put_u64(v),
            Self::OldCatalog(name) => {
                put_short_string(coded(out, 2), name);
                out.put_u8(0);
            }
            Self::AutoIncrement { increment, offset } => put_u16s(out, 3, &[increment, offset]),
            Self::Charset { client, connection, server } => put_u16s(out, 4, &[client, connection, server]),
            Self::TimeZone(name) => put_short_string(coded(out, 5), name),
            Self::Catalog(name) => put_short_string(coded(out, 6), name),
            Self::LcTimeNames(v) => put_u16s(out, 7, &[v]),
            Self::DatabaseCollation(v) => put_u16s(out, 8, &[v]),
            Self::UpdatedTables(v) => coded(out, 9).put_u64(v),
            Self::MasterDataWritten(v) => coded(out, 10).put_u32(v),
            Self::Invoker { user, host } => {
                put_short_string(coded(out, 11), user);
                put_short_string(out, host);
            }
            Self::UpdatedDatabases(names) => coded(out, 12).put(names),
            Self::Microseconds(v) => coded(out, 128).put_u24(v),
            Self::DdlXid(v) => coded(out, 129).put_u64(v),
            Self::AlterFlags { flags, start_alter } => {
                coded(out, 130).put_u8(flags);
                if flags & Self::ENDS_ALTER != 0 {
                    out.put_u64(start_alter);
                }
            }
            Self::CharsetCollations(pairs) => {
                assert!(
                    pairs.len() % 4 == 0 && pairs.len() / 4 <= 255,
                    "{} bytes of collations",
                    pairs.len()
                );
                coded(out, 131).put_u8((pairs.len() / 4) as u8);
                out.put(pairs);
            }
        }
    }
}

fn coded(out: &mut Vec<u8>, code: u8) -> &mut Vec<u8> {
    out.put_u8(code);
    out
}

fn put_u16s(out: &mut Vec<u8>, code: u8, values: &[u16]) {
    out.put_u8(code);
    for v in values {
        out.put_u16(*v);
    }
}

/// The count byte and the names.
fn databases<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Corruption> {
    let all = r.rest();
    let count = r.u8("database count")?;
    let mut len = 1;
    if count < StatusVariable::DATABASES_MAX {
        for _ in 0..count {
            let rest = r.rest();
            let end = rest.iter().position(|b| *b == 0).unwrap_or(rest.len());
            r.bytes(end, "database")?;
            r.u8("end of database")?;
            len += end + 1;
        }
    }
    Ok(&all[..len])
}
