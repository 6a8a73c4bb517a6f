//! Tables of `information_schema` and `performance_schema` that are more than a look into the catalog: status and variables, processes,
//! the engine's transactions, locks, counters and definitions.
//!
//! # Columns
//! `virtual_tables.txt` lists them as MariaDB 11.8 has them, a table a line: `schema.TABLE COLUMN:type ..`, where the type is `vN` for texts
//! of N characters, `L` for long ones, `bN`, `BN`, `iN`, `IN` for BIGINT and INT of N digits, signed and unsigned, `t` for times, `d` for
//! doubles, `DN,M` for decimals; `!` behind it says NOT NULL. Tables whose rows `information_schema` makes are listed, too.
//!
//! # Empty tables
//! Those of features that are not here or off by default (user statistics, full text search, compressed pages, the thread pool and the
//! performance schema) are there and empty, as they are on a MariaDB server where these are off.

use std::sync::LazyLock;

use accounts::{Privileges, Rights};
use charset::Collation;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::meta::ColumnMeta;
use sql_plan::plan::VirtualTable;
use types::{Context, Value};

use crate::engine_tables;
use crate::information_schema::{Kind, Rows, meta, s};
use crate::plugins;
use crate::registry::Entry;
use crate::server::Server;
use crate::variables::{Arg, Change, Kind as VariableKind, Scope, SessionVariables, Var};

/// A table by its line in the list.
pub(crate) struct Defined {
    schema: &'static str,
    pub(crate) name: &'static str,
    columns: Vec<DefinedColumn>,
}

/// One of its columns.
pub(crate) struct DefinedColumn {
    pub(crate) name: &'static str,
    kind: Kind,
    /// Its type as SHOW tells it.
    pub(crate) type_text: String,
    pub(crate) nullable: bool,
}

static DEFINED: LazyLock<Vec<Defined>> =
    LazyLock::new(|| include_str!("virtual_tables.txt").lines().filter_map(defined).collect());

fn defined(line: &'static str) -> Option<Defined> {
    let mut words = line.split(' ');
    let (schema, name) = words.next()?.split_once('.')?;
    let column = |word: &'static str| {
        let (name, code) = word.split_once(':')?;
        let (code, nullable) = code.strip_suffix('!').map_or((code, true), |code| (code, false));
        let (letter, width) = code.split_at_checked(1)?;
        let (kind, type_text) = match letter {
            "v" => (Kind::Text(width.parse().ok()?), format!("varchar({width})")),
            "L" => (Kind::LongText, "longtext".to_owned()),
            "b" => (Kind::Number, format!("bigint({width})")),
            "B" => (Kind::Unsigned, format!("bigint({width}) unsigned")),
            "i" => (Kind::Int, format!("int({width})")),
            "I" => (Kind::UnsignedInt, format!("int({width}) unsigned")),
            "t" if width.is_empty() => (Kind::DateTime, "datetime".to_owned()),
            "t" if width == "2" => (Kind::DateTime2, "datetime(2)".to_owned()),
            "t" => (Kind::DateTime, format!("datetime({width})")),
            "D" => (Kind::Double, format!("decimal({width})")),
            _ => (Kind::Double, "double".to_owned()),
        };
        Some(DefinedColumn { name, kind, type_text, nullable })
    };
    Some(Defined { schema, name, columns: words.filter_map(column).collect() })
}

fn find(schema: &str, name: &str) -> Option<&'static Defined> {
    DEFINED.iter().find(|d| d.schema.eq_ignore_ascii_case(schema) && d.name.eq_ignore_ascii_case(name))
}

/// The table of that name, for the planner.
pub(crate) fn table(schema: &str, name: &str) -> Option<VirtualTable> {
    let found = find(schema, name)?;
    Some(VirtualTable { name: found.name, columns: found.metas().collect() })
}

/// All tables of the list.
pub(crate) fn all() -> &'static [Defined] {
    &DEFINED
}

/// Names of a schema's tables.
pub(crate) fn names(schema: &str) -> impl Iterator<Item = &'static str> {
    DEFINED.iter().filter(move |d| d.schema == schema).map(|d| d.name)
}

/// The table of that name, for SHOW.
pub(crate) fn describe(schema: &str, name: &str) -> Option<&'static Defined> {
    find(schema, name)
}

impl Defined {
    pub(crate) fn columns(&self) -> &[DefinedColumn] {
        &self.columns
    }
    pub(crate) fn has_long_texts(&self) -> bool {
        self.columns.iter().any(|c| matches!(c.kind, Kind::LongText))
    }
    pub(crate) fn is_of(&self, schema: &str) -> bool {
        self.schema == schema
    }
    fn metas(&self) -> impl Iterator<Item = ColumnMeta> {
        self.columns.iter().map(|column| {
            let mut meta = meta(column.name, column.kind);
            if !column.nullable {
                meta.ty.nullable = false;
                meta.flags |= sql_plan::meta::flags::NOT_NULL;
            }
            meta
        })
    }
    /// A row by names of columns; what is not named is NULL.
    pub(crate) fn row(&self, cells: Vec<(&str, Value)>) -> Vec<Value> {
        let mut row = vec![Value::Null; self.columns.len()];
        for (name, value) in cells {
            let at = self.columns.iter().position(|c| c.name == name);
            debug_assert!(at.is_some(), "{} has no column {name}", self.name);
            if let Some(cell) = at.and_then(|at| row.get_mut(at)) {
                *cell = value;
            }
        }
        row
    }
}

/// Who reads.
pub(crate) struct Reader<'a> {
    pub server: &'a Server,
    pub entry: &'a Entry,
    pub variables: &'a SessionVariables,
    pub rights: &'a Rights,
    pub user: &'a str,
    pub tls: Option<&'a crate::tls::TlsFacts>,
    pub user_variables: &'a std::collections::HashMap<Box<str>, Value>,
}

/// All rows of a table; `None` when it is none of these. Names are those of the list: tables of the performance schema have small letters.
pub(crate) fn rows(reader: &Reader<'_>, name: &str) -> Option<SqlResult<Rows>> {
    let table = DEFINED.iter().find(|d| d.name == name)?;
    let needs_process = name.starts_with("INNODB_") && !name.starts_with("INNODB_FT_DEFAULT");
    if needs_process && !reader.rights.global().has(Privileges::PROCESS) {
        let e = client_error::account::privilege_needed(Privileges::PROCESS.name());
        return Some(Err(SqlError::Other { errno: e.errno, state: e.state, text: e.text.into_owned() }));
    }
    let server = reader.server;
    Some(Ok(match name {
        "GLOBAL_STATUS" => status(reader, true),
        "SESSION_STATUS" => status(reader, false),
        "GLOBAL_VARIABLES" => variables(reader, true),
        "SESSION_VARIABLES" => variables(reader, false),
        "SYSTEM_VARIABLES" => Var::all().map(|var| table.row(system_variable(reader, var))).collect(),
        "PROCESSLIST" => processes(reader, table),
        "PLUGINS" | "ALL_PLUGINS" => plugins::all().map(|p| table.row(p.cells())).collect(),
        "COLLATION_CHARACTER_SET_APPLICABILITY" => collations(table),
        "KEYWORDS" => sql_syntax::keywords().map(|word| vec![s(word)]).collect(),
        "SQL_FUNCTIONS" => functions::names().map(|name| vec![s(name)]).collect(),
        "USERS" => users(reader, table),
        "user_variables" => user_variables(reader, table),
        _ => engine_tables::rows(server, table).unwrap_or_default(),
    }))
}

fn status(reader: &Reader<'_>, global: bool) -> Rows {
    let own = (!global).then_some(&reader.entry.counters);
    let all = reader.server.all_status(own, reader.tls);
    all.into_iter().map(|(name, value)| vec![s(&name.to_uppercase()), s(&value)]).collect()
}

fn variables(reader: &Reader<'_>, global: bool) -> Rows {
    let shown = Var::all().filter(|v| !global || v.def().scope != Scope::Session);
    shown
        .map(|var| {
            let value = value_text(reader, var, global || var.def().scope == Scope::Global);
            vec![s(&var.name().to_uppercase()), value]
        })
        .collect()
}

fn value_text(reader: &Reader<'_>, var: Var, global: bool) -> Value {
    let setting = if global { reader.server.variables.get(var) } else { reader.variables.get(var).clone() };
    s(&setting.text(var.def()).unwrap_or_default())
}

fn system_variable(reader: &Reader<'_>, var: Var) -> Vec<(&'static str, Value)> {
    let def = var.def();
    let yes_no = |on: bool| s(if on { "YES" } else { "NO" });
    let list = |names: &[&str]| s(&names.join(","));
    let (kind, options, range) = match def.kind {
        VariableKind::Bool => ("BOOLEAN", s("OFF,ON"), None),
        VariableKind::UInt { min, max, block } => {
            ("BIGINT UNSIGNED", Value::Null, Some([min.to_string(), max.to_string(), block.to_string()]))
        }
        VariableKind::Int { min, max, block } => {
            ("BIGINT", Value::Null, Some([min.to_string(), max.to_string(), block.to_string()]))
        }
        VariableKind::Double { min, max } => {
            ("DOUBLE", Value::Null, Some([min.to_string(), max.to_string(), String::new()]))
        }
        VariableKind::Enum(names) => ("ENUM", list(names), None),
        VariableKind::Set(names) => ("SET", list(names), None),
        VariableKind::Flags(names) => ("FLAGSET", list(names), None),
        VariableKind::Text | VariableKind::TimeZone => ("VARCHAR", Value::Null, None),
        VariableKind::Charset | VariableKind::Collation => ("ENUM", Value::Null, None),
    };
    let [min, max, block] = range.map_or([Value::Null, Value::Null, Value::Null], |texts| {
        texts.map(|t| if t.is_empty() { Value::Null } else { s(&t) })
    });
    let default = if def.default == "\0" { Value::Null } else { s(def.default) };
    vec![
        ("VARIABLE_NAME", s(&def.name.to_uppercase())),
        (
            "SESSION_VALUE",
            if def.scope == Scope::Global { Value::Null } else { value_text(reader, var, false) },
        ),
        (
            "GLOBAL_VALUE",
            if def.scope == Scope::Session { Value::Null } else { value_text(reader, var, true) },
        ),
        ("GLOBAL_VALUE_ORIGIN", s("COMPILE-TIME")),
        ("DEFAULT_VALUE", default),
        (
            "VARIABLE_SCOPE",
            s(match def.scope {
                Scope::Global => "GLOBAL",
                Scope::Both => "SESSION",
                Scope::Session => "SESSION ONLY",
            }),
        ),
        ("VARIABLE_TYPE", s(kind)),
        ("VARIABLE_COMMENT", s("")),
        ("NUMERIC_MIN_VALUE", min),
        ("NUMERIC_MAX_VALUE", max),
        ("NUMERIC_BLOCK_SIZE", block),
        ("ENUM_VALUE_LIST", options),
        ("READ_ONLY", yes_no(def.change == Change::Fixed)),
        (
            "COMMAND_LINE_ARGUMENT",
            match def.arg {
                Arg::No => Value::Null,
                Arg::Required => s("REQUIRED"),
                Arg::Optional => s("OPTIONAL"),
            },
        ),
    ]
}

fn processes(reader: &Reader<'_>, table: &Defined) -> Rows {
    let all = reader.rights.global().has(Privileges::PROCESS);
    let list = reader.server.connections.processes(reader.server.now_us());
    let seen = list.into_iter().filter(|p| all || p.user == reader.user);
    seen.map(|p| {
        let text = p.statement.as_ref().map(|t| String::from_utf8_lossy(t).into_owned());
        let info = text.map_or(Value::Null, |t| s(&t));
        let state = match () {
            () if info.is_null() => p.state,
            () if p.id == reader.entry.id => "Filling schema table",
            () => "starting",
        };
        table.row(vec![
            ("ID", Value::Int(p.id as i64)),
            ("USER", s(&p.user)),
            ("HOST", s(&p.host)),
            ("DB", p.database.map_or(Value::Null, |d| s(&d))),
            ("COMMAND", s(p.command)),
            ("TIME", Value::Int(p.seconds as i64)),
            ("STATE", s(state)),
            ("INFO", info.clone()),
            ("TIME_MS", Value::Double(p.micros as f64 / 1000.0)),
            ("STAGE", Value::Int(0)),
            ("MAX_STAGE", Value::Int(0)),
            ("PROGRESS", Value::Double(0.0)),
            ("MEMORY_USED", Value::Int(0)),
            ("MAX_MEMORY_USED", Value::Int(0)),
            ("EXAMINED_ROWS", Value::Int(0)),
            ("SENT_ROWS", Value::Int(0)),
            ("QUERY_ID", Value::Int(p.query_id as i64)),
            ("INFO_BINARY", info),
            ("TID", Value::Int(p.id as i64)),
            ("TMP_SPACE_USED", Value::Int(0)),
        ])
    })
    .collect()
}

fn collations(table: &Defined) -> Rows {
    Collation::all()
        .map(|c| {
            let is_default = Collation::default_of(c.charset()) == c;
            table.row(vec![
                ("COLLATION_NAME", s(c.name())),
                ("CHARACTER_SET_NAME", s(c.charset().name())),
                ("FULL_COLLATION_NAME", s(c.name())),
                ("ID", Value::Int(i64::from(c.id()))),
                ("IS_DEFAULT", s(if is_default { "Yes" } else { "" })),
            ])
        })
        .collect()
}

fn users(reader: &Reader<'_>, table: &Defined) -> Rows {
    let server = reader.server;
    let accounts = server.accounts.current();
    let lifetime = server.variables.u64(Var::DEFAULT_PASSWORD_LIFETIME);
    let all = reader.rights.database(crate::system_tables::MYSQL).has(Privileges::SELECT);
    let own = (reader.rights.user(), reader.rights.account_host());
    let shown =
        accounts.tables.accounts.values().filter(|a| !a.is_role && (all || own == (&a.user, &a.host)));
    shown
        .map(|a| {
            let expires = a.password_expires(lifetime).map_or(Value::Null, date_time);
            table.row(vec![
                ("USER", s(&crate::account::quoted_account(&a.user, &a.host))),
                ("PASSWORD_ERRORS", Value::Int(server.failures.of(&a.user, &a.host) as i64)),
                ("PASSWORD_EXPIRATION_TIME", expires),
            ])
        })
        .collect()
}

/// Seconds since 1970 as a time, in UTC as elsewhere in information_schema.
pub(crate) fn date_time(seconds: u64) -> Value {
    let moment = types::Timestamp { seconds: seconds as _, micros: 0, fsp: 0 };
    Value::Timestamp(moment).to_datetime(&mut Context::default()).map_or(Value::Null, Value::DateTime)
}

fn user_variables(reader: &Reader<'_>, table: &Defined) -> Rows {
    let mut all: Vec<_> = reader.user_variables.iter().collect();
    all.sort_by_key(|(name, _)| *name);
    all.into_iter()
        .map(|(name, value)| {
            let (kind, charset) = match value {
                Value::Int(_) | Value::UInt(_) => ("INT", "latin1"),
                Value::Double(_) | Value::Float(_) => ("DOUBLE", "latin1"),
                Value::Decimal(_) => ("DECIMAL", "latin1"),
                Value::Str(text) => ("VARCHAR", text.collation().charset().name()),
                _ => ("VARCHAR", "binary"),
            };
            let shown = if value.is_null() { Value::Null } else { s(&crate::text::to_string(value)) };
            table.row(vec![
                ("VARIABLE_NAME", s(name)),
                ("VARIABLE_VALUE", shown),
                ("VARIABLE_TYPE", s(kind)),
                ("CHARACTER_SET_NAME", s(charset)),
            ])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_defines_a_table() {
        let lines = include_str!("virtual_tables.txt").lines().count();
        assert_eq!(DEFINED.len(), lines);
        let trx = find("information_schema", "innodb_trx").unwrap();
        assert_eq!((trx.name, trx.columns.len()), ("INNODB_TRX", 22));
        assert!(DEFINED.iter().all(|d| !d.columns.is_empty()));
        assert!(names("performance_schema").all(|n| n.chars().all(|c| !c.is_ascii_uppercase())));
    }
}
