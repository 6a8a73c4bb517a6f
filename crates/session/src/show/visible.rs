//! What of a listing its reader may see.

use accounts::{Privileges, Rights};
use sql_syntax::ast::{Ident, ObjectName, ShowKind};
use types::Value;

use super::{Listing, s};
use crate::session::Session;

/// Privileges on columns, as SHOW FULL COLUMNS and information_schema.COLUMNS list them.
pub(crate) fn column_privileges(rights: &Rights, db: &str, table: &str, column: &str) -> String {
    let whole = rights.table(db, table);
    let held = if whole.has(Privileges::COLUMN) { whole } else { whole | rights.column(db, table, column) };
    let listed = [Privileges::SELECT, Privileges::INSERT, Privileges::UPDATE, Privileges::REFERENCES];
    let names = listed.into_iter().filter(|p| held.has(*p)).map(|p| p.name().to_lowercase());
    names.collect::<Vec<_>>().join(",")
}

fn first(row: &[Value]) -> String {
    row.first().map(crate::text::to_string).unwrap_or_default()
}

/// Takes out of a listing what its reader may not see.
pub(super) fn keep(session: &Session, kind: &ShowKind<'_>, listing: &mut Listing) {
    let rights = &session.rights;
    if rights.global().has(Privileges::ALL_GLOBAL) {
        return;
    }
    use ShowKind as K;
    let db_of = |named: &Option<Ident<'_>>| {
        named.map_or_else(|| session.database.to_string(), |n| n.text().into_owned())
    };
    match kind {
        K::Databases if !rights.global().has(Privileges::SHOW_DATABASES) => listing.rows.retain(|row| {
            let name = first(row);
            name == "information_schema" || rights.sees_database(&name)
        }),
        K::Tables { database, .. } | K::TableStatus { database } => {
            let db = db_of(database);
            if !db.eq_ignore_ascii_case("information_schema") {
                listing.rows.retain(|row| rights.sees_table(&db, &first(row)));
            }
        }
        K::OpenTables { .. } => listing.rows.retain(|row| {
            let name = row.get(1).map(crate::text::to_string).unwrap_or_default();
            rights.sees_table(&first(row), &name)
        }),
        K::Columns { full, table } => keep_columns(session, table, *full, listing),
        K::ProcessList { .. } if !rights.global().has(Privileges::PROCESS) => {
            listing.rows.retain(|row| {
                row.get(1).map(crate::text::to_string).unwrap_or_default() == session.identity.user
            });
        }
        _ => {}
    }
}

fn keep_columns(session: &Session, table: &ObjectName<'_>, full: bool, listing: &mut Listing) {
    let rights = &session.rights;
    let Ok(db) = session.schema_of(table) else { return };
    if crate::information_schema::schema(&db).is_some() {
        return;
    }
    let table = table.name.text();
    listing.rows.retain_mut(|row| {
        let held = column_privileges(rights, &db, &table, &first(row));
        // Privileges are the last but one of SHOW FULL COLUMNS.
        let at = row.len().saturating_sub(2);
        if full && let Some(cell) = row.get_mut(at) {
            *cell = s(&held);
        }
        !held.is_empty()
    });
}
