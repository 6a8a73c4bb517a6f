//! NEXTVAL, LASTVAL and SETVAL.
//!
//! Values are taken from the memory of the sequence's handle. When that is empty, a transaction of its own writes the sequence's row,
//! whatever becomes of the statement around; what it reserves is given away when its commit has returned. Its group in the binary log
//! is one of its own, too.
//!
//! # Locking
//! The sequence's metadata lock is held shared, by the statement or taken here (a DEFAULT is not in the plan). The memory's mutex is
//! held while the row is written: who needs values waits for them anyway.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use catalog::TableHandle;
use catalog::mdl::MdlMode;
use catalog::sequence::{Reserved, SequenceState};
use client_error::{connection, program as error};
use row_format::ColumnType;
use sql_exec::{read_sequence, write_sequence};
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::expr::SessionValue;
use types::Value;

use crate::rights::planning_error;
use crate::scope::SessionScope;
use crate::variables::Var;
use crate::write_gate::{GateError, Passing};

/// The value of one of the three functions. Arguments: database, sequence; of SETVAL the value, whether it is used, the round.
pub(crate) fn value(scope: &mut SessionScope<'_>, which: SessionValue, args: &[Value]) -> SqlResult<Value> {
    let text = |i: usize| args.get(i).map_or_else(String::new, crate::text::to_string);
    let table = locked(scope, &text(0), &text(1))?;
    if which == SessionValue::PreviousValue {
        let last = scope.last_values.get(&table.def.id);
        return Ok(last.map_or(Value::Null, |n| shown(*n, &table)));
    }
    if scope.read_only {
        return Err(planning_error(connection::read_only_transaction()));
    }
    let mut memory = table.sequence.lock().unwrap_or_else(PoisonError::into_inner);
    let reserved = match memory.reserved.take() {
        Some(reserved) => reserved,
        None => Reserved::of(read(scope, &table)?),
    };
    let number = |i: usize| match args.get(i) {
        Some(Value::Int(n)) => i128::from(*n),
        Some(Value::UInt(n)) => i128::from(*n),
        _ => 0,
    };
    if which == SessionValue::SetValue {
        let set = reserved.set(number(2), number(3) != 0, number(4) as u64);
        memory.reserved = Some(reserved);
        let Some(set) = set else { return Ok(Value::Null) };
        write(scope, &table, &set.state)?;
        memory.reserved = Some(set);
        return Ok(shown(number(2), &table));
    }
    let reserved = memory.reserved.insert(reserved);
    loop {
        if let Some(next) = reserved.take() {
            scope.last_values.insert(table.def.id, next);
            return Ok(shown(next, &table));
        }
        let more = reserved
            .reserve()
            .ok_or_else(|| planning_error(error::sequence_run_out(table.schema(), table.name())))?;
        write(scope, &table, &more.state)?;
        *reserved = more;
    }
}

fn shown(n: i128, table: &TableHandle) -> Value {
    match &table.def.columns[0].ty {
        ColumnType::Int { unsigned: true, .. } => Value::UInt(n as u64),
        _ => Value::Int(n as i64),
    }
}

/// The sequence, which cannot be changed or dropped from now on.
fn locked(scope: &SessionScope<'_>, schema: &str, name: &str) -> SqlResult<Arc<TableHandle>> {
    let timeout = Duration::from_secs(scope.variables.u64(Var::LOCK_WAIT_TIMEOUT));
    let lock = scope.server.locks().of(schema, name);
    scope.mdl.lock(&lock, MdlMode::Shared, timeout).map_err(sql_exec::mdl_error)?;
    let found = scope.server.catalog().table(schema, name).cloned();
    found
        .filter(|t| t.def.sequence.is_some())
        .ok_or_else(|| SqlError::NoSuchTable { schema: schema.to_owned(), name: name.to_owned() })
}

fn read(scope: &SessionScope<'_>, table: &TableHandle) -> SqlResult<SequenceState> {
    let mut trx = scope.server.begin(scope.trx_options).map_err(planning_error)?;
    let found = read_sequence(&mut trx, table)?;
    let (state, _) = found.ok_or_else(|| SqlError::RecordNotFound { table: table.name().to_owned() })?;
    Ok(state)
}

/// Writes the row in a transaction of its own; durable, as far as commits are, when it returns.
fn write(scope: &SessionScope<'_>, table: &TableHandle, state: &SequenceState) -> SqlResult<()> {
    let gate = scope.server.write_gate();
    let alone = scope.entry.inside().load(std::sync::atomic::Ordering::Relaxed) == 0;
    if alone {
        let timeout = Duration::from_secs(scope.variables.u64(Var::LOCK_WAIT_TIMEOUT));
        gate.enter(scope.entry, Passing::Commit, timeout).map_err(|e| match e {
            GateError::Killed => SqlError::Interrupted,
            GateError::Timeout => SqlError::LockWaitTimeout,
        })?;
    }
    let written = write_admitted(scope, table, state);
    if alone {
        gate.leave(scope.entry);
    }
    written
}

fn write_admitted(scope: &SessionScope<'_>, table: &TableHandle, state: &SequenceState) -> SqlResult<()> {
    let mut trx = scope.server.begin(scope.trx_options).map_err(planning_error)?;
    trx.start_statement();
    let row = read_sequence(&mut trx, table)?.map(|(_, row)| row);
    write_sequence(&mut trx, table, row.as_ref(), state)?;
    let committed = scope.server.committer().commit(trx, scope.numbering);
    committed.map(|_| ()).map_err(|e| planning_error(crate::transaction::commit_error(&e)))
}
