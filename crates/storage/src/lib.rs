//! The engine: buffer pool, B+trees, transactions, locks, versions, recovery, purge.

pub mod lock;
pub mod row;
mod sync;
pub mod table;
pub mod trx;
