//! COM_STMT_*: prepared statements by number, parameters and results in binary.

use client_error::{ClientError, connection as error};
use types::Value;
use wire::row::BinaryValue;
use wire::statement::{BulkExecute, Execute, Parameter};
use wire::{Capabilities, ColumnDefinition, OkPacket, PrepareOk, Status};

use crate::counters::Counter;
use crate::output::Output;
use crate::prepared::PreparedStatement;
use crate::results::Format;
use crate::session::{Done, Session};
use crate::statement::{Reply, Then, to_utf8};
use crate::{results, sql};

/// COM_STMT_PREPARE.
pub(crate) fn prepare(session: &mut Session, out: &mut Output, text: &[u8]) {
    session.begin_statement(true);
    session.entry.counters.count(Counter::ComStmtPrepare);
    let converted = to_utf8(session.settings.client, text);
    let text = converted.as_deref().unwrap_or(text);
    session.log_general("Prepare", text);
    if let Err(e) = try_prepare(session, out, text) {
        session.fail(out, e);
    }
}

fn try_prepare(session: &mut Session, out: &mut Output, text: &[u8]) -> Result<(), ClientError> {
    let prepared = sql::prepare(session, text)?;
    session.server().admit_prepared()?;
    let columns = prepared.plan.as_ref().map_or(0, |p| p.plan.columns().len());
    let plan = prepared.plan.as_ref().map(|p| p.plan.clone());
    let id = session.prepared.add(text, &session.database, prepared.params, prepared.plan);
    if let Some(s) = session.prepared.get_mut(id) {
        s.told_columns = columns > 0;
    }
    let ok = PrepareOk {
        statement_id: id,
        columns: columns as u16,
        parameters: prepared.params,
        warnings: session.diagnostics.wire_count(),
    };
    let (caps, status) = (out.capabilities, session.status());
    out.writer().packet(|p| ok.encode(p));
    for _ in 0..prepared.params {
        out.writer().packet(|p| ColumnDefinition::PARAMETER.encode(p, caps));
    }
    if prepared.params > 0 {
        out.eof_after_columns(status, 0);
    }
    if let Some(plan) = plan.filter(|p| !p.columns().is_empty()) {
        let charset = session.settings.results;
        for meta in plan.columns() {
            out.writer().packet(|p| results::definition(meta, charset).encode(p, caps));
        }
        out.eof_after_columns(status, 0);
    }
    Ok(())
}

fn unknown(id: u32, command: &str) -> ClientError {
    error::unknown_handler(&id.to_string(), command)
}

/// COM_STMT_EXECUTE. True ends the connection.
pub(crate) fn execute(session: &mut Session, out: &mut Output, execute: &Execute<'_>) -> bool {
    session.entry.counters.count(Counter::ComStmtExecute);
    let id = if execute.statement_id == Execute::LAST_PREPARED {
        session.prepared.last_id()
    } else {
        execute.statement_id
    };
    let Some(mut statement) = session.prepared.take(id) else {
        session.begin_statement(true);
        session.fail(out, unknown(id, "mysqld_stmt_execute"));
        return false;
    };
    statement.cursor = None;
    let mark = session.slow_begin(out);
    let mut logged = None;
    let then = bind(session, &mut statement, execute).and_then(|()| {
        logged = session.logged_text(&mut statement);
        session.log_general("Execute", logged.as_deref().unwrap_or_default());
        let reply = Reply {
            quiet: false,
            format: Format::Binary,
            more: false,
            definitions: !statement.told_columns,
            cursor: execute.cursor & 1 != 0,
        };
        sql::run_prepared(session, out, &mut statement, reply)
    });
    statement.long_data.clear();
    session.prepared.put(statement);
    let leaves = match then {
        Ok(then) => then == Then::Leave,
        Err(e) => {
            session.fail(out, e);
            false
        }
    };
    session.slow_end(mark, out, logged.as_deref().unwrap_or_default());
    leaves
}

/// Decodes the parameters into the session's parameter list.
fn bind(
    session: &mut Session,
    statement: &mut PreparedStatement,
    execute: &Execute<'_>,
) -> Result<(), ClientError> {
    if let Some(e) = &statement.long_data_error {
        return Err(e.clone());
    }
    let params = &mut session.params;
    params.clear();
    let collation = session.settings.connection;
    let (types, long) = (&mut statement.types, &statement.long_data);
    let outcome = execute.parameters(
        usize::from(statement.params),
        types,
        |i| !long.is_empty() && long.contains_key(&(i as u16)),
        |p| {
            let i = params.len() as u16;
            params.push(match p {
                Parameter::Value(v) => value_of(&v, collation),
                _ => long.get(&i).map_or(Value::Null, |bytes| Value::str(bytes, collation)),
            });
        },
    );
    outcome.map_err(|_| error::malformed_packet())
}

/// A parameter as a SQL value. Texts have the connection's collation.
fn value_of(v: &BinaryValue<'_>, collation: charset::Collation) -> Value {
    match v {
        BinaryValue::Null => Value::Null,
        BinaryValue::Int(v) => Value::Int(*v),
        BinaryValue::UInt(v) => Value::UInt(*v),
        BinaryValue::Float(v) => Value::Float(*v),
        BinaryValue::Double(v) => Value::Double(*v),
        BinaryValue::Bytes(b) => Value::str(b, collation),
        BinaryValue::Date(t) => crate::text::date_time_of(t, false),
        BinaryValue::Time(t) => crate::text::time_of(t),
    }
}

/// COM_STMT_BULK_EXECUTE: one execution for each row, one reply for all of them.
pub(crate) fn bulk_execute(session: &mut Session, out: &mut Output, bulk: &BulkExecute<'_>) -> bool {
    session.begin_statement(true);
    session.entry.counters.count(Counter::ComStmtExecute);
    let Some(mut statement) = session.prepared.take(bulk.statement_id) else {
        session.fail(out, unknown(bulk.statement_id, "mysqld_stmt_bulk_execute"));
        return false;
    };
    let outcome = session.begin_group().and_then(|group| {
        let rows = bulk_rows(session, out, &mut statement, bulk);
        session.end_group(&group, rows.is_ok())?;
        rows
    });
    session.prepared.put(statement);
    match outcome {
        Ok(done) => session.send_ok(out, &done, false),
        Err(e) => session.fail(out, e),
    }
    false
}

fn bulk_rows(
    session: &mut Session,
    out: &mut Output,
    statement: &mut PreparedStatement,
    bulk: &BulkExecute<'_>,
) -> Result<Done, ClientError> {
    let malformed = |_| error::malformed_packet();
    let mut types = std::mem::take(&mut statement.types);
    let rows = bulk.rows(usize::from(statement.params), &mut types);
    let mut rows = rows.map_err(malformed)?;
    let collation = session.settings.connection;
    let mut sum = Done::default();
    loop {
        let mut params = std::mem::take(&mut session.params);
        params.clear();
        let mut special = false;
        let more = rows.next(&types, |p| {
            params.push(match p {
                Parameter::Value(v) => value_of(&v, collation),
                _ => {
                    special = true;
                    Value::Null
                }
            });
        });
        session.params = params;
        if !more.map_err(malformed)? {
            break;
        }
        if special {
            return Err(error::not_supported("DEFAULT and IGNORE indicators of bulk parameters"));
        }
        let done = sql::run_for_effect(session, out, statement)?;
        sum.affected_rows += done.affected_rows;
        if sum.insert_id == 0 {
            sum.insert_id = done.insert_id;
        }
    }
    statement.types = types;
    Ok(sum)
}

/// COM_STMT_SEND_LONG_DATA has no reply; what is wrong with it shows at the execute.
pub(crate) fn long_data(session: &mut Session, id: u32, parameter: u16, data: &[u8]) {
    session.entry.counters.count(Counter::ComStmtSendLongData);
    let max = session.settings.max_allowed_packet as usize;
    let Some(statement) = session.prepared.get_mut(id) else {
        return;
    };
    if parameter >= statement.params {
        statement.long_data_error = Some(error::wrong_arguments("mysqld_stmt_send_long_data"));
        return;
    }
    let so_far = statement.long_data.entry(parameter).or_default();
    if so_far.len() + data.len() <= max {
        so_far.extend_from_slice(data);
    } else {
        // A part of the value would be another value.
        *so_far = Vec::new();
        statement.long_data_error = Some(error::long_data_too_long());
    }
}

/// COM_STMT_CLOSE has no reply.
pub(crate) fn close(session: &mut Session, id: u32) {
    session.entry.counters.count(Counter::ComStmtClose);
    if session.prepared.close(id) {
        session.server().forget_prepared(1);
    }
}

/// COM_STMT_RESET: forgets long data and the cursor.
pub(crate) fn reset(session: &mut Session, id: u32) -> Result<(), ClientError> {
    session.entry.counters.count(Counter::ComStmtReset);
    let statement = session.prepared.get_mut(id).ok_or_else(|| unknown(id, "mysqld_stmt_reset"))?;
    statement.long_data.clear();
    statement.long_data_error = None;
    statement.cursor = None;
    Ok(())
}

/// COM_STMT_FETCH.
pub(crate) fn fetch(session: &mut Session, out: &mut Output, id: u32, rows: u32) {
    session.begin_statement(true);
    session.entry.counters.count(Counter::ComStmtFetch);
    let status = session.status();
    let Some(statement) = session.prepared.get_mut(id) else {
        return session.fail(out, unknown(id, "mysqld_stmt_fetch"));
    };
    let Some(cursor) = &mut statement.cursor else {
        return session.fail(out, error::statement_has_no_cursor(id));
    };
    for _ in 0..rows {
        let Some(row) = cursor.next_row() else { break };
        out.writer().packet(|p| p.extend_from_slice(row));
        if out.flush_if_full().is_err() {
            return;
        }
    }
    // The client asks once more after the last row, as with MariaDB: the flag comes with an answer that ends the cursor.
    let flag = if cursor.is_at_end() { Status::LAST_ROW_SENT } else { Status::CURSOR_EXISTS };
    if cursor.is_at_end() {
        statement.cursor = None;
    }
    let ok = OkPacket { status: status.with(flag), ..OkPacket::default() };
    if out.capabilities.contains(Capabilities::DEPRECATE_EOF) {
        out.end_of_rows(&ok);
    } else {
        out.eof(ok.status, 0);
    }
}
