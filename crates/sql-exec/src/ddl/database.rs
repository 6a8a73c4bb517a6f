//! CREATE, ALTER and DROP DATABASE.

use catalog::DatabaseDef;
use catalog::mdl::MdlMode;
use charset::{Charset, Collation};
use sql_plan::error::{SqlError, SqlResult};
use sql_syntax::ast;

use super::{DdlContext, check_name, storage_error};
use crate::outcome::Outcome;

pub(super) fn create(s: &ast::CreateDatabase<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let name = s.name.text().into_owned();
    check_name(&name, SqlError::IncorrectDatabaseName)?;
    let collation = collation(&s.options, cx.server_collation)?;
    cx.lock(&name, "", MdlMode::Exclusive)?;
    let virtual_name = is_virtual(&name);
    if virtual_name || cx.catalog.shared().snapshot().database(&name).is_some() {
        if s.mode.if_not_exists {
            cx.warnings.note(SqlError::DatabaseExists(name));
            return Ok(Outcome { affected_rows: 1, ..Outcome::default() });
        }
        if s.mode.or_replace && !virtual_name {
            drop_locked(&name, cx)?;
        } else {
            return Err(SqlError::DatabaseExists(name));
        }
    }
    let comment = s.options.comment.map(|c| String::from_utf8_lossy(c).into_owned()).unwrap_or_default();
    let mut change = cx.catalog.change();
    change.put_database(DatabaseDef { name, collation, comment }).map_err(|e| storage_error(e, ""))?;
    cx.commit(change)?;
    Ok(Outcome { affected_rows: 1, ..Outcome::default() })
}

pub(super) fn alter(s: &ast::AlterDatabase<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let name = match s.name {
        Some(name) => name.text().into_owned(),
        None if cx.database.is_empty() => return Err(SqlError::NoDatabaseSelected),
        None => cx.database.to_owned(),
    };
    cx.lock(&name, "", MdlMode::Exclusive)?;
    let snapshot = cx.catalog.shared().snapshot();
    let found = snapshot.database(&name).ok_or_else(|| SqlError::UnknownDatabase(name.clone()))?;
    let mut def = found.def.clone();
    def.collation = collation(&s.options, def.collation)?;
    if let Some(comment) = s.options.comment {
        def.comment = String::from_utf8_lossy(comment).into_owned();
    }
    let mut change = cx.catalog.change();
    change.put_database(def).map_err(|e| storage_error(e, ""))?;
    cx.commit(change)?;
    Ok(Outcome { affected_rows: 1, ..Outcome::default() })
}

pub(super) fn drop(name: &str, if_exists: bool, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    if is_virtual(name) {
        return Err(SqlError::AccessDeniedToDatabase { user: cx.user.to_owned(), schema: name.to_owned() });
    }
    cx.lock(name, "", MdlMode::Exclusive)?;
    if cx.catalog.shared().snapshot().database(name).is_none() {
        let missing = SqlError::DatabaseMissing(name.to_owned());
        if if_exists {
            cx.warnings.note(missing);
            return Ok(Outcome::default());
        }
        return Err(missing);
    }
    let tables = drop_locked(name, cx)?;
    Ok(Outcome { affected_rows: tables, ..Outcome::default() })
}

/// Drops an existing database whose name is locked; answers how many tables went with it.
fn drop_locked(name: &str, cx: &mut DdlContext<'_>) -> SqlResult<u64> {
    let snapshot = cx.catalog.shared().snapshot();
    let Some(database) = snapshot.database(name) else { return Ok(0) };
    for table in database.tables.keys().chain(database.views.keys()) {
        cx.lock(name, table, MdlMode::Exclusive)?;
    }
    let mut change = cx.catalog.change();
    for (table, handle) in &database.tables {
        change.remove_table(name, table).map_err(|e| storage_error(e, table))?;
        change.drop_table(&handle.def);
    }
    for view in database.views.keys() {
        change.remove_view(name, view).map_err(|e| storage_error(e, view))?;
    }
    change.remove_database(name).map_err(|e| storage_error(e, ""))?;
    cx.commit(change)?;
    Ok((database.tables.len() + database.views.len()) as u64)
}

fn is_virtual(name: &str) -> bool {
    name.eq_ignore_ascii_case("information_schema") || name.eq_ignore_ascii_case("performance_schema")
}

/// CHARACTER SET and COLLATE of a database.
fn collation(options: &ast::DatabaseOptions<'_>, default: Collation) -> SqlResult<Collation> {
    let named = |d: &ast::DefaultOr<'_>| match d {
        ast::DefaultOr::Default => None,
        ast::DefaultOr::Name(name) => Some(name.text().into_owned()),
    };
    resolve_collation(
        options.charset.as_ref().and_then(named).as_deref(),
        options.collation.as_ref().and_then(named).as_deref(),
        default,
    )
}

/// A character set and a collation by name; one implies the other.
pub(super) fn resolve_collation(
    charset: Option<&str>,
    collation: Option<&str>,
    default: Collation,
) -> SqlResult<Collation> {
    let charset = charset
        .map(|name| Charset::by_name(name).ok_or_else(|| SqlError::UnknownCharset(name.to_owned())))
        .transpose()?;
    let Some(name) = collation else { return Ok(charset.map_or(default, Collation::default_of)) };
    let base = charset.unwrap_or(default.charset());
    let found = Collation::by_name(name)
        .or_else(|| Collation::by_name(&format!("{}_{name}", base.name())))
        .ok_or_else(|| SqlError::UnknownCollation(name.to_owned()))?;
    match charset {
        Some(charset) if found.charset() != charset => Err(SqlError::CollationNotForCharset {
            collation: found.name().to_owned(),
            charset: charset.name().to_owned(),
        }),
        _ => Ok(found),
    }
}
