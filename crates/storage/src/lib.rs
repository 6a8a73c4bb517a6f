//! The engine: buffer pool, B+trees, transactions, locks, versions, recovery, purge.
