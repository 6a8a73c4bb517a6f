//! HANDLER: a table read row by row along an index, without a query.
//!
//! An open handler is a name for a table and a place in one of its indexes. Each READ is planned as `SELECT * FROM table WHERE ... LIMIT n`
//! whose access is replaced by a scan of the index from that place on (`sql_exec::Place`); the rows go out as any result.
//!
//! A handler takes no lock between its statements: when the table's definition has changed meanwhile, or the table is gone, the handler is
//! closed, and a READ does not know it.

use std::ops::Bound;
use std::sync::Arc;

use base::TableId;
use catalog::{TableHandle, same_name};
use client_error::{ClientError, connection as error};
use row_format::{key, store};
use sql_exec::Place;
use sql_plan::error::SqlError;
use sql_plan::plan::{Access, Plan, PlanKind, QueryBody};
use sql_syntax::ast::{self, BinaryOp, HandlerAction, HandlerPosition, Statement};
use storage::row::{KeyRange, secondary_key};
use types::Value;

use crate::output::Output;
use crate::session::{Done, Session};
use crate::sql;
use crate::statement::Reply;

/// An open handler.
#[derive(Debug)]
pub(crate) struct Open {
    alias: String,
    schema: String,
    table: String,
    /// The definition that the place is of.
    definition: (TableId, u32),
    place: Option<At>,
}

/// Where a handler stands.
#[derive(Debug, Clone)]
struct At {
    /// Of the definition's indexes; `None` = the table's own order.
    index: Option<usize>,
    /// The key of the row read last.
    key: Vec<u8>,
    /// No row was left in this direction: true = forwards.
    ended: Option<bool>,
}

fn unknown(name: &str) -> ClientError {
    ClientError::new(1109, b"42S02", format!("Unknown table '{name}' in HANDLER"))
}

pub(crate) fn run(
    session: &mut Session,
    out: &mut Output,
    statement: &ast::Handler<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    if session.table_locks.tables().is_some() {
        return Err(ClientError::from(&SqlError::LockedTablesOrTransaction));
    }
    let name = statement.table.name.text().into_owned();
    match &statement.action {
        HandlerAction::Open { alias } => {
            let alias = alias.map_or_else(|| name.clone(), |a| a.text().into_owned());
            open(session, statement.table, name, alias)?;
        }
        HandlerAction::Close => {
            let known = session.handlers.iter().position(|h| h.alias == name);
            session.handlers.remove(known.ok_or_else(|| unknown(&name))?);
        }
        HandlerAction::Read { index, position, filter, limit } => {
            let read = Read { index: *index, position: *position, filter: *filter, limit: limit.as_ref() };
            return read.run(session, out, &name, reply);
        }
    }
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

fn open(
    session: &mut Session,
    table: ast::ObjectName<'_>,
    name: String,
    alias: String,
) -> Result<(), ClientError> {
    if session.handlers.iter().any(|h| h.alias == alias) {
        return Err(ClientError::new(1066, b"42000", format!("Not unique table/alias: '{alias}'")));
    }
    let schema = match table.database {
        Some(schema) => schema.text().into_owned(),
        None if session.database.is_empty() => return Err(ClientError::from(&SqlError::NoDatabaseSelected)),
        None => session.database.to_string(),
    };
    // Rights, and what is not a table, as a query would meet them.
    let ident = |name: &str| -> Vec<u8> { name.as_bytes().to_vec() };
    let (database, base) = (ident(&schema), ident(&name));
    query(session, (&database, &base, &base), None, None)?;
    let snapshot = session.catalog.snapshot();
    let Some(found) = snapshot.table(&schema, &name) else {
        let text = format!("'{schema}.{name}' is not of type 'BASE TABLE'");
        return Err(ClientError::new(1347, b"HY000", text));
    };
    let definition = (found.def.id, found.def.version);
    session.handlers.push(Open { alias, schema, table: name, definition, place: None });
    Ok(())
}

/// Plans `SELECT * FROM schema.table AS alias WHERE filter LIMIT limit`.
fn query(
    session: &Session,
    (schema, table, alias): (&[u8], &[u8], &[u8]),
    filter: Option<ast::Expr<'_>>,
    limit: Option<&ast::Limit<'_>>,
) -> Result<Plan, ClientError> {
    let name = ast::ObjectName { database: Some(ast::Ident(schema)), name: ast::Ident(table) };
    let alias = Some(ast::Ident(alias));
    let table = ast::TableFactor { name, partitions: &[], system_time: None, alias, hints: &[] };
    let from = [ast::TableRef::Table(&table)];
    let select = ast::Select::of(&[ast::SelectItem::All], &from, filter);
    let query = ast::Query::of(&select, limit);
    session.plan(&Statement::Query(&query), 0)?.ok_or_else(|| error::not_supported("this statement"))
}

/// HANDLER ... READ.
struct Read<'a> {
    index: Option<ast::Ident<'a>>,
    position: HandlerPosition<'a>,
    filter: Option<ast::Expr<'a>>,
    limit: Option<&'a ast::Limit<'a>>,
}

impl Read<'_> {
    fn run(
        &self,
        session: &mut Session,
        out: &mut Output,
        alias: &str,
        reply: Reply,
    ) -> Result<(), ClientError> {
        loop {
            let at = session.handlers.iter().position(|h| h.alias == alias);
            let at = at.ok_or_else(|| unknown(alias))?;
            let open = &session.handlers[at];
            let (schema, name) = (open.schema.clone(), open.table.clone());
            let found = session.catalog.snapshot().table(&schema, &name).cloned();
            let Some(table) = found else { return Err(unknown(alias)) };
            let definition = (table.def.id, table.def.version);
            if open.definition != definition {
                session.handlers.remove(at);
                return Err(unknown(alias));
            }
            let index = self.index_of(&table, alias)?;
            let Some((range, descending)) = self.range(session, &table, index, at)? else {
                // Nothing is left in this direction.
                return self
                    .answer(session, out, (&schema, &name, alias), Place::nothing(), reply)
                    .map(|_| ());
            };
            let place = Place::new(index.unwrap_or(0), range, descending);
            let Some(place) = self.answer(session, out, (&schema, &name, alias), place, reply)? else {
                continue;
            };
            if let Some(after) =
                self.stand(&table, index, &place, descending, session.handlers[at].place.as_ref())?
            {
                session.handlers[at].place = Some(after);
            }
            return Ok(());
        }
    }

    /// Reads and replies; `None` when the plan went stale.
    fn answer(
        &self,
        session: &mut Session,
        out: &mut Output,
        (schema, table, alias): (&str, &str, &str),
        place: Place,
        reply: Reply,
    ) -> Result<Option<Place>, ClientError> {
        let one = ast::Limit {
            count: Some(ast::Expr::Literal(ast::Literal::Int(1))),
            offset: None,
            with_ties: false,
            rows_examined: None,
        };
        let names = (schema.as_bytes(), table.as_bytes(), alias.as_bytes());
        let mut plan = query(session, names, self.filter, Some(self.limit.unwrap_or(&one)))?;
        if let PlanKind::Query(query) = &mut plan.kind
            && let QueryBody::Select(select) = &mut query.body
        {
            for step in &mut select.steps {
                step.access = Access::Index { index: place.index(), descending: place.is_descending() };
                step.info.covering = false;
            }
        }
        session.workspace.read_from(place);
        let ran = sql::run_once(session, out, &plan, reply);
        let place = session.workspace.take_place();
        Ok(if ran? { place } else { None })
    }

    fn index_of(&self, table: &TableHandle, alias: &str) -> Result<Option<usize>, ClientError> {
        let Some(name) = self.index else { return Ok(None) };
        let name = name.text();
        let found = table.def.indexes.iter().position(|i| !i.parts.is_empty() && same_name(&i.name, &name));
        found.map(Some).ok_or_else(|| {
            ClientError::from(&SqlError::UnknownKey { key: name.into_owned(), table: alias.to_owned() })
        })
    }

    /// What is read, and in which direction; `None` when the handler has reached the end that way.
    fn range(
        &self,
        session: &mut Session,
        table: &Arc<TableHandle>,
        index: Option<usize>,
        at: usize,
    ) -> Result<Option<(KeyRange, bool)>, ClientError> {
        let all = KeyRange::all();
        let place = session.handlers[at].place.as_ref().filter(|place| place.index == index);
        Ok(Some(match (self.position, place) {
            (HandlerPosition::First, _) => (all, false),
            (HandlerPosition::Last, _) => (all, true),
            (HandlerPosition::Next, None) => (all, false),
            (HandlerPosition::Prev, None) => (all, true),
            (HandlerPosition::Next, Some(place)) => match place.ended {
                Some(true) => return Ok(None),
                Some(false) => (all, false),
                None => (KeyRange { lower: Bound::Excluded(place.key.clone()), ..all }, false),
            },
            (HandlerPosition::Prev, Some(place)) => match place.ended {
                Some(false) => return Ok(None),
                Some(true) => (all, true),
                None => (KeyRange { upper: Bound::Excluded(place.key.clone()), ..all }, true),
            },
            (HandlerPosition::Key { op, key }, _) => {
                let key = key_of(session, table, index.unwrap_or(0), key)?;
                match op {
                    BinaryOp::Gt => (KeyRange { lower: Bound::Excluded(key), ..all }, false),
                    BinaryOp::Ge => (KeyRange { lower: Bound::Included(key), ..all }, false),
                    BinaryOp::Lt => (KeyRange { upper: Bound::Excluded(key), ..all }, true),
                    BinaryOp::Le => (KeyRange { upper: Bound::Included(key), ..all }, true),
                    _ => (KeyRange::prefix(&key), false),
                }
            }
        }))
    }

    /// Where the handler stands after a read.
    fn stand(
        &self,
        table: &TableHandle,
        index: Option<usize>,
        place: &Place,
        descending: bool,
        before: Option<&At>,
    ) -> Result<Option<At>, ClientError> {
        if place.ended() {
            // An equality that finds nothing more leaves the handler where the last row was.
            let key = before.map_or_else(Vec::new, |b| b.key.clone());
            return Ok(Some(At { index, key, ended: Some(!descending) }));
        }
        let Some(row) = place.row() else { return Ok(None) };
        let mut key = Vec::new();
        match index.unwrap_or(0) {
            0 => key.extend_from_slice(&row.key),
            index => {
                let made = secondary_key(table.table.spec(), index, &row.body, &row.key, &mut key);
                made.map_err(|c| {
                    let table = table.def.name.clone();
                    ClientError::from(&SqlError::Corrupt { table, detail: c.to_string() })
                })?;
            }
        }
        Ok(Some(At { index, key, ended: None }))
    }
}

/// The key of given values: leading parts of the index.
fn key_of(
    session: &mut Session,
    table: &Arc<TableHandle>,
    index: usize,
    exprs: &[ast::Expr<'_>],
) -> Result<Vec<u8>, ClientError> {
    let parts = &table.def.indexes[index].parts;
    if exprs.len() > parts.len() {
        let text = format!("Too many key parts specified; max {} parts allowed", parts.len());
        return Err(ClientError::new(1070, b"42000", text));
    }
    let mut values = Vec::with_capacity(exprs.len());
    for (expr, part) in exprs.iter().zip(parts) {
        let value = evaluate(session, expr)?;
        values.push(store(&table.def.columns[part.column].ty, &value, &mut session.values).value);
    }
    let mut out = Vec::new();
    key::encode_values(&table.table.spec().layout, parts, &values, &mut out)
        .map_err(|_| ClientError::new(1210, b"HY000", "Incorrect arguments to HANDLER ... READ"))?;
    Ok(out)
}

/// The value of an expression without columns.
fn evaluate(session: &mut Session, expr: &ast::Expr<'_>) -> Result<Value, ClientError> {
    let items = [ast::SelectItem::Expr(ast::SelectExpr { expr: *expr, alias: None, text: b"" })];
    let select = ast::Select::of(&items, &[], None);
    let query = ast::Query::of(&select, None);
    let plan = session.plan(&Statement::Query(&query), 0)?;
    let plan = plan.ok_or_else(|| error::not_supported("this statement"))?;
    let rows = sql::collect_once(session, &plan)?.unwrap_or_default();
    Ok(rows.into_iter().next().and_then(|row| row.into_iter().next()).unwrap_or_default())
}
