//! CREATE, ALTER and DROP VIEW.
//!
//! The query is planned once to find its errors and columns, and kept as text with every name in full. Rights are looked at when the
//! view is read: who may make one with which definer is decided before this is called.

use catalog::{ColumnDef, DefaultLiteral, DefaultValue, ViewAlgorithm, ViewCheck, ViewDef};
use row_format::ColumnType;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::plan::{PlanKind, QueryBody};
use sql_plan::view_text::view_text;
use sql_syntax::ast;
use types::Value;

use super::create_select::column_of;
use super::{DdlContext, check_name, storage_error};
use crate::outcome::Outcome;

pub(super) fn create(s: &ast::CreateView<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let (schema, name) = cx.table_name(&s.name)?;
    cx.lock_exclusive(&schema, &name)?;
    let snapshot = cx.catalog.shared().snapshot();
    if snapshot.database(&schema).is_none() {
        return Err(SqlError::UnknownDatabase(schema));
    }
    let known = snapshot.view(&schema, &name);
    if s.alter && known.is_none() {
        return Err(match snapshot.table(&schema, &name) {
            Some(_) => not_a(&schema, &name, "VIEW"),
            None => SqlError::NoSuchTable { schema, name },
        });
    }
    if !s.alter && snapshot.has(&schema, &name) {
        if s.mode.if_not_exists {
            cx.warnings.note(SqlError::TableExists(name));
            return Ok(Outcome::default());
        }
        if snapshot.table(&schema, &name).is_some() && s.mode.or_replace {
            return Err(not_a(&schema, &name, "VIEW"));
        }
        if !s.mode.or_replace {
            return Err(SqlError::TableExists(name));
        }
    }
    let view = definition(s, schema, name, cx)?;
    let mut change = cx.catalog.change();
    change.put_view(view).map_err(|e| storage_error(e, ""))?;
    cx.commit(change)?;
    Ok(Outcome::default())
}

fn not_a(schema: &str, name: &str, what: &str) -> SqlError {
    let text = format!("'{schema}.{name}' is not of type '{what}'");
    SqlError::Other { errno: 1347, state: *b"HY000", text }
}

fn definition(
    s: &ast::CreateView<'_>,
    schema: String,
    name: String,
    cx: &mut DdlContext<'_>,
) -> SqlResult<ViewDef> {
    let names: Vec<String> = s.columns.iter().map(|c| c.text().into_owned()).collect();
    let (text, columns, updatable) = {
        let context = cx.plan_context();
        let plan = sql_plan::plan(&ast::Statement::Query(s.query), 0, &context)?;
        let Some(PlanKind::Query(query)) = plan.as_ref().map(|p| &p.kind) else {
            return Err(SqlError::not_supported("this query in a view"));
        };
        let text = view_text(s.query, &names, &schema, &context)?;
        let snapshot = cx.catalog.shared().snapshot();
        let columns: Vec<ColumnDef> = query
            .columns
            .iter()
            .zip(&text.names)
            .map(|(meta, name)| {
                view_column(column_of(meta, &snapshot, false), name, meta.org_table.is_empty())
            })
            .collect();
        let updatable = is_updatable(s, &query.body);
        (text, columns, updatable)
    };
    for (i, column) in columns.iter().enumerate() {
        check_name(&column.name, SqlError::IncorrectColumnName)?;
        if columns[..i].iter().any(|c| catalog::same_name(&c.name, &column.name)) {
            return Err(SqlError::DuplicateColumn(column.name.clone()));
        }
    }
    let check = match s.check {
        None => ViewCheck::None,
        Some(ast::ViewCheck::Local) => ViewCheck::Local,
        Some(ast::ViewCheck::Cascaded) => ViewCheck::Cascaded,
    };
    if check != ViewCheck::None && !updatable {
        let text = format!("CHECK OPTION on non-updatable view `{schema}`.`{name}`");
        return Err(SqlError::Other { errno: 1368, state: *b"HY000", text });
    }
    let (definer_user, definer_host) = definer(s, cx);
    Ok(ViewDef {
        columns,
        body: text.full,
        own_body: text.own,
        algorithm: match s.algorithm {
            Some(a) if a.is("merge") => ViewAlgorithm::Merge,
            Some(a) if a.is("temptable") => ViewAlgorithm::TempTable,
            _ => ViewAlgorithm::Undefined,
        },
        definer_user,
        definer_host,
        invoker: s.invoker == Some(true),
        check,
        updatable,
        client_charset: cx.client_charset.name().to_owned(),
        connection_collation: cx.connection_collation.name().to_owned(),
        created: cx.now_seconds(),
        schema,
        name,
    })
}

/// A column as DESCRIBE shows it: one that is computed and never NULL has a default of nothing.
fn view_column(column: ColumnDef, name: &str, computed: bool) -> ColumnDef {
    let default = match (&column.default, &column.ty) {
        (DefaultValue::None, ColumnType::Int { unsigned: false, .. }) if !column.nullable && computed => {
            DefaultValue::Literal(DefaultLiteral(Value::Int(0)))
        }
        _ => column.default.clone(),
    };
    ColumnDef { name: name.to_owned(), default, on_update_now: false, ..column }
}

/// Whether rows can be changed through the view, as information_schema says it: every row comes from one row of each table.
fn is_updatable(s: &ast::CreateView<'_>, body: &QueryBody) -> bool {
    let QueryBody::Select(select) = body else { return false };
    let temporary = s.algorithm.is_some_and(|a| a.is("temptable"));
    !temporary
        && !select.steps.is_empty()
        && select.group.is_none()
        && select.having.is_none()
        && !select.distinct
        && select.limit.count.is_none()
}

/// The account whose rights count; the one that makes the view unless the statement says otherwise.
fn definer(s: &ast::CreateView<'_>, cx: &DdlContext<'_>) -> (String, String) {
    let own = || {
        let bare = cx.user.replace('\'', "");
        let (user, host) = bare.rsplit_once('@').unwrap_or((&bare, "%"));
        (user.to_owned(), host.to_owned())
    };
    match &s.definer {
        Some(ast::Account::Name { user, host }) => {
            let host = host.map_or_else(|| "%".to_owned(), |h| String::from_utf8_lossy(h).into_owned());
            (String::from_utf8_lossy(user).into_owned(), host)
        }
        _ => own(),
    }
}

pub(super) fn drop(s: &ast::DropObjects<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let mut names = Vec::with_capacity(s.names.len());
    for name in s.names {
        names.push(cx.table_name(name)?);
    }
    let mut sorted = names.clone();
    sorted.sort();
    sorted.dedup();
    for (schema, view) in &sorted {
        cx.lock_exclusive(schema, view)?;
    }
    let mut missing = Vec::new();
    for (schema, view) in names {
        if cx.catalog.shared().snapshot().view(&schema, &view).is_none() {
            missing.push(format!("{schema}.{view}"));
            continue;
        }
        let mut change = cx.catalog.change();
        change.remove_view(&schema, &view).map_err(|e| storage_error(e, &view))?;
        cx.commit(change)?;
    }
    let unknown = |name: &str| SqlError::Other {
        errno: 4092,
        state: *b"42S02",
        text: format!("Unknown VIEW: '{name}'"),
    };
    if missing.is_empty() {
        return Ok(Outcome::default());
    }
    if s.if_exists {
        missing.iter().for_each(|name| cx.warnings.note(unknown(name)));
        return Ok(Outcome::default());
    }
    Err(unknown(&missing.join(",")))
}
