//! The binary log beside the tables that it tells of: what a replica would have must be what is there.
//!
//! * [`world`] an engine with tables and a commit order on a simulated disk
//! * [`replica`] reads event groups, checks their form, and applies them to rows in memory
//! * [`workload`] random transactions: savepoints, rollbacks, changed keys, long values, statements over several tables
//! * [`groups`] the events of single statements and transactions
//! * [`files`] rotation, positions, purge, damage
//! * [`binlog_files`] the same with files of its own
//! * [`crash`] the power goes or the process dies at any call of the disk

mod binlog_files;
mod crash;
mod files;
mod groups;
mod replica;
mod workload;
mod world;
