//! SHOW of databases, tables, columns and indexes, from a snapshot of the catalog.

use std::sync::Arc;

use catalog::{ColumnDef, Database, DefaultLiteral, DefaultValue, TableDef, TableHandle, ViewDef};
use client_error::{ClientError, connection as error};
use sql_plan::meta::{ColumnMeta, ExprType, FieldType};
use sql_syntax::ast::{Ident, ObjectName};
use types::{DateTime, Value};

use super::{Listing, bigint, bigint_or_null, date_time, int, modes, nullable, s, text};
use crate::information_schema::SCHEMAS;
use crate::session::Session;
use crate::virtual_tables::{Defined, DefinedColumn};

pub(super) fn databases(session: &Session) -> Listing {
    let mut list = Listing::new(vec![text("Database", 64)]);
    let catalog = session.server().catalog();
    let mut names: Vec<&str> = catalog.databases.keys().map(String::as_str).collect();
    names.extend(SCHEMAS.iter().filter(|v| !catalog.databases.contains_key(**v)));
    names.sort_unstable();
    for name in names {
        list.row([s(name)]);
    }
    list
}

/// Whether a SHOW is about a database whose tables nobody made: there is nothing else in it.
fn is_virtual(session: &Session, named: Option<Ident<'_>>) -> bool {
    let name = named.map_or_else(|| session.database.to_string(), |n| n.text().into_owned());
    crate::information_schema::schema(&name).is_some()
}

/// The database a SHOW is about.
fn database(session: &Session, named: Option<Ident<'_>>) -> Result<Arc<Database>, ClientError> {
    let name = match named {
        Some(name) => name.text().into_owned(),
        None if session.database.is_empty() => return Err(error::no_database_selected()),
        None => session.database.to_string(),
    };
    let catalog = session.server().catalog();
    catalog.database(&name).cloned().ok_or_else(|| error::unknown_database(&name))
}

fn table(session: &Session, name: &ObjectName<'_>) -> Result<Arc<TableHandle>, ClientError> {
    let schema = match name.database {
        Some(schema) => schema.text().into_owned(),
        None if session.database.is_empty() => return Err(error::no_database_selected()),
        None => session.database.to_string(),
    };
    let table = name.name.text();
    let catalog = session.catalog.snapshot();
    catalog.table(&schema, &table).cloned().ok_or_else(|| error::no_such_table(&schema, &table))
}

pub(super) fn tables(
    session: &Session,
    full: bool,
    named: Option<Ident<'_>>,
) -> Result<Listing, ClientError> {
    let shown = named.map_or_else(|| session.database.to_string(), |n| n.text().into_owned());
    let (found, database_name);
    let mut names: Vec<(&str, &str)>;
    if let Some(name) = crate::information_schema::schema(&shown) {
        database_name = name;
        let kind = if name == SCHEMAS[0] { "SYSTEM VIEW" } else { "BASE TABLE" };
        names = crate::information_schema::names(name).map(|n| (n, kind)).collect();
    } else {
        found = database(session, named)?;
        database_name = found.def.name.as_str();
        // As MariaDB, which tells here of sequences and not of versions.
        let kind = |t: &TableHandle| match table_type(t) {
            "SYSTEM VERSIONED" => "BASE TABLE",
            other => other,
        };
        names = found.tables.iter().map(|(n, t)| (n.as_str(), kind(t))).collect();
        names.extend(found.views.keys().map(|n| (n.as_str(), "VIEW")));
    }
    names.sort_unstable();
    // Temporary tables come first, the newest before the others.
    let own = session.catalog.temporaries();
    let own = own.iter().filter(|t| t.schema() == shown);
    names.splice(0..0, own.map(|t| (t.name(), "TEMPORARY TABLE")));
    let mut columns = vec![text(&format!("Tables_in_{database_name}"), 64)];
    if full {
        columns.push(text("Table_type", 64));
    }
    let mut list = Listing::new(columns);
    for (name, kind) in names {
        if full {
            list.row([s(name), s(kind)]);
        } else {
            list.row([s(name)]);
        }
    }
    Ok(list)
}

fn seconds_to_value(session: &Session, seconds: u64) -> Value {
    if seconds == 0 {
        return Value::Null;
    }
    let moment = types::Timestamp { seconds, micros: 0, fsp: 0 };
    Value::Timestamp(moment)
        .to_datetime(&mut session.context())
        .map_or(Value::Null, |d: DateTime| Value::DateTime(d))
}

pub(super) fn table_status(session: &Session, named: Option<Ident<'_>>) -> Result<Listing, ClientError> {
    let database = database(session, named)?;
    let number =
        |name: &str| ColumnMeta::plain(name, ExprType { length: 21, ..ExprType::bigint().unsigned() });
    let mut list = Listing::new(vec![
        text("Name", 64),
        nullable("Engine", 64),
        number("Version"),
        nullable("Row_format", 10),
        number("Rows"),
        number("Avg_row_length"),
        number("Data_length"),
        number("Max_data_length"),
        number("Index_length"),
        number("Data_free"),
        number("Auto_increment"),
        date_time("Create_time"),
        date_time("Update_time"),
        date_time("Check_time"),
        nullable("Collation", 64),
        number("Checksum"),
        nullable("Create_options", 2048),
        text("Comment", 2048),
        number("Max_index_length"),
        nullable("Temporary", 1),
    ]);
    for (name, handle) in &database.tables {
        let def = &handle.def;
        let rows = handle.row_estimate();
        let bytes = session.server().table_bytes(handle);
        let average = rows.filter(|r| *r > 0).map_or(0, |r| bytes / r);
        let auto = session.server().auto_increment(handle).map_or(Value::Null, Value::UInt);
        list.row([
            s(name),
            s("InnoDB"),
            Value::UInt(10),
            s("Dynamic"),
            rows.map_or(Value::Null, Value::UInt),
            Value::UInt(average),
            Value::UInt(bytes),
            Value::UInt(0),
            Value::UInt(0),
            Value::UInt(0),
            auto,
            seconds_to_value(session, def.created),
            Value::Null,
            Value::Null,
            s(def.collation.name()),
            Value::Null,
            s(&def.options),
            s(&def.comment),
            Value::UInt(0),
            s("N"),
        ]);
    }
    for name in database.views.keys() {
        let mut row = vec![Value::Null; list.columns.len()];
        (row[0], row[17]) = (s(name), s("VIEW"));
        list.row(row);
    }
    list.rows.sort_by_key(|row| crate::text::to_string(&row[0]));
    Ok(list)
}

pub(super) fn open_tables(session: &Session) -> Listing {
    let mut list = Listing::new(vec![
        text("Database", 64),
        text("Table", 64),
        bigint("In_use", 1),
        bigint("Name_locked", 4),
    ]);
    for (schema, database) in &session.server().catalog().databases {
        for name in database.tables.keys() {
            list.row([s(schema), s(name), Value::Int(0), Value::Int(0)]);
        }
    }
    list
}

pub(super) fn blob_text(name: &str, nullable: bool) -> ColumnMeta {
    let ty = ExprType { field: FieldType::Blob, length: 196_605, ..text(name, 1).ty };
    let mut meta = ColumnMeta::plain(name, ty.nullable(nullable));
    meta.flags |= sql_plan::meta::flags::BLOB;
    meta
}

pub(super) fn columns(session: &Session, name: &ObjectName<'_>, full: bool) -> Result<Listing, ClientError> {
    let defined = virtual_table(session, name);
    let found = if defined.is_some() { None } else { Some(described(session, name)?) };
    let mut columns = vec![text("Field", 64), blob_text("Type", false)];
    if full {
        columns.push(nullable("Collation", 64));
    }
    columns.extend([text("Null", 3), text("Key", 3), blob_text("Default", true), text("Extra", 80)]);
    if full {
        columns.extend([text("Privileges", 80), text("Comment", 1024)]);
    }
    let mut list = Listing::new(columns);
    if let Some(defined) = defined {
        defined.columns().iter().for_each(|column| list.row(virtual_column(column, full)));
    }
    let Some(found) = found else { return Ok(list) };
    for (i, column) in found.columns().iter().enumerate().filter(|(_, c)| !c.hidden) {
        let mut row = vec![s(&column.name), s(&column.type_text())];
        if full {
            let collation = column.ty.collation().filter(|c| !c.is_binary());
            row.push(collation.map_or(Value::Null, |c| s(c.name())));
        }
        row.extend([
            s(if column.nullable { "YES" } else { "NO" }),
            s(found.key(i)),
            default_text(column),
            s(&extra_text(column)),
        ]);
        if full {
            row.extend([s("select,insert,update,references"), s(&column.comment)]);
        }
        list.row(row);
    }
    Ok(list)
}

/// The `Key` column: PRI, UNI (alone in a unique index), MUL (first of an index).
pub(crate) fn key_text(def: &TableDef, column: usize) -> &'static str {
    let leads = |i: &&catalog::IndexDef| i.parts.first().is_some_and(|p| p.column == column);
    if def.has_primary_key() && def.indexes[0].parts.iter().any(|p| p.column == column) {
        return "PRI";
    }
    if def.indexes.iter().filter(leads).any(|i| i.unique && i.parts.len() == 1) {
        return "UNI";
    }
    if def.indexes.iter().any(|i| leads(&i)) { "MUL" } else { "" }
}

fn default_text(column: &ColumnDef) -> Value {
    match (&column.default, column.nullable) {
        (DefaultValue::Literal(DefaultLiteral(Value::Str(text))), _)
            if text.collation().is_binary() && !text.bytes().is_empty() =>
        {
            s(&column.default_text().unwrap_or_default())
        }
        (DefaultValue::Literal(v), _) => s(&crate::text::to_string(&v.0)),
        (DefaultValue::CurrentTimestamp, _) => s("current_timestamp()"),
        (DefaultValue::Expression(text), _) => s(text),
        (DefaultValue::None | DefaultValue::Null, _) => Value::Null,
    }
}

pub(crate) fn extra_text(column: &ColumnDef) -> String {
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" };
        return if column.invisible { format!("{kind}, INVISIBLE") } else { kind.to_owned() };
    }
    if column.row_time.is_some() {
        return if column.invisible { "STORED GENERATED, INVISIBLE" } else { "STORED GENERATED" }.to_owned();
    }
    let mut parts = Vec::new();
    if column.auto_increment {
        parts.push("auto_increment");
    }
    if column.on_update_now {
        parts.push("on update current_timestamp()");
    }
    if column.invisible {
        parts.push("INVISIBLE");
    }
    if column.unversioned {
        parts.push("WITHOUT SYSTEM VERSIONING");
    }
    parts.join(", ")
}

pub(super) fn indexes(session: &Session, name: &ObjectName<'_>) -> Result<Listing, ClientError> {
    let found = described(session, name)?;
    let mut list = Listing::new(vec![
        text("Table", 64),
        bigint("Non_unique", 1),
        text("Key_name", 64),
        int("Seq_in_index", 2),
        text("Column_name", 64),
        nullable("Collation", 1),
        bigint_or_null("Cardinality", 21),
        bigint_or_null("Sub_part", 3),
        nullable("Packed", 10),
        text("Null", 3),
        text("Index_type", 16),
        text("Comment", 16),
        text("Index_comment", 1024),
        text("Ignored", 3),
    ]);
    // A view has no indexes.
    let Described::Table(handle) = found else { return Ok(list) };
    let def = &handle.def;
    let seen = |column: usize| {
        let column = &def.columns[column].name;
        !super::column_privileges(&session.rights, &def.schema, &def.name, column).is_empty()
    };
    // An index is shown if all its columns may be seen.
    for (number, index) in def.indexes.iter().enumerate() {
        if !index.parts.iter().all(|part| seen(part.column)) {
            continue;
        }
        let shown = index.parts.iter().enumerate().filter(|(_, p)| !def.columns[p.column].hidden);
        for (i, part) in shown {
            let column = &def.columns[part.column];
            let cardinality =
                handle.cardinality(number, i + 1).map_or(Value::Null, |rows| Value::Int(rows as i64));
            list.row([
                s(&def.name),
                Value::Int(i64::from(!index.unique)),
                s(&index.name),
                Value::Int(i as i64 + 1),
                s(&column.name),
                s(if part.descending { "D" } else { "A" }),
                cardinality,
                part.prefix.map_or(Value::Null, |chars| Value::Int(i64::from(chars))),
                Value::Null,
                s(if column.nullable { "YES" } else { "" }),
                s(def.index_method(index)),
                s(""),
                s(&index.comment),
                s(if index.ignored { "YES" } else { "NO" }),
            ]);
        }
    }
    Ok(list)
}

/// What DESCRIBE can describe.
enum Described {
    Table(Arc<TableHandle>),
    View(Arc<ViewDef>),
}

impl Described {
    fn columns(&self) -> &[ColumnDef] {
        match self {
            Self::Table(handle) => &handle.def.columns,
            Self::View(view) => &view.columns,
        }
    }
    fn key(&self, column: usize) -> &'static str {
        match self {
            Self::Table(handle) => key_text(&handle.def, column),
            Self::View(_) => "",
        }
    }
}

fn view(session: &Session, name: &ObjectName<'_>) -> Option<Arc<ViewDef>> {
    let schema = name.database.map_or_else(|| session.database.to_string(), |d| d.text().into_owned());
    session.catalog.snapshot().view(&schema, &name.name.text()).cloned()
}

fn described(session: &Session, name: &ObjectName<'_>) -> Result<Described, ClientError> {
    match view(session, name) {
        Some(view) => Ok(Described::View(view)),
        None => table(session, name).map(Described::Table),
    }
}

/// What kind of table information_schema says it is.
pub(crate) fn table_type(table: &TableHandle) -> &'static str {
    match &table.def {
        def if def.sequence.is_some() => "SEQUENCE",
        def if def.versioning().is_some() => "SYSTEM VERSIONED",
        _ => "BASE TABLE",
    }
}

/// SHOW CREATE SEQUENCE.
pub(super) fn create_sequence(session: &Session, name: &ObjectName<'_>) -> Result<Listing, ClientError> {
    let no_sequence = |schema: &str, name: &str| client_error::program::no_sequence(schema, name);
    if let Some(view) = view(session, name) {
        return Err(no_sequence(&view.schema, &view.name));
    }
    let handle = table(session, name)?;
    let text_of = handle.def.create_sequence_statement();
    let create = text_of.ok_or_else(|| no_sequence(handle.schema(), handle.name()))?;
    let mut list = Listing::new(vec![text("Table", 64), text("Create Table", 1024)]);
    list.row([s(handle.name()), s(&modes::table(&create, session.settings.sql_mode))]);
    Ok(list)
}

pub(super) fn create_view(session: &Session, name: &ObjectName<'_>) -> Result<Listing, ClientError> {
    let Some(view) = view(session, name) else {
        let handle = table(session, name)?;
        return Err(error::wrong_object(&handle.def.schema, &handle.def.name, "VIEW"));
    };
    let mut list = Listing::new(vec![
        text("View", 64),
        text("Create View", 1024),
        text("character_set_client", 32),
        text("collation_connection", 64),
    ]);
    list.row([
        s(&view.name),
        s(&modes::view(&view.create_statement(&session.database), session.settings.sql_mode)),
        s(&view.client_charset),
        s(&view.connection_collation),
    ]);
    Ok(list)
}

/// A table of information_schema or performance_schema.
fn virtual_table(session: &Session, name: &ObjectName<'_>) -> Option<&'static Defined> {
    let schema = name.database.map_or_else(|| session.database.to_string(), |d| d.text().into_owned());
    crate::virtual_tables::describe(&schema, &name.name.text())
}

/// Its column as SHOW COLUMNS tells it.
fn virtual_column(column: &DefinedColumn, full: bool) -> Vec<Value> {
    let mut row = vec![s(column.name), s(&column.type_text)];
    if full {
        let is_text = column.type_text.starts_with("varchar") || column.type_text == "longtext";
        row.push(if is_text { s("utf8mb3_general_ci") } else { Value::Null });
    }
    row.extend([s(if column.nullable { "YES" } else { "NO" }), s(""), Value::Null, s("")]);
    if full {
        row.extend([s("select"), s("")]);
    }
    row
}

/// Its definition: a temporary table, as MariaDB makes one for each statement that reads it.
fn virtual_definition(table: &Defined) -> String {
    let column = |c: &DefinedColumn| {
        format!("  `{}` {}{}", c.name, c.type_text, if c.nullable { "" } else { " NOT NULL" })
    };
    let columns: Vec<String> = table.columns().iter().map(column).collect();
    let (kind, engine, more) = match (table.is_of(SCHEMAS[0]), table.has_long_texts()) {
        (false, _) => ("TABLE", "PERFORMANCE_SCHEMA", ""),
        (true, false) => ("TEMPORARY TABLE", "MEMORY", ""),
        (true, true) => ("TEMPORARY TABLE", "Aria", " PAGE_CHECKSUM=0"),
    };
    format!(
        "CREATE {kind} `{}` (\n{}\n) ENGINE={engine} DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci{more}",
        table.name,
        columns.join(",\n")
    )
}

pub(super) fn create_table(session: &Session, name: &ObjectName<'_>) -> Result<Listing, ClientError> {
    if let Some(defined) = virtual_table(session, name) {
        let mut list = Listing::new(vec![text("Table", 64), text("Create Table", 1024)]);
        list.row([s(defined.name), s(&virtual_definition(defined))]);
        return Ok(list);
    }
    if view(session, name).is_some() {
        return create_view(session, name);
    }
    let handle = table(session, name)?;
    let mut list = Listing::new(vec![text("Table", 64), text("Create Table", 1024)]);
    let next = session.server().auto_increment(&handle);
    let create = modes::table(&handle.def.create_statement(next), session.settings.sql_mode);
    list.row([s(&handle.def.name), s(&create)]);
    Ok(list)
}

pub(super) fn create_database(
    session: &Session,
    name: Ident<'_>,
    if_not_exists: bool,
) -> Result<Listing, ClientError> {
    let database = database(session, Some(name))?;
    let mut list = Listing::new(vec![text("Database", 64), text("Create Database", 1024)]);
    let collation = database.def.collation;
    let not_exists = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    let quoted = database.def.name.replace('`', "``");
    list.row([
        s(&database.def.name),
        s(&modes::names(
            &format!(
                "CREATE DATABASE {not_exists}`{quoted}` /*!40100 DEFAULT CHARACTER SET {} COLLATE {} */",
                collation.charset().name(),
                collation.name()
            ),
            session.settings.sql_mode,
        )),
    ]);
    Ok(list)
}

pub(super) fn triggers(session: &Session, named: Option<Ident<'_>>) -> Result<Listing, ClientError> {
    let schema = if is_virtual(session, named) {
        SCHEMAS[0].to_owned()
    } else {
        database(session, named)?.def.name.clone()
    };
    super::programs::triggers(session, &schema)
}

pub(super) fn events(session: &Session, named: Option<Ident<'_>>) -> Result<Listing, ClientError> {
    let schema = if is_virtual(session, named) {
        SCHEMAS[0].to_owned()
    } else {
        database(session, named)?.def.name.clone()
    };
    Ok(super::programs::events(session, &schema))
}

/// COM_FIELD_LIST: a table's columns whose names match, each with its default.
pub(crate) fn field_list(
    session: &Session,
    name: &str,
    wild: &str,
) -> Result<Vec<(ColumnMeta, Option<String>)>, ClientError> {
    let object = ObjectName { database: None, name: Ident(name.as_bytes()) };
    session.need_some_of_table(&object, accounts::Privileges::COLUMN)?;
    let found = described(session, &object)?;
    let mut out = Vec::new();
    for (i, column) in found.columns().iter().enumerate().filter(|(_, c)| !c.hidden) {
        let matches = wild.is_empty()
            || sql_plan::like::matches(
                charset::Collation::UTF8MB3_GENERAL_CI,
                column.name.as_bytes(),
                wild.as_bytes(),
                Some('\\'),
            );
        if matches {
            let default = match default_text(column) {
                Value::Null => None,
                v => Some(crate::text::to_string(&v)),
            };
            let meta = ColumnMeta {
                schema: session.database.to_string(),
                table: name.to_owned(),
                org_table: name.to_owned(),
                name: column.name.clone(),
                org_name: column.name.clone(),
                ty: sql_plan::typing::of_column(&column.ty, column.nullable, column.width),
                flags: match &found {
                    Described::Table(handle) => sql_plan::typing::column_flags(&handle.def, i),
                    Described::View(_) => 0,
                },
            };
            out.push((meta, default));
        }
    }
    Ok(out)
}
