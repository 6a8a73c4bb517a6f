//! Runs plans.
//!
//! | module | what |
//! | --- | --- |
//! | `run`, `context`, `sink`, `outcome` | the doors: [`run()`], what it runs in, where rows go, what it did |
//! | `exec` | the state of one running statement |
//! | `join` | nested loops, hash joins |
//! | `select`, `group`, `gathered`, `window`, `recursive`, `subquery` | query blocks |
//! | `set_operation` | UNION, INTERSECT, EXCEPT |
//! | `sort`, `spill`, `row_store`, `distinct`, `seen_keys`, `keyed_rows`, `paged` | sorts, and what is gathered: in memory, then on disk |
//! | `explain`, `explain_json`, `analysis` | the plan as text, with what its steps did |
//! | `load`, `outfile` | LOAD DATA, SELECT ... INTO OUTFILE |
//! | `insert`, `update`, `store`, `row` | changes of rows |
//! | `versioning`, `portion` | what changes leave behind in versioned tables and of periods |
//! | `written` | which columns a change names, for the binlog |
//! | `row_events`, `row_conversion` | changes of rows that a binlog brings |
#![forbid(unsafe_code)]

mod admin;
mod analysis;
mod analyze;
mod auto;
mod computed;
mod context;
pub mod ddl;
mod distinct;
mod errors;
mod exec;
mod explain;
mod explain_json;
mod foreign;
mod gathered;
mod group;
mod in_set;
mod insert;
mod join;
mod json_table;
mod keyed_rows;
mod load;
mod outcome;
mod outfile;
mod paged;
mod partitioned;
mod place;
mod portion;
mod reads;
mod recursive;
mod row;
mod row_conversion;
mod row_events;
mod row_store;
mod run;
mod safe_updates;
mod seen_keys;
mod select;
mod sequence;
mod set_operation;
mod sink;
mod sort;
mod spill;
mod store;
mod subquery;
mod trigger;
mod update;
mod versioning;
mod window;
mod written;

pub use admin::{Admin, admin_of, table_admin};
pub use analysis::run_analyzed;
pub use context::{
    ExecContext, ExecSettings, Firing, Inside, RoutineState, SessionState, Suspended, Work, Workspace,
    lock_tables, mdl_error,
};
pub use explain::{ExplainColumns, columns as explain_columns, explain};
pub use explain_json::explain_json;
pub use outcome::Outcome;
pub use place::Place;
pub use row_conversion::Conversions;
pub use row_events::apply_rows;
pub use run::{ends_transaction, evaluate, run};
pub use sequence::{read_sequence, write_sequence};
pub use sink::{RowSink, SinkClosed};
pub use store::store_variable;
