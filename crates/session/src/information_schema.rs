//! information_schema: what the catalog knows, as tables with MariaDB's columns.
//!
//! Rows are made from the catalog's snapshot when a statement reads a table; conditions are checked on them as on any row. Names of
//! these tables compare without case.

use std::sync::Arc;

use accounts::{Privileges, Rights};
use catalog::{
    ColumnDef, DefaultLiteral, DefaultValue, ForeignKeyDef, IndexDef, RowTime, Snapshot, TableDef,
    TableHandle, ViewAlgorithm, ViewCheck, ViewDef,
};
use charset::Collation;
use row_format::{ColumnType, IntSize};
use sql_plan::error::SqlResult;
use sql_plan::meta::{ColumnMeta, ExprType, FieldType};
use sql_plan::plan::VirtualTable;
use sql_plan::relations;
use types::{Context, Value};

use crate::privilege_tables;
use crate::program_tables;
use crate::server::Server;
use crate::show::{extra_text, key_text};
use crate::virtual_tables::Reader;

/// Types of the columns.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Text(u32),
    LongText,
    Number,
    Unsigned,
    Int,
    UnsignedInt,
    Double,
    DateTime,
    /// With hundredths of a second.
    DateTime2,
}
use Kind::{DateTime, DateTime2, LongText, Number, Text};

pub(crate) type Columns = &'static [(&'static str, Kind)];
pub(crate) type Rows = Vec<Vec<Value>>;

const TABLES: Columns = &[
    ("TABLE_CATALOG", Text(512)),
    ("TABLE_SCHEMA", Text(64)),
    ("TABLE_NAME", Text(64)),
    ("TABLE_TYPE", Text(64)),
    ("ENGINE", Text(64)),
    ("VERSION", Number),
    ("ROW_FORMAT", Text(10)),
    ("TABLE_ROWS", Number),
    ("AVG_ROW_LENGTH", Number),
    ("DATA_LENGTH", Number),
    ("MAX_DATA_LENGTH", Number),
    ("INDEX_LENGTH", Number),
    ("DATA_FREE", Number),
    ("AUTO_INCREMENT", Number),
    ("CREATE_TIME", DateTime),
    ("UPDATE_TIME", DateTime),
    ("CHECK_TIME", DateTime),
    ("TABLE_COLLATION", Text(64)),
    ("CHECKSUM", Number),
    ("CREATE_OPTIONS", Text(2048)),
    ("TABLE_COMMENT", Text(2048)),
    ("MAX_INDEX_LENGTH", Number),
    ("TEMPORARY", Text(1)),
];
const COLUMNS: Columns = &[
    ("TABLE_CATALOG", Text(512)),
    ("TABLE_SCHEMA", Text(64)),
    ("TABLE_NAME", Text(64)),
    ("COLUMN_NAME", Text(64)),
    ("ORDINAL_POSITION", Number),
    ("COLUMN_DEFAULT", LongText),
    ("IS_NULLABLE", Text(3)),
    ("DATA_TYPE", Text(64)),
    ("CHARACTER_MAXIMUM_LENGTH", Number),
    ("CHARACTER_OCTET_LENGTH", Number),
    ("NUMERIC_PRECISION", Number),
    ("NUMERIC_SCALE", Number),
    ("DATETIME_PRECISION", Number),
    ("CHARACTER_SET_NAME", Text(32)),
    ("COLLATION_NAME", Text(64)),
    ("COLUMN_TYPE", LongText),
    ("COLUMN_KEY", Text(3)),
    ("EXTRA", Text(80)),
    ("PRIVILEGES", Text(80)),
    ("COLUMN_COMMENT", Text(1024)),
    ("IS_GENERATED", Text(6)),
    ("GENERATION_EXPRESSION", LongText),
    ("IS_SYSTEM_TIME_PERIOD_START", Text(3)),
    ("IS_SYSTEM_TIME_PERIOD_END", Text(3)),
];
const SCHEMATA: Columns = &[
    ("CATALOG_NAME", Text(512)),
    ("SCHEMA_NAME", Text(64)),
    ("DEFAULT_CHARACTER_SET_NAME", Text(32)),
    ("DEFAULT_COLLATION_NAME", Text(64)),
    ("SQL_PATH", Text(512)),
    ("SCHEMA_COMMENT", Text(1024)),
];
const STATISTICS: Columns = &[
    ("TABLE_CATALOG", Text(512)),
    ("TABLE_SCHEMA", Text(64)),
    ("TABLE_NAME", Text(64)),
    ("NON_UNIQUE", Number),
    ("INDEX_SCHEMA", Text(64)),
    ("INDEX_NAME", Text(64)),
    ("SEQ_IN_INDEX", Number),
    ("COLUMN_NAME", Text(64)),
    ("COLLATION", Text(1)),
    ("CARDINALITY", Number),
    ("SUB_PART", Number),
    ("PACKED", Text(10)),
    ("NULLABLE", Text(3)),
    ("INDEX_TYPE", Text(16)),
    ("COMMENT", Text(16)),
    ("INDEX_COMMENT", Text(1024)),
    ("IGNORED", Text(3)),
];
const KEY_COLUMN_USAGE: Columns = &[
    ("CONSTRAINT_CATALOG", Text(512)),
    ("CONSTRAINT_SCHEMA", Text(64)),
    ("CONSTRAINT_NAME", Text(64)),
    ("TABLE_CATALOG", Text(512)),
    ("TABLE_SCHEMA", Text(64)),
    ("TABLE_NAME", Text(64)),
    ("COLUMN_NAME", Text(64)),
    ("ORDINAL_POSITION", Number),
    ("POSITION_IN_UNIQUE_CONSTRAINT", Number),
    ("REFERENCED_TABLE_SCHEMA", Text(64)),
    ("REFERENCED_TABLE_NAME", Text(64)),
    ("REFERENCED_COLUMN_NAME", Text(64)),
];
const TABLE_CONSTRAINTS: Columns = &[
    ("CONSTRAINT_CATALOG", Text(512)),
    ("CONSTRAINT_SCHEMA", Text(64)),
    ("CONSTRAINT_NAME", Text(64)),
    ("TABLE_SCHEMA", Text(64)),
    ("TABLE_NAME", Text(64)),
    ("CONSTRAINT_TYPE", Text(64)),
];
/// A table that is not partitioned has one row.
const KEY_PERIOD_USAGE: Columns = &[
    ("CONSTRAINT_CATALOG", Text(512)),
    ("CONSTRAINT_SCHEMA", Text(64)),
    ("CONSTRAINT_NAME", Text(64)),
    ("TABLE_CATALOG", Text(512)),
    ("TABLE_SCHEMA", Text(64)),
    ("TABLE_NAME", Text(64)),
    ("PERIOD_NAME", Text(64)),
];
const PERIODS: Columns = &[
    ("TABLE_CATALOG", Text(512)),
    ("TABLE_SCHEMA", Text(64)),
    ("TABLE_NAME", Text(64)),
    ("PERIOD", Text(64)),
    ("START_COLUMN_NAME", Text(64)),
    ("END_COLUMN_NAME", Text(64)),
];
const PARTITIONS: Columns = &[
    ("TABLE_CATALOG", Text(512)),
    ("TABLE_SCHEMA", Text(64)),
    ("TABLE_NAME", Text(64)),
    ("PARTITION_NAME", Text(64)),
    ("SUBPARTITION_NAME", Text(64)),
    ("PARTITION_ORDINAL_POSITION", Number),
    ("SUBPARTITION_ORDINAL_POSITION", Number),
    ("PARTITION_METHOD", Text(18)),
    ("SUBPARTITION_METHOD", Text(12)),
    ("PARTITION_EXPRESSION", LongText),
    ("SUBPARTITION_EXPRESSION", LongText),
    ("PARTITION_DESCRIPTION", LongText),
    ("TABLE_ROWS", Number),
    ("AVG_ROW_LENGTH", Number),
    ("DATA_LENGTH", Number),
    ("MAX_DATA_LENGTH", Number),
    ("INDEX_LENGTH", Number),
    ("DATA_FREE", Number),
    ("CREATE_TIME", DateTime),
    ("UPDATE_TIME", DateTime),
    ("CHECK_TIME", DateTime),
    ("CHECKSUM", Number),
    ("PARTITION_COMMENT", Text(80)),
    ("NODEGROUP", Text(12)),
    ("TABLESPACE_NAME", Text(64)),
];
/// Empty here as on MariaDB: tablespaces and log files of other engines.
const FILES: Columns = &[
    ("FILE_ID", Number),
    ("FILE_NAME", Text(512)),
    ("FILE_TYPE", Text(20)),
    ("TABLESPACE_NAME", Text(64)),
    ("TABLE_CATALOG", Text(64)),
    ("TABLE_SCHEMA", Text(64)),
    ("TABLE_NAME", Text(64)),
    ("LOGFILE_GROUP_NAME", Text(64)),
    ("LOGFILE_GROUP_NUMBER", Number),
    ("ENGINE", Text(64)),
    ("FULLTEXT_KEYS", Text(64)),
    ("DELETED_ROWS", Number),
    ("UPDATE_COUNT", Number),
    ("FREE_EXTENTS", Number),
    ("TOTAL_EXTENTS", Number),
    ("EXTENT_SIZE", Number),
    ("INITIAL_SIZE", Number),
    ("MAXIMUM_SIZE", Number),
    ("AUTOEXTEND_SIZE", Number),
    ("CREATION_TIME", DateTime),
    ("LAST_UPDATE_TIME", DateTime),
    ("LAST_ACCESS_TIME", DateTime),
    ("RECOVER_TIME", Number),
    ("TRANSACTION_COUNTER", Number),
    ("VERSION", Number),
    ("ROW_FORMAT", Text(10)),
    ("TABLE_ROWS", Number),
    ("AVG_ROW_LENGTH", Number),
    ("DATA_LENGTH", Number),
    ("MAX_DATA_LENGTH", Number),
    ("INDEX_LENGTH", Number),
    ("DATA_FREE", Number),
    ("CREATE_TIME", DateTime),
    ("UPDATE_TIME", DateTime),
    ("CHECK_TIME", DateTime),
    ("CHECKSUM", Number),
    ("STATUS", Text(20)),
    ("EXTRA", Text(255)),
];
const REFERENTIAL_CONSTRAINTS: Columns = &[
    ("CONSTRAINT_CATALOG", Text(512)),
    ("CONSTRAINT_SCHEMA", Text(64)),
    ("CONSTRAINT_NAME", Text(64)),
    ("UNIQUE_CONSTRAINT_CATALOG", Text(512)),
    ("UNIQUE_CONSTRAINT_SCHEMA", Text(64)),
    ("UNIQUE_CONSTRAINT_NAME", Text(64)),
    ("MATCH_OPTION", Text(64)),
    ("UPDATE_RULE", Text(64)),
    ("DELETE_RULE", Text(64)),
    ("TABLE_NAME", Text(64)),
    ("REFERENCED_TABLE_NAME", Text(64)),
];
const CHECK_CONSTRAINTS: Columns = &[
    ("CONSTRAINT_CATALOG", Text(512)),
    ("CONSTRAINT_SCHEMA", Text(64)),
    ("TABLE_NAME", Text(64)),
    ("CONSTRAINT_NAME", Text(64)),
    ("LEVEL", Text(6)),
    ("CHECK_CLAUSE", LongText),
];
const VIEWS: Columns = &[
    ("TABLE_CATALOG", Text(512)),
    ("TABLE_SCHEMA", Text(64)),
    ("TABLE_NAME", Text(64)),
    ("VIEW_DEFINITION", LongText),
    ("CHECK_OPTION", Text(8)),
    ("IS_UPDATABLE", Text(3)),
    ("DEFINER", Text(384)),
    ("SECURITY_TYPE", Text(7)),
    ("CHARACTER_SET_CLIENT", Text(32)),
    ("COLLATION_CONNECTION", Text(64)),
    ("ALGORITHM", Text(10)),
];
const ENGINES: Columns = &[
    ("ENGINE", Text(64)),
    ("SUPPORT", Text(8)),
    ("COMMENT", Text(160)),
    ("TRANSACTIONS", Text(3)),
    ("XA", Text(3)),
    ("SAVEPOINTS", Text(3)),
];
const CHARACTER_SETS: Columns = &[
    ("CHARACTER_SET_NAME", Text(32)),
    ("DEFAULT_COLLATE_NAME", Text(64)),
    ("DESCRIPTION", Text(60)),
    ("MAXLEN", Number),
];
const COLLATIONS: Columns = &[
    ("COLLATION_NAME", Text(64)),
    ("CHARACTER_SET_NAME", Text(32)),
    ("ID", Number),
    ("IS_DEFAULT", Text(3)),
    ("IS_COMPILED", Text(3)),
    ("SORTLEN", Number),
    ("COMMENT", Text(80)),
];

const APPLICABILITY: Columns = &[
    ("COLLATION_NAME", Text(64)),
    ("CHARACTER_SET_NAME", Text(32)),
    ("FULL_COLLATION_NAME", Text(64)),
    ("ID", Number),
    ("IS_DEFAULT", Text(3)),
];

const ALL: &[(&str, Columns)] = &[
    ("CHARACTER_SETS", CHARACTER_SETS),
    ("CHECK_CONSTRAINTS", CHECK_CONSTRAINTS),
    ("COLLATIONS", COLLATIONS),
    ("COLLATION_CHARACTER_SET_APPLICABILITY", APPLICABILITY),
    ("COLUMNS", COLUMNS),
    ("ENGINES", ENGINES),
    ("FILES", FILES),
    ("KEY_COLUMN_USAGE", KEY_COLUMN_USAGE),
    ("KEY_PERIOD_USAGE", KEY_PERIOD_USAGE),
    ("PARTITIONS", PARTITIONS),
    ("PERIODS", PERIODS),
    ("REFERENTIAL_CONSTRAINTS", REFERENTIAL_CONSTRAINTS),
    ("SCHEMATA", SCHEMATA),
    ("STATISTICS", STATISTICS),
    ("TABLES", TABLES),
    ("TABLE_CONSTRAINTS", TABLE_CONSTRAINTS),
    ("VIEWS", VIEWS),
];

fn all() -> impl Iterator<Item = &'static (&'static str, Columns)> {
    ALL.iter().chain(&privilege_tables::TABLES).chain(&program_tables::TABLES)
}

/// Databases that are not in the catalog.
pub(crate) const SCHEMAS: [&str; 2] = ["information_schema", "performance_schema"];

/// The one of that name.
pub(crate) fn schema(name: &str) -> Option<&'static str> {
    SCHEMAS.into_iter().find(|s| s.eq_ignore_ascii_case(name))
}

/// Names of the tables of one of [`SCHEMAS`].
pub(crate) fn names(schema: &'static str) -> impl Iterator<Item = &'static str> {
    let own = all().map(|(name, _)| *name).filter(move |_| schema == SCHEMAS[0]);
    let listed = move |name: &&str| crate::virtual_tables::describe(schema, name).is_none();
    own.filter(listed).chain(crate::virtual_tables::names(schema))
}

/// The table of that name, for the planner.
pub(crate) fn table(schema: &str, name: &str) -> Option<VirtualTable> {
    if schema == crate::system_tables::MYSQL && name == privilege_tables::USER {
        let columns = privilege_tables::user_columns();
        let columns: Vec<ColumnMeta> = columns.into_iter().map(|(name, kind)| meta(name, kind)).collect();
        return Some(VirtualTable { name: privilege_tables::USER, columns: Arc::from(columns) });
    }
    if let Some(found) = crate::virtual_tables::table(schema, name) {
        return Some(found);
    }
    let own = schema.eq_ignore_ascii_case("information_schema");
    let (name, columns) = all().find(|(n, _)| own && n.eq_ignore_ascii_case(name))?;
    let columns: Vec<ColumnMeta> = columns.iter().map(|(name, kind)| meta(name, *kind)).collect();
    Some(VirtualTable { name, columns: Arc::from(columns) })
}

pub(crate) fn meta(name: &str, kind: Kind) -> ColumnMeta {
    let base = ColumnMeta::text(name, 1).ty;
    match kind {
        Text(length) => ColumnMeta::text(name, length),
        LongText => ColumnMeta::plain(name, ExprType { field: FieldType::Blob, length: u32::MAX, ..base }),
        Number => ColumnMeta::plain(name, ExprType::bigint()),
        Kind::Unsigned => ColumnMeta::plain(name, ExprType::bigint().unsigned()),
        Kind::Int => ColumnMeta::plain(name, ExprType::int(11)),
        Kind::UnsignedInt => ColumnMeta::plain(name, ExprType::int(11).unsigned()),
        Kind::Double => ColumnMeta::plain(name, ExprType::double()),
        DateTime => ColumnMeta::plain(
            name,
            ExprType { field: FieldType::DateTime, length: 19, decimals: 0, ..ExprType::null() },
        ),
        DateTime2 => ColumnMeta::plain(
            name,
            ExprType { field: FieldType::DateTime, length: 22, decimals: 2, ..ExprType::null() },
        ),
    }
}

/// All rows of a table; `None` when there is no such table.
pub(crate) fn rows(reader: &Reader<'_>, table: &str) -> Option<SqlResult<Rows>> {
    catalog_rows(reader.server, reader.rights, table)
        .map(Ok)
        .or_else(|| crate::virtual_tables::rows(reader, table))
}

fn catalog_rows(server: &Server, rights: &Rights, table: &str) -> Option<Rows> {
    if let Some(rows) = privilege_tables::rows(rights, table) {
        return Some(rows);
    }
    if let Some(rows) = program_tables::rows(rights, &server.catalog(), table) {
        return Some(rows);
    }
    let mut rows = all_rows(server, table)?;
    keep_visible(rights, table, &mut rows);
    Some(rows)
}

/// Takes out what the reader may not see: schemas and tables of which nothing is granted, columns without a privilege.
fn keep_visible(rights: &Rights, table: &str, rows: &mut Rows) {
    if rights.global().has(Privileges::DATABASE) {
        return;
    }
    let Some((_, columns)) = ALL.iter().find(|(n, _)| *n == table) else { return };
    let at = |name: &str| columns.iter().position(|(n, _)| *n == name);
    let text = |row: &[Value], i: Option<usize>| {
        i.and_then(|i| row.get(i)).map(crate::text::to_string).unwrap_or_default()
    };
    if table == "SCHEMATA" && !rights.global().has(Privileges::SHOW_DATABASES) {
        let name = at("SCHEMA_NAME");
        rows.retain(|row| {
            let name = text(row, name);
            name == "information_schema" || rights.sees_database(&name)
        });
    }
    let (schema, name) = (at("TABLE_SCHEMA"), at("TABLE_NAME"));
    if schema.is_none() || name.is_none() {
        return;
    }
    let (column, held) = (at("COLUMN_NAME"), at("PRIVILEGES"));
    if table == "STATISTICS" {
        let index = at("INDEX_NAME");
        let key = |row: &[Value]| [schema, name, index].map(|i| text(row, i));
        let seen = |row: &[Value]| {
            let [schema, name, _] = key(row);
            !crate::show::column_privileges(rights, &schema, &name, &text(row, column)).is_empty()
        };
        // An index is listed if all its columns may be seen.
        let hidden: Vec<_> = rows.iter().filter(|r| !seen(r)).map(|r| key(r)).collect();
        rows.retain(|row| !hidden.contains(&key(row)));
    }
    rows.retain_mut(|row| {
        let (schema, name) = (text(row, schema), text(row, name));
        if schema == "information_schema" {
            return true;
        }
        if table != "COLUMNS" {
            return rights.sees_table(&schema, &name);
        }
        let privileges = crate::show::column_privileges(rights, &schema, &name, &text(row, column));
        if let Some(cell) = held.and_then(|i| row.get_mut(i)) {
            *cell = s(&privileges);
        }
        !privileges.is_empty()
    });
}

fn all_rows(server: &Server, table: &str) -> Option<Rows> {
    Some(match table {
        "TABLES" => {
            let mut out = each_table(server, |t, out| out.push(table_row(server, t)));
            each_view(server, |v| out.push(view_table_row(v)));
            out.extend(crate::virtual_tables::all().iter().map(virtual_table_row));
            out
        }
        "COLUMNS" => {
            let mut out = each_table(server, |t, out| {
                let place = |i| (t.def.schema.as_str(), t.def.name.as_str(), i);
                let row = |(i, c)| column_row(place(i), c, key_text(&t.def, i));
                out.extend(t.def.shown_columns().map(row));
            });
            each_view(server, |v| {
                let row = |(i, c)| column_row((&v.schema, &v.name, i), c, "");
                out.extend(v.columns.iter().enumerate().map(row));
            });
            out
        }
        "VIEWS" => {
            let mut out = Vec::new();
            each_view(server, |v| out.push(view_row(v)));
            out
        }
        "STATISTICS" => each_table(server, statistics_rows),
        "KEY_COLUMN_USAGE" => each_table(server, |t, out| {
            unique(&t.def).for_each(|i| out.extend((0..i.parts.len()).map(|at| usage_row(&t.def, i, at))));
            for key in &t.def.foreign_keys {
                out.extend((0..key.columns.len()).map(|at| foreign_usage_row(&t.def, key, at)));
            }
        }),
        "FILES" => Vec::new(),
        "PERIODS" => each_table(server, period_rows),
        "KEY_PERIOD_USAGE" => each_table(server, key_period_rows),
        "PARTITIONS" => each_table(server, |t, out| partition_rows(server, t, out)),
        "REFERENTIAL_CONSTRAINTS" => {
            let snapshot = server.catalog();
            each_table(server, |t, out| {
                out.extend(t.def.foreign_keys.iter().map(|key| referential_row(&t.def, key, &snapshot)));
            })
        }
        "CHECK_CONSTRAINTS" => each_table(server, |t, out| {
            out.extend(checks(&t.def).map(|(level, name, text)| {
                let schema = s(&t.def.schema);
                vec![s("def"), schema, s(&t.def.name), s(name), s(level), s(text)]
            }));
        }),
        "TABLE_CONSTRAINTS" => each_table(server, constraint_rows),
        "SCHEMATA" => schemata(server),
        "ENGINES" => crate::show::engines().rows,
        "CHARACTER_SETS" => crate::show::character_sets()
            .rows
            .into_iter()
            .map(|mut row| {
                row.swap(1, 2);
                row
            })
            .collect(),
        "COLLATION_CHARACTER_SET_APPLICABILITY" => crate::show::applicable_collations(),
        "COLLATIONS" => crate::show::collations()
            .rows
            .into_iter()
            .map(|mut row| {
                row.push(s(""));
                row
            })
            .collect(),
        _ => return None,
    })
}

pub(crate) fn s(text: &str) -> Value {
    Value::utf8(text)
}

pub(crate) fn number(n: u64) -> Value {
    Value::Int(n as i64)
}

fn each_table(server: &Server, mut each: impl FnMut(&Arc<TableHandle>, &mut Rows)) -> Rows {
    let mut out = Vec::new();
    let snapshot = server.catalog();
    snapshot.databases.values().flat_map(|d| d.tables.values()).for_each(|t| each(t, &mut out));
    out
}

fn each_view(server: &Server, each: impl FnMut(&Arc<ViewDef>)) {
    server.catalog().databases.values().flat_map(|d| d.views.values()).for_each(each);
}

/// A table of the server's own making: SYSTEM VIEW in information_schema.
fn virtual_table_row(table: &crate::virtual_tables::Defined) -> Vec<Value> {
    let mut row = vec![Value::Null; TABLES.len()];
    let view = table.is_of(SCHEMAS[0]);
    let (kind, engine) = match (view, table.has_long_texts()) {
        (false, _) => ("BASE TABLE", "PERFORMANCE_SCHEMA"),
        (true, true) => ("SYSTEM VIEW", "Aria"),
        (true, false) => ("SYSTEM VIEW", "MEMORY"),
    };
    let schema = SCHEMAS[usize::from(!view)];
    row[..5].clone_from_slice(&[s("def"), s(schema), s(table.name), s(kind), s(engine)]);
    row[5] = number(if view { 11 } else { 10 });
    row[6] = s(if view && table.has_long_texts() { "Page" } else { "Fixed" });
    row[17] = s(Collation::UTF8MB3_GENERAL_CI.name());
    row[19] = s("");
    row[20] = s("");
    row[22] = s(if view { "Y" } else { "N" });
    row
}

fn view_table_row(view: &ViewDef) -> Vec<Value> {
    let mut row = vec![Value::Null; TABLES.len()];
    row[..4].clone_from_slice(&[s("def"), s(&view.schema), s(&view.name), s("VIEW")]);
    row[20] = s("VIEW");
    row
}

fn view_row(view: &ViewDef) -> Vec<Value> {
    let check = match view.check {
        ViewCheck::None => "NONE",
        ViewCheck::Local => "LOCAL",
        ViewCheck::Cascaded => "CASCADED",
    };
    let algorithm = match view.algorithm {
        ViewAlgorithm::Undefined => "UNDEFINED",
        ViewAlgorithm::Merge => "MERGE",
        ViewAlgorithm::TempTable => "TEMPTABLE",
    };
    vec![
        s("def"),
        s(&view.schema),
        s(&view.name),
        s(&view.body),
        s(check),
        s(if view.updatable { "YES" } else { "NO" }),
        s(&format!("{}@{}", view.definer_user, view.definer_host)),
        s(if view.invoker { "INVOKER" } else { "DEFINER" }),
        s(&view.client_charset),
        s(&view.connection_collation),
        s(algorithm),
    ]
}

fn schemata(server: &Server) -> Rows {
    let row = |name: &str, collation: Collation, comment: &str| {
        let charset = s(collation.charset().name());
        vec![s("def"), s(name), charset, s(collation.name()), Value::Null, s(comment)]
    };
    let mut out: Rows =
        SCHEMAS.into_iter().map(|name| row(name, Collation::UTF8MB3_GENERAL_CI, "")).collect();
    let snapshot = server.catalog();
    out.extend(snapshot.databases.values().map(|d| row(&d.def.name, d.def.collation, &d.def.comment)));
    out
}

fn table_row(server: &Server, handle: &Arc<TableHandle>) -> Vec<Value> {
    let def = &handle.def;
    let rows = handle.row_estimate();
    let bytes = server.table_bytes(handle);
    let average = rows.filter(|r| *r > 0).map_or(0, |r| bytes / r);
    let moment = types::Timestamp { seconds: def.created, micros: 0, fsp: 0 };
    let created =
        Value::Timestamp(moment).to_datetime(&mut Context::default()).map_or(Value::Null, Value::DateTime);
    vec![
        s("def"),
        s(&def.schema),
        s(&def.name),
        s(crate::show::table_type(handle)),
        s("InnoDB"),
        number(10),
        s("Dynamic"),
        rows.map_or(Value::Null, number),
        number(average),
        number(bytes),
        number(0),
        number(0),
        number(0),
        server.auto_increment(handle).map_or(Value::Null, number),
        created,
        Value::Null,
        Value::Null,
        s(def.collation.name()),
        Value::Null,
        s(&match def.partitioning {
            Some(_) => format!("{} partitioned", def.options).trim_start().to_owned(),
            None => def.options.clone(),
        }),
        s(&def.comment),
        number(0),
        s("N"),
    ]
}

fn unique(def: &TableDef) -> impl Iterator<Item = &IndexDef> {
    def.indexes.iter().filter(|i| i.unique && !i.parts.is_empty())
}

/// Level, name and text of each CHECK constraint; one beside a column has the column's name.
fn checks(def: &TableDef) -> impl Iterator<Item = (&'static str, &str, &str)> {
    let columns = def.columns.iter().filter_map(|c| Some(("Column", c.name.as_str(), c.check.as_deref()?)));
    columns.chain(def.checks.iter().map(|c| ("Table", c.name.as_str(), c.expr.as_str())))
}

fn constraint_rows(t: &Arc<TableHandle>, out: &mut Rows) {
    let def = &t.def;
    let mut row = |name: &str, kind: &str| {
        out.push(vec![s("def"), s(&def.schema), s(name), s(&def.schema), s(&def.name), s(kind)]);
    };
    for index in unique(def) {
        row(&index.name, if index.name == catalog::PRIMARY { "PRIMARY KEY" } else { "UNIQUE" });
    }
    checks(def).for_each(|(_, name, _)| row(name, "CHECK"));
    def.foreign_keys.iter().for_each(|key| row(&key.name, "FOREIGN KEY"));
}

fn usage_row(def: &TableDef, index: &IndexDef, at: usize) -> Vec<Value> {
    let column = &def.columns[index.parts[at].column].name;
    let mut row = vec![
        s("def"),
        s(&def.schema),
        s(&index.name),
        s("def"),
        s(&def.schema),
        s(&def.name),
        s(column),
        number(at as u64 + 1),
    ];
    row.resize(KEY_COLUMN_USAGE.len(), Value::Null);
    row
}

fn partition_row(server: &Server, handle: &Arc<TableHandle>) -> Vec<Value> {
    let table = table_row(server, handle);
    let mut row = vec![Value::Null; PARTITIONS.len()];
    row[..3].clone_from_slice(&table[..3]);
    // Rows, lengths and free space, then the times.
    row[12..18].clone_from_slice(&table[7..13]);
    row[18..21].clone_from_slice(&table[14..17]);
    (row[22], row[23]) = (s(""), s(""));
    row
}

/// A row for each part of a partitioned table.
fn partition_rows(server: &Server, handle: &Arc<TableHandle>, out: &mut Rows) {
    let whole = partition_row(server, handle);
    let Some(partitioning) = &handle.def.partitioning else { return out.push(whole) };
    let each = partitioning.parts_per_partition();
    let sub_rule = partitioning.sub.as_ref();
    for (at, part) in handle.table.partitions().iter().enumerate() {
        let partition = &partitioning.partitions[at / each];
        let sub = partition.subpartitions.get(at % each);
        let rows = handle.engine.row_estimate(part, false).unwrap_or(0);
        let bytes = server.space_bytes(part.spec().space);
        let mut row = whole.clone();
        row[3] = s(&partition.name);
        row[5] = number((at / each) as u64 + 1);
        row[7] = s(&partitioning.rule.method_name());
        row[9] = s(&partitioning.rule.expression());
        if let (Some(sub), Some(rule)) = (sub, sub_rule) {
            row[4] = s(&sub.name);
            row[6] = number((at % each) as u64 + 1);
            row[8] = s(&rule.method_name());
            row[10] = s(&rule.expression());
        }
        row[11] = partition.values.description().map_or(Value::Null, |text| s(&text));
        (row[12], row[13], row[14]) = (number(rows), number(bytes / rows.max(1)), number(bytes));
        (row[15], row[16]) = (Value::Null, number(0));
        if rows == 0 {
            row[13] = number(0);
        }
        row[22] = s(sub.map_or(&partition.options.comment, |sub| &sub.options.comment));
        row[23] = s("default");
        out.push(row);
    }
}

fn foreign_usage_row(def: &TableDef, key: &ForeignKeyDef, at: usize) -> Vec<Value> {
    let place = number(at as u64 + 1);
    vec![
        s("def"),
        s(&def.schema),
        s(&key.name),
        s("def"),
        s(&def.schema),
        s(&def.name),
        s(&def.columns[key.columns[at]].name),
        place.clone(),
        place,
        s(&key.parent_schema),
        s(&key.parent_table),
        s(&key.parent_columns[at]),
    ]
}

fn referential_row(def: &TableDef, key: &ForeignKeyDef, snapshot: &Snapshot) -> Vec<Value> {
    let parent = snapshot.table(&key.parent_schema, &key.parent_table);
    let unique = parent.and_then(|p| {
        let columns = relations::positions(&p.def, &key.parent_columns)?;
        let index = relations::index_for(&p.def, &columns)?;
        Some(s(&p.def.indexes[index].name))
    });
    vec![
        s("def"),
        s(&def.schema),
        s(&key.name),
        s("def"),
        s(&key.parent_schema),
        unique.unwrap_or(Value::Null),
        s("NONE"),
        s(key.on_update.text()),
        s(key.on_delete.text()),
        s(&def.name),
        s(&key.parent_table),
    ]
}

/// Periods that the table's owner has named.
fn period_rows(handle: &Arc<TableHandle>, out: &mut Rows) {
    let def = &handle.def;
    let mut row = |name: &str, start: &str, end: &str| {
        out.push(vec![s("def"), s(&def.schema), s(&def.name), s(name), s(start), s(end)]);
    };
    if let Some((start, end)) = def.versioning().filter(|(_, end)| !def.columns[*end].hidden) {
        row("SYSTEM_TIME", &def.columns[start].name, &def.columns[end].name);
    }
    if let Some(period) = &def.period {
        row(&period.name, &period.start, &period.end);
    }
}

/// Keys WITHOUT OVERLAPS.
fn key_period_rows(handle: &Arc<TableHandle>, out: &mut Rows) {
    let def = &handle.def;
    let Some(period) = &def.period else { return };
    for index in def.indexes.iter().filter(|i| i.without_overlaps) {
        let (schema, table) = (s(&def.schema), s(&def.name));
        let row = [s("def"), schema.clone(), s(&index.name), s("def"), schema, table, s(&period.name)];
        out.push(row.into());
    }
}

fn statistics_rows(handle: &Arc<TableHandle>, out: &mut Rows) {
    let def = &handle.def;
    for (key, index) in def.indexes.iter().enumerate().filter(|(_, i)| !i.parts.is_empty()) {
        let shown = index.parts.iter().enumerate().filter(|(_, p)| !def.columns[p.column].hidden);
        for (i, part) in shown {
            let column = &def.columns[part.column];
            out.push(vec![
                s("def"),
                s(&def.schema),
                s(&def.name),
                Value::Int(i64::from(!index.unique)),
                s(&def.schema),
                s(&index.name),
                number(i as u64 + 1),
                s(&column.name),
                s(if part.descending { "D" } else { "A" }),
                handle.cardinality(key, i + 1).map_or(Value::Null, number),
                part.prefix.map_or(Value::Null, |chars| number(u64::from(chars))),
                Value::Null,
                s(if column.nullable { "YES" } else { "" }),
                s(def.index_method(index)),
                s(""),
                s(&index.comment),
                s(if index.ignored { "YES" } else { "NO" }),
            ]);
        }
    }
}

/// DATA_TYPE to COLLATION_NAME of a column, eight cells.
pub(crate) fn type_row(column: &ColumnDef) -> Vec<Value> {
    let text = column.type_text();
    let data_type = text.split(['(', ' ']).next().unwrap_or(&text).to_owned();
    let size = sizes(column);
    let some = |n: Option<u64>| n.map_or(Value::Null, number);
    let collation = column.ty.collation().filter(|c| !c.is_binary());
    vec![
        s(&data_type),
        some(size.chars),
        some(size.octets),
        some(size.precision),
        some(size.scale),
        some(size.fsp),
        collation.map_or(Value::Null, |c| s(c.charset().name())),
        collation.map_or(Value::Null, |c| s(c.name())),
    ]
}

fn column_row((schema, table, at): (&str, &str, usize), column: &ColumnDef, key: &'static str) -> Vec<Value> {
    let mut row = vec![
        s("def"),
        s(schema),
        s(table),
        s(&column.name),
        number(at as u64 + 1),
        default_value(column),
        s(if column.nullable { "YES" } else { "NO" }),
    ];
    row.extend(type_row(column));
    row.extend([
        s(&column.type_text()),
        s(key),
        s(&extra_text(column)),
        s("select,insert,update,references"),
        s(&column.comment),
        s(if column.generated.is_some() || column.row_time.is_some() { "ALWAYS" } else { "NEVER" }),
        match (&column.generated, column.row_time) {
            (Some(generated), _) => s(&generated.expr),
            (None, Some(RowTime::Start)) => s("ROW START"),
            (None, Some(RowTime::End)) => s("ROW END"),
            (None, None) => Value::Null,
        },
        s(if column.row_time == Some(RowTime::Start) { "YES" } else { "NO" }),
        s(if column.row_time == Some(RowTime::End) { "YES" } else { "NO" }),
    ]);
    row
}

/// A default as an expression: texts and times in quotes.
fn default_value(column: &ColumnDef) -> Value {
    match &column.default {
        DefaultValue::Literal(DefaultLiteral(Value::Str(text)))
            if text.collation().is_binary() && !text.bytes().is_empty() =>
        {
            s(&column.default_text().unwrap_or_default())
        }
        DefaultValue::Literal(v) => {
            let text = crate::text::to_string(&v.0);
            let plain = matches!(v.0, Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_));
            if plain { s(&text) } else { s(&format!("'{}'", text.replace('\'', "''"))) }
        }
        DefaultValue::CurrentTimestamp => s("current_timestamp()"),
        DefaultValue::Expression(text) => s(text),
        DefaultValue::None | DefaultValue::Null if column.nullable => s("NULL"),
        DefaultValue::None | DefaultValue::Null => Value::Null,
    }
}

/// The numbers that describe a column's type.
#[derive(Default)]
struct Sizes {
    chars: Option<u64>,
    octets: Option<u64>,
    precision: Option<u64>,
    scale: Option<u64>,
    fsp: Option<u64>,
}

fn sizes(column: &ColumnDef) -> Sizes {
    let none = Sizes::default();
    match &column.ty {
        ColumnType::Int { size, unsigned } => {
            let digits = match size {
                IntSize::Tiny => 3,
                IntSize::Small => 5,
                IntSize::Medium => 7,
                IntSize::Int => 10,
                IntSize::Big => 19 + u64::from(*unsigned),
            };
            Sizes { precision: Some(digits), scale: Some(0), ..none }
        }
        ColumnType::Float { .. } | ColumnType::Double { .. } => {
            let natural = if matches!(column.ty, ColumnType::Float { .. }) { 12 } else { 22 };
            let precision = Some(column.width.map_or(natural, u64::from));
            Sizes { precision, scale: column.decimals.map(u64::from), ..none }
        }
        ColumnType::Decimal { precision, scale, .. } => {
            Sizes { precision: Some(u64::from(*precision)), scale: Some(u64::from(*scale)), ..none }
        }
        ColumnType::Bit { bits } => Sizes { precision: Some(u64::from(*bits)), ..none },
        ColumnType::Time { fsp } | ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => {
            Sizes { fsp: Some(u64::from(*fsp)), ..none }
        }
        ColumnType::Char { max_bytes, collation } | ColumnType::VarChar { max_bytes, collation } => {
            let octets = u64::from(*max_bytes);
            let chars = octets / (collation.charset().max_len() as u64).max(1);
            Sizes { chars: Some(chars), octets: Some(octets), ..none }
        }
        ColumnType::Blob { length_bytes, .. } => {
            let octets = Some((1u64 << (8 * u32::from(*length_bytes))) - 1);
            Sizes { chars: octets, octets, ..none }
        }
        ColumnType::Enum { members, collation } | ColumnType::Set { members, collation } => {
            let chars = members.iter().map(|m| collation.charset().char_count(m) as u64);
            // A value of a SET may have all members, with commas between them.
            let longest = match column.ty {
                ColumnType::Set { .. } => chars.sum::<u64>() + (members.len() as u64).saturating_sub(1),
                _ => chars.max().unwrap_or(0),
            };
            let octets = longest * collation.charset().max_len() as u64;
            Sizes { chars: Some(longest), octets: Some(octets), ..none }
        }
        ColumnType::Date | ColumnType::Year | ColumnType::Fixed(_) => none,
    }
}
