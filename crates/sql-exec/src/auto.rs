//! AUTO_INCREMENT values.

use catalog::TableHandle;
use storage::row::RowError;
use storage::trx::Trx;

/// The next value of the table's counter in the series `offset, offset + increment, ...`.
pub(crate) fn next(trx: &mut Trx, table: &TableHandle, increment: u64, offset: u64) -> Result<u64, RowError> {
    trx.reserve_auto_increment(&table.table, 1, increment, offset)
}

/// AUTO_INCREMENT = n: the counter goes on at least from there.
pub(crate) fn start_at(trx: &mut Trx, table: &TableHandle, value: u64) -> Result<(), RowError> {
    trx.raise_auto_increment(&table.table, value)
}
