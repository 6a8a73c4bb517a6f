//! ANALYZE TABLE: reads each index from end to end and counts the values of its leading parts.

use std::sync::Arc;

use catalog::{TableHandle, TableStatistics};
use row_format::RowView;
use sql_plan::error::{SqlError, SqlResult};
use storage::row::{Direction, KeyRange, ReadMode, RowBuf};

use crate::ddl::{DdlContext, storage_error};
use crate::partitioned;

/// Rows between two looks at the kill flag.
const INTERRUPT_EVERY: u64 = 1024;

pub(crate) fn count(handle: &Arc<TableHandle>, cx: &mut DdlContext<'_>) -> SqlResult<TableStatistics> {
    let mut out = TableStatistics::default();
    for (number, index) in handle.def.indexes.iter().enumerate() {
        let columns: Vec<usize> = index.parts.iter().map(|p| p.column).collect();
        let (rows, distinct) = count_index(handle, number, &columns, cx)?;
        out.rows = out.rows.max(rows);
        out.distinct.push(distinct);
    }
    Ok(out)
}

/// Rows of an index, and how often each of its leading parts changes from one entry to the next.
fn count_index(
    handle: &Arc<TableHandle>,
    number: usize,
    columns: &[usize],
    cx: &mut DdlContext<'_>,
) -> SqlResult<(u64, Vec<u64>)> {
    let failed = |e| storage_error(e, handle.name());
    let mut trx = cx.catalog.engine().begin();
    let (all, forward, mode) = (KeyRange::all(), Direction::Forward, ReadMode::Consistent);
    let scan = partitioned::scan(&mut trx, handle, number, all, forward, mode, &None, true);
    let mut scan = scan.large().covering(number > 0);
    let (mut buf, mut rows) = (RowBuf::new(), 0u64);
    let mut distinct = vec![0u64; columns.len()];
    let mut before: Vec<Option<Vec<u8>>> = vec![None; columns.len()];
    while scan.next(&mut trx, &mut buf).map_err(failed)? {
        let view =
            RowView::new(&handle.table.spec().layout, &buf.body).map_err(|c| crate::errors::corrupt(&c))?;
        let mut changed = rows == 0;
        for (i, column) in columns.iter().enumerate() {
            let bytes = view.column(*column).map_err(|c| crate::errors::corrupt(&c))?;
            if changed || before[i].as_deref() != bytes {
                changed = true;
                before[i] = bytes.map(<[u8]>::to_vec);
                distinct[i] += 1;
            }
        }
        rows += 1;
        if rows.is_multiple_of(INTERRUPT_EVERY) && cx.session.interrupted() {
            return Err(SqlError::Interrupted);
        }
    }
    trx.rollback().map_err(failed)?;
    Ok((rows, distinct))
}
