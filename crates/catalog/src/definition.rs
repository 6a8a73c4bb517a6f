//! What the dictionary knows of a table.
//!
//! # Invariants
//! 1. `indexes[0]` is the clustered index: `PRIMARY`, or an index without parts on the hidden row id.
//! 2. Index parts name columns by position; `version` grows whenever positions or types change.
//! 3. A definition in the cache never changes: DDL replaces it.

use std::sync::Arc;

use base::{IndexId, Lsn, PageNo, SpaceId, TableId};
use charset::Collation;
use log_format::definition::{DefinedColumn, Definition, Shape};
use row_format::{Column, ColumnType, KeyPart, OldFormat, RowLayout};
use storage::table::{IndexSpec, TableSpec};
use types::Value;

use crate::partition::Partitioning;

/// Name of a clustered index on the hidden row id; no index of a user may have it.
pub const HIDDEN_KEY: &str = "GEN_CLUST_INDEX";
pub const PRIMARY: &str = "PRIMARY";

/// What a column gets when an INSERT does not name it.
#[derive(Debug, Clone, PartialEq)]
pub enum DefaultValue {
    /// An INSERT must name it (strict mode).
    None,
    Null,
    /// Of the column's type.
    Literal(DefaultLiteral),
    CurrentTimestamp,
    /// Computed for each row: the expression as SHOW CREATE TABLE prints it.
    Expression(String),
}

/// A literal default with equality by its stored form.
#[derive(Debug, Clone)]
pub struct DefaultLiteral(pub Value);

impl PartialEq for DefaultLiteral {
    fn eq(&self, other: &Self) -> bool {
        format!("{:?}", self.0) == format!("{:?}", other.0)
    }
}

/// How a generated column gets its value. Both kinds are stored with the row: a virtual one is computed when the row is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The expression as SHOW CREATE TABLE prints it.
    pub expr: String,
    /// STORED, otherwise VIRTUAL.
    pub stored: bool,
}

/// A CHECK constraint of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckDef {
    pub name: String,
    pub expr: String,
}

/// What happens to the rows of a child when their parent goes or changes its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
}

/// A foreign key, kept with the child.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKeyDef {
    pub name: String,
    /// Columns of this table.
    pub columns: Vec<usize>,
    pub parent_schema: String,
    pub parent_table: String,
    /// Columns of the parent by name: it may not be there yet.
    pub parent_columns: Vec<String>,
    pub on_delete: ReferenceAction,
    pub on_update: ReferenceAction,
}

/// What CREATE SEQUENCE said; the values themselves are the one row of the sequence's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceDef {
    pub start: i128,
    pub minimum: i128,
    pub maximum: i128,
    pub increment: i128,
    pub cache: u64,
    pub cycle: bool,
}

/// Which end of a row's life a column of a system-versioned table holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowTime {
    Start,
    End,
}

/// An application-time period: two columns by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeriodDef {
    pub name: String,
    pub start: String,
    pub end: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    pub name: String,
    pub ty: ColumnType,
    pub nullable: bool,
    /// Display width of an integer, `(M, D)` of a FLOAT or DOUBLE: shown, otherwise without effect.
    pub width: Option<u32>,
    pub decimals: Option<u8>,
    pub zerofill: bool,
    pub default: DefaultValue,
    pub on_update_now: bool,
    pub auto_increment: bool,
    pub invisible: bool,
    pub comment: String,
    /// JSON: a LONGTEXT with a binary collation that was declared as JSON.
    pub json: bool,
    pub generated: Option<Generated>,
    /// CHECK written beside the column.
    pub check: Option<String>,
    /// ROW START or ROW END of a system-versioned table.
    pub row_time: Option<RowTime>,
    /// The column came with WITH SYSTEM VERSIONING: only SELECT can name it, nothing shows it.
    pub hidden: bool,
    /// WITHOUT SYSTEM VERSIONING: changes of it alone leave no history.
    pub unversioned: bool,
}

impl ColumnDef {
    /// A nullable column without any attribute.
    pub fn new(name: impl Into<String>, ty: ColumnType) -> Self {
        Self {
            name: name.into(),
            ty,
            nullable: true,
            width: None,
            decimals: None,
            zerofill: false,
            default: DefaultValue::Null,
            on_update_now: false,
            auto_increment: false,
            invisible: false,
            comment: String::new(),
            json: false,
            generated: None,
            check: None,
            row_time: None,
            hidden: false,
            unversioned: false,
        }
    }
}

/// Most bytes of an index entry's columns, as declared.
pub const KEY_BYTES_MAX: u64 = 3072;

#[derive(Debug, Clone, PartialEq)]
pub struct IndexDef {
    pub id: IndexId,
    /// A space of its own: it was built beside writers.
    pub space: Option<SpaceId>,
    /// Read views below this LSN cannot use it.
    pub since: Lsn,
    pub root: PageNo,
    pub name: String,
    pub unique: bool,
    pub parts: Vec<KeyPart>,
    pub comment: String,
    /// `USING BTREE` was written.
    pub using_btree: bool,
    /// IGNORED: kept, but no statement reads it.
    pub ignored: bool,
    /// The last two parts are the end and the start of the table's period: rows that are equal otherwise must not overlap in it.
    pub without_overlaps: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TableDef {
    pub id: TableId,
    pub version: u32,
    pub space: SpaceId,
    pub schema: String,
    pub name: String,
    pub columns: Vec<ColumnDef>,
    /// Layouts that rows had before columns came, went or moved without rows being touched; oldest first.
    pub formats: Vec<OldFormat>,
    pub indexes: Vec<IndexDef>,
    pub collation: Collation,
    pub comment: String,
    /// ROW_FORMAT and the like, as SHOW CREATE TABLE repeats them.
    pub options: String,
    /// Seconds since 1970.
    pub created: u64,
    pub checks: Vec<CheckDef>,
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// The table is a sequence.
    pub sequence: Option<SequenceDef>,
    /// PERIOD FOR of application time.
    pub period: Option<PeriodDef>,
    /// How its rows are divided.
    pub partitioning: Option<Arc<Partitioning>>,
    /// A temporary table: of one session, not in the dictionary.
    pub temporary: bool,
}

impl TableDef {
    /// Position of a column; names compare without case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| same_name(&c.name, name))
    }

    pub fn index(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|i| same_name(&i.name, name))
    }

    pub fn has_primary_key(&self) -> bool {
        !self.indexes[0].parts.is_empty()
    }

    pub fn auto_increment(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.auto_increment)
    }

    /// The columns that hold when a row began and ended, of a system-versioned table.
    pub fn versioning(&self) -> Option<(usize, usize)> {
        let of = |wanted| self.columns.iter().position(|c| c.row_time == Some(wanted));
        Some((of(RowTime::Start)?, of(RowTime::End)?))
    }

    /// The constraint that its period is.
    pub fn period_check(&self) -> Option<usize> {
        let period = self.period.as_ref()?;
        let quote = crate::describe::quote_name;
        let text = format!("{} < {}", quote(&period.start), quote(&period.end));
        self.checks.iter().position(|c| c.name == period.name && c.expr == text)
    }

    /// Columns that the table's owner has written.
    pub fn shown_columns(&self) -> impl Iterator<Item = (usize, &ColumnDef)> {
        self.columns.iter().enumerate().filter(|(_, c)| !c.hidden)
    }

    pub fn layout(&self) -> RowLayout {
        RowLayout::new(
            self.columns.iter().map(|c| Column { ty: c.ty.clone(), nullable: c.nullable }).collect(),
        )
    }

    /// Whether writing a row takes more than its values: computed columns, defaults or checks.
    pub fn has_expressions(&self) -> bool {
        !self.checks.is_empty()
            || self.columns.iter().any(|c| {
                c.generated.is_some() || c.check.is_some() || matches!(c.default, DefaultValue::Expression(_))
            })
    }

    /// Every space that the table has.
    pub fn spaces(&self) -> impl Iterator<Item = SpaceId> + '_ {
        let parts = self.partitioning.iter().flat_map(|p| p.parts().map(|part| part.space));
        let own = self.partitioning.is_none().then_some(self.space);
        own.into_iter().chain(parts).chain(self.indexes.iter().filter_map(|i| i.space))
    }

    /// The ids that storage knows the table by: its own, or those of its parts.
    pub fn storage_ids(&self) -> impl Iterator<Item = TableId> + '_ {
        let parts = self.partitioning.iter().flat_map(|p| p.parts().map(|part| part.id));
        self.partitioning.is_none().then_some(self.id).into_iter().chain(parts)
    }

    /// `schema.name`, for messages.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// What storage needs to open the table.
    pub fn spec(&self) -> TableSpec {
        let mut spec = TableSpec {
            id: self.id,
            version: self.version,
            space: self.space,
            layout: Arc::new(self.layout()),
            formats: self.formats.as_slice().into(),
            indexes: self.indexes.iter().map(IndexDef::spec).collect(),
            auto_increment: self.auto_increment(),
            name: self.full_name(),
            definition: if self.temporary { Arc::from([]) } else { self.binlog_definition().into() },
            partitions: Vec::new(),
        };
        spec.partitions = self.part_specs(&spec);
        spec
    }

    /// What replicas take for the primary key: else the first unique key of whole columns that are never NULL.
    fn event_key(&self) -> &[KeyPart] {
        let never_null = |part: &KeyPart| part.prefix.is_none() && !self.columns[part.column].nullable;
        let stands_for_it = |index: &&IndexDef| index.unique && index.parts.iter().all(never_null);
        match &self.indexes[0].parts[..] {
            [] => self.indexes[1..].iter().find(stands_for_it).map_or(&[], |index| &index.parts),
            parts => parts,
        }
    }

    /// What the binary log says of the table.
    fn binlog_definition(&self) -> Vec<u8> {
        let primary = |part: &KeyPart| (part.column as u32, part.prefix.map_or(0, u32::from));
        let definition = Definition {
            database: self.schema.clone(),
            table: self.name.clone(),
            columns: self.columns.iter().map(ColumnDef::binlog_definition).collect(),
            primary_key: self.event_key().iter().map(primary).collect(),
        };
        let mut out = Vec::new();
        definition.encode(&mut out);
        out
    }
}

impl ColumnDef {
    fn binlog_definition(&self) -> DefinedColumn {
        let mut metadata = Vec::new();
        self.ty.binlog_metadata(&mut metadata);
        let members = match &self.ty {
            ColumnType::Enum { members, .. } | ColumnType::Set { members, .. } => {
                Some(members.iter().map(|m| m.to_vec()).collect())
            }
            _ => None,
        };
        DefinedColumn {
            name: self.name.clone(),
            type_code: self.ty.binlog_type(),
            metadata,
            shape: match self.ty.fixed_len() {
                Some(len) => Shape::Fixed(len as u32),
                None => Shape::Prefixed(self.ty.length_bytes() as u8),
            },
            nullable: self.nullable,
            unsigned: matches!(
                self.ty,
                ColumnType::Int { unsigned: true, .. }
                    | ColumnType::Float { unsigned: true }
                    | ColumnType::Double { unsigned: true }
                    | ColumnType::Decimal { unsigned: true, .. }
            ),
            collation: self.ty.collation().map(Collation::id),
            members,
            generated: self.generated.is_some(),
        }
    }
}

impl IndexDef {
    fn spec(&self) -> IndexSpec {
        IndexSpec {
            id: self.id,
            space: self.space,
            since: self.since,
            root: self.root,
            unique: self.unique,
            parts: self.parts.clone(),
            name: self.name.clone(),
        }
    }
}

/// A database.
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseDef {
    pub name: String,
    pub collation: Collation,
    pub comment: String,
}

/// Column, index and alias names compare without case.
pub fn same_name(a: &str, b: &str) -> bool {
    a == b
        || a.eq_ignore_ascii_case(b)
        || (!(a.is_ascii() && b.is_ascii()) && a.to_lowercase() == b.to_lowercase())
}
