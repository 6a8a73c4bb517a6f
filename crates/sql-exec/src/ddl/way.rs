//! How much an ALTER TABLE has to do: what ALGORITHM and LOCK are measured against, and how columns change without touching rows.
//!
//! The answers are MariaDB's, whatever is done here: a statement that asks for less than InnoDB could give is refused with the same
//! error (1845, or 1846 with a reason), so that a migration tool takes the same decision on both servers.
//!
//! # Columns without touching rows
//! Columns that are added with a constant, dropped or moved leave old rows as they are: the definition gets one more old format
//! (`row_format::OldFormat`) that holds for versions made below the log's end now. Nobody else writes the table meanwhile: its name
//! is locked exclusively.

use catalog::{TableDef, TableHandle};
use row_format::{ColumnType, OldFormat, Source, encode_column};
use sql_plan::error::{SqlError, SqlResult};
use sql_syntax::ast;

use super::copy::ColumnSource;

/// Old formats that a definition keeps; with more the rows are copied.
const FORMATS_MAX: usize = 64;

/// From the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    Instant,
    NoCopy,
    Inplace,
    Copy,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Instant => "INSTANT",
            Self::NoCopy => "NOCOPY",
            Self::Inplace => "INPLACE",
            Self::Copy => "COPY",
        }
    }
}

pub(super) const TYPE_CHANGE: Option<&str> = Some("Cannot change column type");

/// What a statement needs, and what it asks for.
#[derive(Debug, Default)]
pub(super) struct Demand<'a> {
    needed: Option<(Way, Option<&'static str>)>,
    pub(super) algorithm: Option<ast::Ident<'a>>,
    pub(super) lock: Option<ast::Ident<'a>>,
    renames: bool,
}

impl Demand<'_> {
    /// One of the changes needs at least this. The reason of the first that needs the most is given.
    pub(super) fn need(&mut self, way: Way, reason: Option<&'static str>) {
        if self.needed.is_none_or(|(known, _)| way > known) {
            self.needed = Some((way, reason));
        }
    }

    pub(super) fn rename(&mut self) {
        self.renames = true;
    }

    /// ALGORITHM=COPY was asked for.
    pub(super) fn copies(&self) -> bool {
        self.algorithm.is_some_and(|a| a.is("copy"))
    }

    /// Unknown words are errors before the table is looked at.
    pub(super) fn check_words(&self) -> SqlResult<()> {
        let known = |word: ast::Ident<'_>, words: &[&str]| words.iter().any(|w| word.is(w));
        if let Some(word) = self.algorithm
            && !known(word, &["default", "instant", "nocopy", "inplace", "copy"])
        {
            let text = format!("Unknown ALGORITHM '{}'", word.text());
            return Err(SqlError::Other { errno: 1800, state: *b"HY000", text });
        }
        match self.lock {
            Some(word) if !known(word, &["default", "none", "shared", "exclusive"]) => {
                let text = format!("Unknown LOCK type '{}'", word.text());
                Err(SqlError::Other { errno: 1801, state: *b"HY000", text })
            }
            _ => Ok(()),
        }
    }

    /// 1845 or 1846 when more is needed than was asked for.
    pub(super) fn check(&self) -> SqlResult<()> {
        if self.renames && self.lock.is_some_and(|l| l.is("none") || l.is("shared")) {
            let text = "LOCK=NONE/SHARED is not supported for this operation. Try LOCK=EXCLUSIVE".to_owned();
            return Err(SqlError::Other { errno: 1845, state: *b"0A000", text });
        }
        let (needed, reason) = self.needed.unwrap_or((Way::Instant, None));
        let asked = [Way::Instant, Way::NoCopy, Way::Inplace]
            .into_iter()
            .find(|way| self.algorithm.is_some_and(|a| a.is(way.name())));
        let Some(asked) = asked.filter(|asked| needed > *asked) else { return Ok(()) };
        let (asked, other) = (asked.name(), needed.name());
        let (errno, text) = match reason {
            Some(reason) => {
                (1846, format!("ALGORITHM={asked} is not supported. Reason: {reason}. Try ALGORITHM={other}"))
            }
            None => (
                1845,
                format!("ALGORITHM={asked} is not supported for this operation. Try ALGORITHM={other}"),
            ),
        };
        Err(SqlError::Other { errno, state: *b"0A000", text })
    }
}

/// A type change that touches no row, here as in MariaDB: the same type, a longer VARCHAR with as many length bytes, members appended
/// to an ENUM or SET.
pub(super) fn is_instant(before: &ColumnType, after: &ColumnType) -> bool {
    use ColumnType as T;
    let appended = |a: &[Box<[u8]>], b: &[Box<[u8]>]| b.starts_with(a);
    match (before, after) {
        (T::VarChar { max_bytes: a, collation: c }, T::VarChar { max_bytes: b, collation: d }) => {
            b >= a && c == d && before.length_bytes() == after.length_bytes()
        }
        (T::Enum { members: a, collation: c }, T::Enum { members: b, collation: d })
        | (T::Set { members: a, collation: c }, T::Set { members: b, collation: d }) => {
            c == d && appended(a, b) && before.fixed_len() == after.fixed_len()
        }
        (a, b) => a == b,
    }
}

/// The formats of rows after columns changed as `sources` say; `None` when the rows must be copied.
pub(super) fn formats(
    old: &TableHandle,
    new: &TableDef,
    sources: &[ColumnSource],
    now: base::Lsn,
) -> Option<Vec<OldFormat>> {
    let columns: Vec<Source> =
        sources.iter().zip(&new.columns).map(|(s, c)| source_of(s, &c.ty)).collect::<Option<_>>()?;
    let stays = |(i, s): (usize, &Source)| matches!(s, Source::Column(c) if *c as usize == i);
    if columns.len() == old.def.columns.len() && columns.iter().enumerate().all(stays) {
        return Some(old.def.formats.clone());
    }
    if old.def.formats.len() >= FORMATS_MAX {
        return None;
    }
    let mut formats: Vec<OldFormat> = old.def.formats.iter().map(|f| f.followed_by(&columns)).collect();
    formats.push(OldFormat::new(&old.table.spec().layout, now, columns));
    Some(formats)
}

fn source_of(source: &ColumnSource, ty: &ColumnType) -> Option<Source> {
    match source {
        ColumnSource::Old(column) => Some(Source::Column(*column as u32)),
        ColumnSource::Value(value) if value.is_null() => Some(Source::Null),
        ColumnSource::Value(value) => {
            let mut packed = Vec::new();
            encode_column(ty, value, &mut packed).ok()?;
            Some(Source::Value(packed.into()))
        }
        ColumnSource::Default | ColumnSource::Generated => None,
    }
}
