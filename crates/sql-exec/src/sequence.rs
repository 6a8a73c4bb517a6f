//! The row of a sequence's table: read, written.
//!
//! Writing takes the old row away and puts a new one there: a replica gets what MariaDB's servers send for a sequence, a row written.

use catalog::sequence::SequenceState;
use catalog::{SequenceDef, TableHandle};
use row_format::{ColumnType, IntSize};
use sql_plan::error::SqlResult;
use storage::row::{Direction, KeyRange, ReadMode, RowBuf, RowError, Strength, WaitMode};
use storage::trx::Trx;
use types::{Context, Value};

use crate::errors::{corrupt, row_error};
use crate::row;

const LOCKING: ReadMode = ReadMode::Locking { strength: Strength::Exclusive, wait: WaitMode::Wait };

fn failed(e: RowError, table: &TableHandle) -> sql_plan::error::SqlError {
    row_error(e, table, None, &Context::default())
}

fn wide(value: &Value) -> i128 {
    match value {
        Value::Int(v) => i128::from(*v),
        Value::UInt(v) => i128::from(*v),
        _ => 0,
    }
}

/// A number as a column of this type holds it.
fn narrow(n: i128, ty: &ColumnType) -> Value {
    match ty {
        ColumnType::Int { unsigned: true, .. } => Value::UInt(u64::try_from(n).unwrap_or(0)),
        _ => Value::Int(i64::try_from(n).unwrap_or(if n < 0 { i64::MIN } else { i64::MAX })),
    }
}

/// The row, locked until the transaction ends.
///
/// # Errors
/// Waiting for the row; a row that cannot be read.
pub fn read_sequence(trx: &mut Trx, table: &TableHandle) -> SqlResult<Option<(SequenceState, RowBuf)>> {
    let mut row = RowBuf::new();
    let mut scan = trx.scan(&table.table, 0, KeyRange::all(), Direction::Forward, LOCKING);
    if !scan.next(trx, &mut row).map_err(|e| failed(e, table))? {
        return Ok(None);
    }
    drop(scan);
    let mut values = Vec::new();
    let view = row_format::RowView::new(&table.table.spec().layout, &row.body);
    view.and_then(|v| v.values(&mut values)).map_err(|c| corrupt(&c))?;
    let number = |i: usize| values.get(i).map_or(0, wide);
    let state = SequenceState {
        next_not_cached: number(0),
        def: SequenceDef {
            minimum: number(1),
            maximum: number(2),
            start: number(3),
            increment: number(4),
            cache: u64::try_from(number(5)).unwrap_or(0),
            cycle: number(6) != 0,
        },
        cycle_count: number(7) as i64,
    };
    Ok(Some((state, row)))
}

/// Puts the row there, in the place of `old`.
///
/// # Errors
/// What the engine says.
pub fn write_sequence(
    trx: &mut Trx,
    table: &TableHandle,
    old: Option<&RowBuf>,
    state: &SequenceState,
) -> SqlResult<()> {
    if let Some(old) = old {
        let logged = trx.set_replicate(false);
        let outcome = trx.delete(&table.table, old);
        trx.set_replicate(logged);
        outcome.map_err(|e| failed(e, table))?;
    }
    let def = &state.def;
    let numbers = [
        state.next_not_cached,
        def.minimum,
        def.maximum,
        def.start,
        def.increment,
        i128::from(def.cache),
        i128::from(def.cycle),
        i128::from(state.cycle_count),
    ];
    let columns = &table.def.columns;
    let values: Vec<Value> = numbers.iter().zip(columns).map(|(n, c)| narrow(*n, &c.ty)).collect();
    let mut body = Vec::new();
    row::body_of(&table.table.spec().layout, &values, &mut body)?;
    trx.insert(&table.table, &body).map_err(|e| failed(e, table))
}

/// The smallest and largest number of a sequence of this type: one less than the type holds at each end.
pub(crate) fn limits(size: IntSize, unsigned: bool) -> (i128, i128) {
    let bits = match size {
        IntSize::Tiny => 8,
        IntSize::Small => 16,
        IntSize::Medium => 24,
        IntSize::Int => 32,
        IntSize::Big => 64,
    };
    if unsigned { (1, (1 << bits) - 2) } else { (1 - (1 << (bits - 1)), (1 << (bits - 1)) - 2) }
}
