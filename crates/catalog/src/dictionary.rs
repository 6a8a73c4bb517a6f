//! The dictionary: one table in space 0, changed by transactions like any other.
//!
//! # Layout
//! ```text
//! kind TINYINT UNSIGNED (1 database, 2 table, 3 view, 16... programs, 32 open ALTER TABLE) | schema VARBINARY(256) | name VARBINARY(256) | definition LONGBLOB
//! PRIMARY KEY (kind, schema, name)
//! ```
//! A database has an empty `name`. `definition` is `codec`'s. Kinds 16 to 19 are programs, by the name that finds them; see `program`.
//!
//! # Locks
//! A row is inserted first and looked for only when it is there already. Looking for a new name first would lock the gap that it
//! belongs in, and two statements that make tables of neighbouring names would wait for each other's gaps: a deadlock that no user
//! can understand. Who may change a name is decided before, by its metadata lock.
//!
//! # A crash
//! Rows of a DDL statement commit together or not at all. Spaces whose rows did not commit, or whose rows were removed, are
//! found by their absence here and removed at the next start.

use std::sync::Arc;

use base::{Corruption, TableId};
use charset::Collation;
use row_format::{Column, ColumnType, IntSize, KeyPart, RowLayout, RowView, encode_row, key};
use storage::row::{Direction, KeyRange, ReadMode, RowBuf, RowError, Strength, WaitMode};
use storage::table::{IndexSpec, Table, TableSpec};
use storage::trx::Trx;
use types::Value;

use crate::definition::{DatabaseDef, PRIMARY, TableDef};
use crate::engine::{DICTIONARY_INDEX, DICTIONARY_ROOT, DICTIONARY_SPACE};
use crate::program::{ProgramDef, ProgramKind};
use crate::view::ViewDef;

/// Table id of the dictionary itself.
const DICTIONARY_TABLE: TableId = TableId(1);

const KIND_DATABASE: u64 = 1;
const KIND_TABLE: u64 = 2;
const KIND_VIEW: u64 = 3;
const KIND_OPEN_ALTER: u64 = 32;

/// One row, decoded.
#[derive(Debug)]
pub(crate) enum Entry {
    Database(DatabaseDef),
    Table(Box<TableDef>),
    View(Box<ViewDef>),
    Program(Box<ProgramDef>),
    OpenAlter(OpenAlter),
}

/// An ALTER TABLE whose first event group is in the binary log, and whose second one is not: a crash came between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAlter {
    /// Chosen by who began it.
    pub key: String,
    /// What the session needs to end it; not looked at here.
    pub bytes: Vec<u8>,
}

/// The dictionary's own definition.
pub(crate) fn spec() -> TableSpec {
    let name = ColumnType::VarChar { max_bytes: 256, collation: Collation::BINARY };
    let columns = [
        ColumnType::int(IntSize::Tiny, true),
        name.clone(),
        name,
        ColumnType::Blob { length_bytes: 4, collation: Collation::BINARY },
    ];
    let columns = columns.into_iter().map(|ty| Column { ty, nullable: false }).collect();
    TableSpec {
        id: DICTIONARY_TABLE,
        version: 1,
        space: DICTIONARY_SPACE,
        layout: Arc::new(RowLayout::new(columns)),
        formats: Arc::default(),
        indexes: vec![IndexSpec {
            id: DICTIONARY_INDEX,
            space: None,
            since: base::Lsn::NONE,
            root: DICTIONARY_ROOT,
            unique: true,
            parts: vec![KeyPart::ascending(0), KeyPart::ascending(1), KeyPart::ascending(2)],
            name: PRIMARY.to_owned(),
        }],
        auto_increment: None,
        name: "mysql.dictionary".to_owned(),
        definition: Arc::default(),
        partitions: Vec::new(),
    }
}

/// Every committed row.
pub(crate) fn read_all(table: &Arc<Table>, trx: &mut Trx) -> Result<Vec<Entry>, RowError> {
    let mut scan = trx.scan(table, 0, KeyRange::all(), Direction::Forward, ReadMode::Consistent);
    let mut row = RowBuf::new();
    let mut out = Vec::new();
    while scan.next(trx, &mut row)? {
        out.push(decode(table, &row.body)?);
    }
    Ok(out)
}

fn decode(table: &Table, body: &[u8]) -> Result<Entry, Corruption> {
    let view = RowView::new(&table.spec().layout, body)?;
    let bytes = |i: usize| {
        view.column(i)?.ok_or_else(|| Corruption::new("dictionary row", "column", "a value", "NULL"))
    };
    match bytes(0)? {
        [1] => Ok(Entry::Database(DatabaseDef::decode(bytes(3)?)?)),
        [2] => Ok(Entry::Table(Box::new(TableDef::decode(bytes(3)?)?))),
        [3] => Ok(Entry::View(Box::new(ViewDef::decode(bytes(3)?)?))),
        [32] => {
            let key = String::from_utf8_lossy(bytes(2)?).into_owned();
            Ok(Entry::OpenAlter(OpenAlter { key, bytes: bytes(3)?.to_vec() }))
        }
        [code] if let Some(kind) = ProgramKind::of(*code) => {
            Ok(Entry::Program(Box::new(ProgramDef::decode(kind, bytes(3)?)?)))
        }
        other => Err(Corruption::new("dictionary row", "kind", "a known one", other.escape_ascii())),
    }
}

fn key_of(table: &Table, kind: u64, schema: &str, name: &str) -> Vec<u8> {
    let spec = table.spec();
    let binary = |s: &str| Value::str(s.as_bytes(), Collation::BINARY);
    let values = [Value::UInt(kind), binary(schema), binary(name)];
    let mut out = Vec::new();
    let encoded = key::encode_values(&spec.layout, &spec.indexes[0].parts, &values, &mut out);
    debug_assert!(encoded.is_ok(), "names are checked before they come here");
    out
}

fn put(
    table: &Arc<Table>,
    trx: &mut Trx,
    kind: u64,
    schema: &str,
    name: &str,
    definition: &[u8],
) -> Result<(), RowError> {
    let binary = |b: &[u8]| Value::str(b, Collation::BINARY);
    let values = [Value::UInt(kind), binary(schema.as_bytes()), binary(name.as_bytes()), binary(definition)];
    let mut body = Vec::new();
    encode_row(&table.spec().layout, &values, &mut body)
        .map_err(|e| RowError::Storage(format!("dictionary row: {}", e.found)))?;
    match trx.insert_or_lock(table, &body, Strength::Exclusive) {
        Err(RowError::DuplicateKey { .. }) => match find(table, trx, kind, schema, name)? {
            Some(row) => trx.update(table, &row, &body),
            None => {
                Err(RowError::Storage(format!("the dictionary lost the locked row of '{schema}.{name}'")))
            }
        },
        other => other,
    }
}

fn find(
    table: &Arc<Table>,
    trx: &mut Trx,
    kind: u64,
    schema: &str,
    name: &str,
) -> Result<Option<RowBuf>, RowError> {
    let key = key_of(table, kind, schema, name);
    let mode = ReadMode::Locking { strength: Strength::Exclusive, wait: WaitMode::Wait };
    let mut row = RowBuf::new();
    Ok(trx.get(table, 0, &key, mode, &mut row)?.then_some(row))
}

fn remove(table: &Arc<Table>, trx: &mut Trx, kind: u64, schema: &str, name: &str) -> Result<(), RowError> {
    match find(table, trx, kind, schema, name)? {
        Some(row) => trx.delete(table, &row),
        None => Ok(()),
    }
}

pub(crate) fn put_database(table: &Arc<Table>, trx: &mut Trx, def: &DatabaseDef) -> Result<(), RowError> {
    let mut bytes = Vec::new();
    def.encode(&mut bytes);
    put(table, trx, KIND_DATABASE, &def.name, "", &bytes)
}

pub(crate) fn put_table(table: &Arc<Table>, trx: &mut Trx, def: &TableDef) -> Result<(), RowError> {
    let mut bytes = Vec::new();
    def.encode(&mut bytes);
    put(table, trx, KIND_TABLE, &def.schema, &def.name, &bytes)
}

pub(crate) fn put_view(table: &Arc<Table>, trx: &mut Trx, def: &ViewDef) -> Result<(), RowError> {
    let mut bytes = Vec::new();
    def.encode(&mut bytes);
    put(table, trx, KIND_VIEW, &def.schema, &def.name, &bytes)
}

pub(crate) fn put_open_alter(table: &Arc<Table>, trx: &mut Trx, open: &OpenAlter) -> Result<(), RowError> {
    put(table, trx, KIND_OPEN_ALTER, "", &open.key, &open.bytes)
}

pub(crate) fn remove_open_alter(table: &Arc<Table>, trx: &mut Trx, key: &str) -> Result<(), RowError> {
    remove(table, trx, KIND_OPEN_ALTER, "", key)
}

pub(crate) fn remove_view(
    table: &Arc<Table>,
    trx: &mut Trx,
    schema: &str,
    name: &str,
) -> Result<(), RowError> {
    remove(table, trx, KIND_VIEW, schema, name)
}

pub(crate) fn remove_database(table: &Arc<Table>, trx: &mut Trx, name: &str) -> Result<(), RowError> {
    remove(table, trx, KIND_DATABASE, name, "")
}

pub(crate) fn remove_table(
    table: &Arc<Table>,
    trx: &mut Trx,
    schema: &str,
    name: &str,
) -> Result<(), RowError> {
    remove(table, trx, KIND_TABLE, schema, name)
}

pub(crate) fn put_program(table: &Arc<Table>, trx: &mut Trx, def: &ProgramDef) -> Result<(), RowError> {
    let mut bytes = Vec::new();
    def.encode(&mut bytes);
    let kind = def.kind();
    put(table, trx, kind as u64, def.schema(), &kind.key(def.name()), &bytes)
}

pub(crate) fn remove_program(
    table: &Arc<Table>,
    trx: &mut Trx,
    kind: ProgramKind,
    schema: &str,
    name: &str,
) -> Result<(), RowError> {
    remove(table, trx, kind as u64, schema, &kind.key(name))
}
