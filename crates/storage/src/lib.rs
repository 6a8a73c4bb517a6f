//! The engine: buffer pool, B+trees, transactions, locks, versions, recovery, purge.

pub mod btree;
pub(crate) mod checkpoint;
mod cleaner;
mod doublewrite;
pub mod engine;
pub mod kernel;
pub mod lock;
pub mod mtr;
pub mod pool;
pub mod purge;
pub mod recovery;
pub mod row;
mod space;
mod sync;
pub mod table;
pub mod trx;
pub use cleaner::Cleaner;
