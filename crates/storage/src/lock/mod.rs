//! Row locks: record, gap, next-key and insert intention, shared and exclusive, with InnoDB's rules (core.md 5.3).
//!
//! - [`mode`]: modes and who waits for whom; a pure table.
//! - `owner`: what a transaction holds and waits for.
//! - `shard`: entries by key, a queue of locks in each.
//! - [`table`]: the lock table.
//! - `deadlock`: circles of waits.
//! - [`report`]: lists and texts for people.
//!
//! Locks are named by (index, key bytes), so splits and merges of pages move nothing. What a transaction has changed is
//! locked by its trx id in the row, without an object, until somebody else asks.

#[cfg(all(test, not(feature = "shuttle")))]
mod check;
mod deadlock;
pub mod mode;
mod owner;
pub mod report;
mod shard;
pub mod table;

#[cfg(all(test, feature = "shuttle"))]
mod schedules;
#[cfg(all(test, not(feature = "shuttle")))]
mod tests;

pub use mode::{Extent, LockMode, Strength};
pub use owner::Owner;
pub use table::{LockCounters, LockError, LockKey, LockTable, OnConflict, Owners, Requested, Wait};
