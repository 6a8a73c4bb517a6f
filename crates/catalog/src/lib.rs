//! Data dictionary and metadata locks.
//!
//! A statement takes a [`Snapshot`], finds its tables in it without a lock, and locks their names with [`mdl`]. DDL changes the
//! dictionary's rows in a transaction like any other rows ([`CatalogChange`]), and after its commit replaces the snapshot.
#![forbid(unsafe_code)]

mod catalog;
mod codec;
mod codec_rules;
mod definition;
mod describe;
mod dictionary;
mod engine;
pub mod mdl;
pub mod partition;
pub mod program;
pub mod sequence;
mod session_catalog;
mod snapshot;
mod statistics;
mod view;

pub use catalog::{Catalog, CatalogChange};
pub use definition::{
    CheckDef, ColumnDef, DatabaseDef, DefaultLiteral, DefaultValue, ForeignKeyDef, Generated, HIDDEN_KEY,
    IndexDef, KEY_BYTES_MAX, PRIMARY, PeriodDef, ReferenceAction, RowTime, SequenceDef, TableDef, same_name,
};
pub use describe::{quote_name, quote_text};
pub use dictionary::OpenAlter;
pub use engine::DictionaryEngine;
pub use session_catalog::SessionCatalog;
pub use snapshot::{Database, Snapshot, TableHandle};
pub use statistics::{StatisticsCell, TableStatistics};
pub use view::{ViewAlgorithm, ViewCheck, ViewDef};
