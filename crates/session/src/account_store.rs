//! The accounts of a server: the current state for log-in and checks, and the rows behind it.
//!
//! # A change
//! under the writer's mutex: copy the rows in memory -> change the copy -> write the difference in one transaction, with the
//! statement's event -> commit -> the copy is the current state.
//!
//! Rows that somebody changes by INSERT, UPDATE or DELETE count from the next FLUSH PRIVILEGES or start on.
//!
//! # Locks
//! The writer's mutex, then metadata locks (shared) and row locks of the tables. No statement that holds row locks of these
//! tables takes the mutex: account statements commit the session's transaction before.
//!
//! # A crash
//! The rows of a statement are there or not, as those of any transaction.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accounts::account::Account;
use accounts::tables::{
    DbKey, Edit, ProxyGrant, ProxyKey, RoleKey, RoutineGrant, RoutineKey, TableGrant, TableKey, difference,
};
use accounts::{Accounts, Privileges, RoutineKind, Tables};
use arc_swap::ArcSwap;
use catalog::{DefaultValue, Snapshot, TableHandle};
use charset::Collation;
use row_format::{ColumnType, RowView, encode_row, key};
use storage::row::{Direction, KeyRange, ReadMode, RowBuf, RowError, Strength, WaitMode};
use storage::trx::Trx;
use types::{EnumValue, Str, Timestamp, Value};

use crate::backend::Backend;
use crate::system_tables::{self, COLUMN_SET, DB_PRIVILEGES, MYSQL, ROUTINE_SET, TABLE_SET};

pub(crate) struct AccountStore {
    current: ArcSwap<Accounts>,
    /// Of `current`, for checks that want to know only whether it is another one.
    generation: AtomicU64,
    writer: Mutex<()>,
}

impl AccountStore {
    /// Makes the tables of a new server and reads those of an old one.
    pub(crate) fn open(backend: &Backend) -> Result<Self, String> {
        let new = system_tables::create_missing(backend)
            .map_err(|e| format!("the tables of privileges cannot be made: {e:?}"))?;
        let store = Self {
            current: ArcSwap::from_pointee(Accounts::default()),
            generation: AtomicU64::new(0),
            writer: Mutex::new(()),
        };
        let snapshot = backend.catalog.snapshot();
        let engine = backend.catalog.engine();
        if new {
            let mut trx = engine.begin();
            write(&mut trx, &snapshot, &Tables::default(), &Tables::of_new_server())
                .and_then(|()| engine.commit(trx))
                .map_err(|e| format!("the first accounts cannot be written: {e}"))?;
        }
        let mut trx = engine.begin();
        let tables = read(&mut trx, &snapshot)
            .and_then(|tables| engine.commit(trx).map(|()| tables))
            .map_err(|e| format!("the tables of privileges cannot be read: {e}"))?;
        store.publish(tables);
        Ok(store)
    }

    pub(crate) fn current(&self) -> Arc<Accounts> {
        self.current.load_full()
    }
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Keeps others from changing accounts.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ()> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes `tables` the current state. The caller holds the writer's mutex.
    pub(crate) fn publish(&self, tables: Tables) {
        let next = self.generation() + 1;
        self.current.store(Arc::new(Accounts::new(tables, next)));
        self.generation.store(next, Ordering::Release);
    }
}

/// The tables by name; one that is missing cannot be written.
fn table<'a>(snapshot: &'a Snapshot, name: &str) -> Result<&'a Arc<TableHandle>, RowError> {
    snapshot
        .table(MYSQL, name)
        .ok_or_else(|| RowError::Storage(format!("Table 'mysql.{name}' doesn't exist")))
}

/// Handles of every table of privileges that exists.
pub(crate) fn handles(snapshot: &Snapshot) -> impl Iterator<Item = &Arc<TableHandle>> {
    ["global_priv", "db", "tables_priv", "columns_priv", "procs_priv", "roles_mapping", "proxies_priv"]
        .into_iter()
        .filter_map(|name| snapshot.table(MYSQL, name))
}

// Reading.

/// One row by column names.
struct Row<'a> {
    handle: &'a TableHandle,
    view: RowView<'a>,
}

impl Row<'_> {
    fn value(&self, column: &str) -> Result<Value, RowError> {
        match self.handle.def.column(column) {
            Some(i) => Ok(self.view.value(i)?),
            None => Ok(Value::Null),
        }
    }
    fn text(&self, column: &str) -> Result<String, RowError> {
        let value = self.value(column)?;
        Ok(if value.is_null() { String::new() } else { crate::text::to_string(&value) })
    }
    fn is_yes(&self, column: &str) -> Result<bool, RowError> {
        Ok(self.text(column)?.eq_ignore_ascii_case("Y"))
    }
    fn set(&self, column: &str, members: &[(&str, Privileges)]) -> Result<Privileges, RowError> {
        let text = self.text(column)?;
        let named = |name: &str| members.iter().find(|(m, _)| m.eq_ignore_ascii_case(name));
        Ok(text.split(',').filter_map(named).map(|(_, p)| *p).collect())
    }
}

fn each(
    trx: &mut Trx,
    snapshot: &Snapshot,
    name: &str,
    mut body: impl FnMut(&Row<'_>) -> Result<(), RowError>,
) -> Result<(), RowError> {
    // A table that somebody dropped grants nothing.
    let Some(handle) = snapshot.table(MYSQL, name) else { return Ok(()) };
    let mut scan = trx.scan(&handle.table, 0, KeyRange::all(), Direction::Forward, ReadMode::Consistent);
    let mut buffer = RowBuf::new();
    while scan.next(trx, &mut buffer)? {
        let view = RowView::new(&handle.table.spec().layout, &buffer.body)?;
        body(&Row { handle, view })?;
    }
    Ok(())
}

/// All rows of all tables.
pub(crate) fn read(trx: &mut Trx, snapshot: &Snapshot) -> Result<Tables, RowError> {
    let mut all = Tables::default();
    each(trx, snapshot, "global_priv", |r| {
        all.put(Account::from_row(&r.text("User")?, &r.text("Host")?, &r.text("Priv")?));
        Ok(())
    })?;
    each(trx, snapshot, "db", |r| {
        let mut access = Privileges::NONE;
        for (column, privilege) in DB_PRIVILEGES {
            if r.is_yes(column)? {
                access |= privilege;
            }
        }
        let key = DbKey { host: r.text("Host")?, db: r.text("Db")?, user: r.text("User")? };
        all.databases.insert(key, access);
        Ok(())
    })?;
    read_tables(trx, snapshot, &mut all)?;
    each(trx, snapshot, "procs_priv", |r| {
        let Some(kind) = RoutineKind::by_name(&r.text("Routine_type")?) else { return Ok(()) };
        let key = RoutineKey {
            host: r.text("Host")?,
            db: r.text("Db")?,
            user: r.text("User")?,
            name: r.text("Routine_name")?.to_lowercase(),
            kind,
        };
        let access = r.set("Proc_priv", &ROUTINE_SET)?;
        all.routines.insert(key, RoutineGrant { grantor: r.text("Grantor")?, access });
        Ok(())
    })?;
    each(trx, snapshot, "roles_mapping", |r| {
        let key = RoleKey { host: r.text("Host")?, user: r.text("User")?, role: r.text("Role")? };
        all.roles.insert(key, r.is_yes("Admin_option")?);
        Ok(())
    })?;
    each(trx, snapshot, "proxies_priv", |r| {
        let key = ProxyKey {
            host: r.text("Host")?,
            user: r.text("User")?,
            proxied_host: r.text("Proxied_host")?,
            proxied_user: r.text("Proxied_user")?,
        };
        let with_grant = r.text("With_grant")? != "0";
        all.proxies.insert(key, ProxyGrant { with_grant, grantor: r.text("Grantor")? });
        Ok(())
    })?;
    Ok(all)
}

fn read_tables(trx: &mut Trx, snapshot: &Snapshot, all: &mut Tables) -> Result<(), RowError> {
    let key_of = |r: &Row<'_>| -> Result<TableKey, RowError> {
        Ok(TableKey {
            host: r.text("Host")?,
            db: r.text("Db")?,
            user: r.text("User")?,
            table: r.text("Table_name")?,
        })
    };
    each(trx, snapshot, "tables_priv", |r| {
        let access = r.set("Table_priv", &TABLE_SET)?;
        let grant = TableGrant { grantor: r.text("Grantor")?, access, ..TableGrant::default() };
        all.tables.insert(key_of(r)?, grant);
        Ok(())
    })?;
    each(trx, snapshot, "columns_priv", |r| {
        // A column's row without its table's row grants nothing, as on a MariaDB server.
        if let Some(grant) = all.tables.get_mut(&key_of(r)?) {
            grant.columns.insert(r.text("Column_name")?, r.set("Column_priv", &COLUMN_SET)?);
        }
        Ok(())
    })
}

// Writing.

/// What goes into a column.
enum Field<'a> {
    Text(&'a str),
    Number(i64),
    Set(Privileges, &'a [(&'a str, Privileges)]),
}

fn yes(on: bool) -> Field<'static> {
    Field::Text(if on { "Y" } else { "N" })
}

/// A field as a value of its column's type.
fn fit(ty: &ColumnType, field: &Field<'_>) -> Value {
    let chosen = |number: u64| {
        Value::Enum(Box::new(EnumValue {
            number,
            text: Str::new(b"", ty.collation().unwrap_or(Collation::BINARY)),
        }))
    };
    let is = |member: &[u8], name: &str| member.eq_ignore_ascii_case(name.as_bytes());
    match (ty, field) {
        (ColumnType::Enum { members, .. }, Field::Text(text)) => {
            chosen(members.iter().position(|m| is(m, text)).map_or(0, |i| i as u64 + 1))
        }
        (ColumnType::Set { members, .. }, Field::Set(access, names)) => {
            let on = |m: &[u8]| names.iter().any(|(name, p)| is(m, name) && access.has(*p));
            chosen(members.iter().enumerate().filter(|(_, m)| on(m)).map(|(i, _)| 1 << i).sum())
        }
        (_, Field::Text(text)) => Value::str(text.as_bytes(), ty.collation().unwrap_or(Collation::BINARY)),
        (_, Field::Number(n)) => Value::Int(*n),
        (_, Field::Set(access, _)) => Value::Int(access.0 as i64),
    }
}

/// The whole row: the fields given, everything else by default.
fn body_of(handle: &TableHandle, fields: &[(&str, Field<'_>)]) -> Result<Vec<u8>, RowError> {
    let mut values = Vec::with_capacity(handle.def.columns.len());
    for column in &handle.def.columns {
        let given = fields.iter().find(|(name, _)| catalog::same_name(name, &column.name));
        values.push(match (given, &column.default) {
            (Some((_, field)), _) => fit(&column.ty, field),
            (None, DefaultValue::Literal(literal)) => literal.0.clone(),
            // Grants note no time, as on a MariaDB server.
            (None, _) if matches!(column.ty, ColumnType::Timestamp { .. }) => {
                Value::Timestamp(Timestamp { seconds: 0, micros: 0, fsp: 0 })
            }
            (None, _) => Value::Null,
        });
    }
    let mut body = Vec::new();
    encode_row(&handle.table.spec().layout, &values, &mut body)
        .map_err(|e| RowError::Storage(format!("a row of '{}': {}", handle.def.full_name(), e.found)))?;
    Ok(body)
}

fn find(trx: &mut Trx, handle: &TableHandle, keys: &[(&str, Field<'_>)]) -> Result<Option<RowBuf>, RowError> {
    let spec = handle.table.spec();
    let parts = &spec.indexes[0].parts;
    let values: Vec<Value> = parts
        .iter()
        .filter_map(|part| {
            let column = &handle.def.columns[part.column];
            let (_, field) = keys.iter().find(|(name, _)| catalog::same_name(name, &column.name))?;
            Some(fit(&column.ty, field))
        })
        .collect();
    let mut bytes = Vec::new();
    key::encode_values(&spec.layout, parts, &values, &mut bytes)
        .map_err(|e| RowError::Storage(format!("a key of '{}': {}", handle.def.full_name(), e.found)))?;
    let mode = ReadMode::Locking { strength: Strength::Exclusive, wait: WaitMode::Wait };
    let mut row = RowBuf::new();
    Ok(trx.get(&handle.table, 0, &bytes, mode, &mut row)?.then_some(row))
}

fn put(
    trx: &mut Trx,
    snapshot: &Snapshot,
    name: &str,
    keys: Vec<(&str, Field<'_>)>,
    others: Vec<(&str, Field<'_>)>,
) -> Result<(), RowError> {
    let handle = table(snapshot, name)?;
    let found = find(trx, handle, &keys)?;
    let fields: Vec<_> = keys.into_iter().chain(others).collect();
    let body = body_of(handle, &fields)?;
    match found {
        Some(row) => trx.update(&handle.table, &row, &body),
        None => trx.insert(&handle.table, &body),
    }
}

fn remove(
    trx: &mut Trx,
    snapshot: &Snapshot,
    name: &str,
    keys: &[(&str, Field<'_>)],
) -> Result<(), RowError> {
    let Some(handle) = snapshot.table(MYSQL, name) else { return Ok(()) };
    match find(trx, handle, keys)? {
        Some(row) => trx.delete(&handle.table, &row),
        None => Ok(()),
    }
}

/// Writes what differs between `old` and `new`.
pub(crate) fn write(trx: &mut Trx, snapshot: &Snapshot, old: &Tables, new: &Tables) -> Result<(), RowError> {
    use Field::{Number, Set, Text};
    for edit in difference(&old.accounts, &new.accounts) {
        let keys = |(host, user)| vec![("Host", Text(host)), ("User", Text(user))];
        match edit {
            Edit::Put((host, user), account) => {
                let json = account.to_json();
                put(trx, snapshot, "global_priv", keys((host, user)), vec![("Priv", Text(&json))])?;
            }
            Edit::Remove((host, user)) => remove(trx, snapshot, "global_priv", &keys((host, user)))?,
        }
    }
    for edit in difference(&old.databases, &new.databases) {
        fn keys(k: &DbKey) -> Vec<(&'static str, Field<'_>)> {
            vec![("Host", Text(&k.host)), ("Db", Text(&k.db)), ("User", Text(&k.user))]
        }
        match edit {
            Edit::Put(k, access) => {
                let others = DB_PRIVILEGES.iter().map(|(c, p)| (*c, yes(access.has(*p)))).collect();
                put(trx, snapshot, "db", keys(k), others)?;
            }
            Edit::Remove(k) => remove(trx, snapshot, "db", &keys(k))?,
        }
    }
    write_tables(trx, snapshot, old, new)?;
    for edit in difference(&old.routines, &new.routines) {
        fn keys(k: &RoutineKey) -> Vec<(&'static str, Field<'_>)> {
            vec![
                ("Host", Text(&k.host)),
                ("Db", Text(&k.db)),
                ("User", Text(&k.user)),
                ("Routine_name", Text(&k.name)),
                ("Routine_type", Text(k.kind.name())),
            ]
        }
        match edit {
            Edit::Put(k, g) => {
                let others = vec![("Grantor", Text(&g.grantor)), ("Proc_priv", Set(g.access, &ROUTINE_SET))];
                put(trx, snapshot, "procs_priv", keys(k), others)?;
            }
            Edit::Remove(k) => remove(trx, snapshot, "procs_priv", &keys(k))?,
        }
    }
    for edit in difference(&old.roles, &new.roles) {
        fn keys(k: &RoleKey) -> Vec<(&'static str, Field<'_>)> {
            vec![("Host", Text(&k.host)), ("User", Text(&k.user)), ("Role", Text(&k.role))]
        }
        match edit {
            Edit::Put(k, admin) => {
                put(trx, snapshot, "roles_mapping", keys(k), vec![("Admin_option", yes(*admin))])?;
            }
            Edit::Remove(k) => remove(trx, snapshot, "roles_mapping", &keys(k))?,
        }
    }
    for edit in difference(&old.proxies, &new.proxies) {
        fn keys(k: &ProxyKey) -> Vec<(&'static str, Field<'_>)> {
            vec![
                ("Host", Text(&k.host)),
                ("User", Text(&k.user)),
                ("Proxied_host", Text(&k.proxied_host)),
                ("Proxied_user", Text(&k.proxied_user)),
            ]
        }
        match edit {
            Edit::Put(k, g) => {
                let others =
                    vec![("With_grant", Number(i64::from(g.with_grant))), ("Grantor", Text(&g.grantor))];
                put(trx, snapshot, "proxies_priv", keys(k), others)?;
            }
            Edit::Remove(k) => remove(trx, snapshot, "proxies_priv", &keys(k))?,
        }
    }
    Ok(())
}

fn write_tables(trx: &mut Trx, snapshot: &Snapshot, old: &Tables, new: &Tables) -> Result<(), RowError> {
    use Field::{Set, Text};
    fn keys(k: &TableKey) -> Vec<(&'static str, Field<'_>)> {
        vec![
            ("Host", Text(&k.host)),
            ("Db", Text(&k.db)),
            ("User", Text(&k.user)),
            ("Table_name", Text(&k.table)),
        ]
    }
    fn column<'a>(k: &'a TableKey, name: &'a str) -> Vec<(&'static str, Field<'a>)> {
        let mut keys = keys(k);
        keys.push(("Column_name", Text(name)));
        keys
    }
    let none = TableGrant::default();
    for edit in difference(&old.tables, &new.tables) {
        let (key, after) = match edit {
            Edit::Put(key, grant) => {
                let others = vec![
                    ("Grantor", Text(&grant.grantor)),
                    ("Table_priv", Set(grant.access, &TABLE_SET)),
                    ("Column_priv", Set(grant.on_columns(), &COLUMN_SET)),
                ];
                put(trx, snapshot, "tables_priv", keys(key), others)?;
                (key, grant)
            }
            Edit::Remove(key) => {
                remove(trx, snapshot, "tables_priv", &keys(key))?;
                (key, &none)
            }
        };
        let before = old.tables.get(key).unwrap_or(&none);
        for edit in difference(&before.columns, &after.columns) {
            match edit {
                Edit::Put(name, access) => {
                    let others = vec![("Column_priv", Set(*access, &COLUMN_SET))];
                    put(trx, snapshot, "columns_priv", column(key, name), others)?;
                }
                Edit::Remove(name) => remove(trx, snapshot, "columns_priv", &column(key, name))?,
            }
        }
    }
    Ok(())
}
