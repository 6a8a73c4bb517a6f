//! AUTO_INCREMENT values.

use catalog::TableHandle;
use storage::row::RowError;
use storage::trx::Trx;

/// The next value of the table's counter in the series `offset, offset + increment, ...`.
pub(crate) fn next(
    _trx: &mut Trx,
    _table: &TableHandle,
    _increment: u64,
    _offset: u64,
) -> Result<u64, RowError> {
    Err(RowError::Storage("AUTO_INCREMENT is not built yet".to_owned()))
}

/// AUTO_INCREMENT = n: the counter goes on at least from there.
pub(crate) fn start_at(_trx: &mut Trx, _table: &TableHandle, _value: u64) -> Result<(), RowError> {
    Err(RowError::Storage("AUTO_INCREMENT is not built yet".to_owned()))
}
