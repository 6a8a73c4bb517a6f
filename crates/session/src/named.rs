//! PREPARE, EXECUTE, DEALLOCATE: prepared statements by name.

use std::sync::Arc;

use client_error::{ClientError, connection as error};
use sql_plan::error::SqlError;
use sql_syntax::ast::{self, Expr, Ident};
use types::Value;

use crate::output::Output;
use crate::prepared::PreparedStatement;
use crate::session::{Done, Session};
use crate::sql;
use crate::statement::{self, Reply, Then};

/// PREPARE name FROM text.
pub(crate) fn prepare(
    session: &mut Session,
    out: &mut Output,
    p: &ast::Prepare<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    // The name is free from now on, also when the new text is wrong.
    let name = p.name.text().into_owned();
    if session.prepared.take_named(&name).is_some() {
        session.server().forget_prepared(1);
    }
    let text = source_text(session, &p.source)?;
    let prepared = apart(session, Vec::new(), |session| sql::prepare(session, &text))?;
    session.server().admit_prepared()?;
    let statement = PreparedStatement::new(0, &text, &session.database, prepared.params, prepared.plan);
    session.prepared.set_named(&name, statement);
    session.send_ok(out, &Done { info: "Statement prepared".into(), ..Done::default() }, reply.more);
    Ok(())
}

fn source_text(session: &mut Session, source: &Expr<'_>) -> Result<Vec<u8>, ClientError> {
    Ok(match statement::evaluate(session, source)? {
        // A variable without a value is the text `NULL`, which is no statement.
        Value::Null => b"NULL".to_vec(),
        Value::Str(s) => s.bytes().to_vec(),
        other => crate::text::to_string(&other).into_bytes(),
    })
}

/// EXECUTE name USING ..., EXECUTE IMMEDIATE.
pub(crate) fn execute(
    session: &mut Session,
    out: &mut Output,
    e: &ast::Execute<'_>,
    reply: Reply,
) -> Result<Then, ClientError> {
    if e.params.iter().any(is_word) {
        return with_words(session, out, e, reply);
    }
    let mut values = Vec::with_capacity(e.params.len());
    for param in e.params {
        values.push(statement::evaluate(session, param)?);
    }
    match e.source {
        ast::ExecuteSource::Name(name) => {
            let name = name.text().into_owned();
            let mut statement =
                session.prepared.take_named(&name).ok_or_else(|| error::unknown_handler(&name, "EXECUTE"))?;
            let outcome = run(session, out, &mut statement, values, reply);
            session.prepared.put_named(&name, statement);
            outcome
        }
        ast::ExecuteSource::Immediate(source) => {
            let text = source_text(session, &source)?;
            let prepared = apart(session, Vec::new(), |session| sql::prepare(session, &text))?;
            let mut statement =
                PreparedStatement::new(0, &text, &session.database, prepared.params, prepared.plan);
            run(session, out, &mut statement, values, reply)
        }
    }
}

/// DEFAULT and IGNORE are no values: they stand in the statement's text where the parameter stood.
fn is_word(param: &Expr<'_>) -> bool {
    matches!(param, Expr::Default | Expr::Ignore)
}

/// EXECUTE ... USING with DEFAULT or IGNORE among the parameters.
fn with_words(
    session: &mut Session,
    out: &mut Output,
    e: &ast::Execute<'_>,
    reply: Reply,
) -> Result<Then, ClientError> {
    let (text, database) = match e.source {
        ast::ExecuteSource::Name(name) => {
            let name = name.text().into_owned();
            let statement =
                session.prepared.take_named(&name).ok_or_else(|| error::unknown_handler(&name, "EXECUTE"))?;
            let source = (statement.text.to_vec(), Arc::clone(&statement.database));
            session.prepared.put_named(&name, statement);
            source
        }
        ast::ExecuteSource::Immediate(source) => {
            (source_text(session, &source)?, Arc::clone(&session.database))
        }
    };
    let places = sql_syntax::parameter_positions(&text, session.settings.parse);
    if places.len() != e.params.len() {
        return Err(error::wrong_arguments("EXECUTE"));
    }
    let mut values = Vec::with_capacity(e.params.len());
    let mut written = Vec::with_capacity(text.len() + 8 * e.params.len());
    let mut from = 0;
    for (param, place) in e.params.iter().zip(places) {
        written.extend_from_slice(&text[from..place]);
        match param {
            Expr::Default => written.extend_from_slice(b" DEFAULT "),
            Expr::Ignore => written.extend_from_slice(b" IGNORE "),
            value => {
                written.push(b'?');
                values.push(statement::evaluate(session, value)?);
            }
        }
        from = place + 1;
    }
    written.extend_from_slice(&text[from..]);
    let prepared = apart(session, Vec::new(), |session| {
        // The text was right with a value there.
        let arena = sql_syntax::Arena::new();
        match sql_syntax::parse(
            &arena,
            &written,
            sql_syntax::ParseOptions { params: true, ..session.settings.parse },
        ) {
            Ok(_) => sql::prepare(session, &written),
            Err(_) => {
                sql::prepare(session, &text)?;
                Err(ClientError::from(&SqlError::default_as_parameter()))
            }
        }
    })?;
    let mut statement = PreparedStatement::new(0, &written, &database, prepared.params, prepared.plan);
    run(session, out, &mut statement, values, reply)
}

fn run(
    session: &mut Session,
    out: &mut Output,
    statement: &mut PreparedStatement,
    values: Vec<Value>,
    reply: Reply,
) -> Result<Then, ClientError> {
    if values.len() != usize::from(statement.params) {
        return Err(error::wrong_arguments("EXECUTE"));
    }
    apart(session, values, |session| sql::run_prepared(session, out, statement, reply))
}

/// Runs `body` with its own parameters, out of sight of the stored program around it.
fn apart<R>(session: &mut Session, params: Vec<Value>, body: impl FnOnce(&mut Session) -> R) -> R {
    let locals = session.locals.take();
    let before = std::mem::replace(&mut session.params, params);
    let result = body(session);
    session.params = before;
    session.locals = locals;
    result
}

/// The rows of a prepared query, for a cursor.
pub(crate) fn rows(session: &mut Session, name: &str) -> Result<(usize, Vec<Vec<Value>>), ClientError> {
    let Some(statement) = session.prepared.take_named(name) else {
        return Err(error::unknown_handler(name, "OPEN"));
    };
    let (text, database) = (Arc::clone(&statement.text), Arc::clone(&statement.database));
    session.prepared.put_named(name, statement);
    apart(session, Vec::new(), |session| {
        sql::in_database(session, &database, |session| {
            loop {
                let prepared = sql::prepare(session, &text)?;
                let Some(plan) = prepared.plan else {
                    return Err(error::not_supported("a cursor of this statement"));
                };
                if let Some(rows) = sql::collect_once(session, &plan.plan)? {
                    return Ok((plan.plan.columns().len(), rows));
                }
            }
        })
    })
}

/// DEALLOCATE PREPARE.
pub(crate) fn deallocate(
    session: &mut Session,
    out: &mut Output,
    name: Ident<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    let name = name.text();
    if session.prepared.take_named(&name).is_none() {
        return Err(error::unknown_handler(&name, "DEALLOCATE PREPARE"));
    }
    session.server().forget_prepared(1);
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}
