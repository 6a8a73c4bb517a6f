//! Stored programs: made, compiled, run, shown.
//!
//! | module | what |
//! | --- | --- |
//! | `define` | CREATE, ALTER, DROP of routines |
//! | `trigger` | CREATE and DROP TRIGGER, and what rows fire |
//! | `compile`, `allowed`, `names`, `code` | from a body's tree to operations |
//! | `run` | the operations, handlers and cursors |
//! | `session_host`, `nested_host`, `pure` | where statements run: as the session's own, or inside a running statement |
//! | `call` | CALL, the compiled programs of a session |
//! | `function`, `inside` | stored functions and aggregate functions; savepoints and temporary tables in them |
//! | `signal` | SIGNAL, RESIGNAL, GET DIAGNOSTICS |
//!
//! # Life of a call
//! find the definition in the catalog -> compile it, once a session -> take over its database, sql_mode and collation -> arguments
//! into the first variables -> run -> values of OUT parameters back. A statement of the body is planned when it first runs; its plan
//! stays with the compiled program.

mod allowed;
mod build;
mod call;
mod code;
mod compile;
mod define;
mod function;
mod inside;
mod names;
mod nested_host;
mod pure;
mod run;
mod session_host;
pub(crate) mod show;
mod signal;
mod trigger;

pub(crate) use build::check_event;
pub(crate) use call::{Programs, call, run_compound, run_event, settle_outs};
pub(crate) use code::Program;
pub(crate) use define::{
    commit as commit_definition, context_of, define, definer, lock as lock_name, name_of,
};
pub(crate) use function::{call_function, feed_function};
pub(crate) use names::Names;
pub(crate) use signal::{get_diagnostics, signal};
pub(crate) use trigger::{define as define_trigger, fire};
