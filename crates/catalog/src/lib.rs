//! Data dictionary and metadata locks.
//!
//! A statement takes a [`Snapshot`], finds its tables in it without a lock, and locks their names with [`mdl`]. DDL changes the
//! dictionary's rows in a transaction like any other rows, and after its commit replaces the snapshot.
#![forbid(unsafe_code)]

mod codec;
mod definition;
pub mod mdl;
mod snapshot;

pub use definition::{
    ColumnDef, DatabaseDef, DefaultLiteral, DefaultValue, HIDDEN_KEY, IndexDef, PRIMARY, TableDef, same_name,
};
pub use snapshot::{Database, Snapshot, TableHandle};
