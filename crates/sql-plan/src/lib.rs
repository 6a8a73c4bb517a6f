//! Names, types, index choice: from syntax tree to plan.
//!
//! `planner::plan` takes a parsed statement and a catalog snapshot and answers with a [`plan::Plan`], which owns all it needs
//! and is run by `sql-exec` as often as wanted.
//!
//! | module | what |
//! | --- | --- |
//! | `planner`, `scope` | one statement's planning; names |
//! | `build`, `call`, `typing`, `fold` | expressions and their types |
//! | `query`, `dml` | query blocks; INSERT, UPDATE, DELETE |
//! | `window`, `rollup`, `recursive`, `json_table`, `files` | window functions, ROLLUP, WITH RECURSIVE, JSON_TABLE, LOAD DATA |
//! | `access`, `range`, `cost`, `order` | join order, access paths, what they cost, index order |
//! | `keys` | key ranges of values |
//! | `views`, `view_text` | views in queries; their text |
//! | `versioning`, `portion` | FOR SYSTEM_TIME; FOR PORTION OF |
//! | `program`, `partition` | expressions of table definitions; which part a row lies in |
//! | `plan`, `expr`, `meta` | the result |
//! | `eval`, `ops`, `like` | evaluation |
#![forbid(unsafe_code)]

mod access;
mod build;
mod call;
mod cost;
mod covering;
mod disjunction;
mod dml;
mod duplicate;
pub mod error;
pub mod eval;
pub mod expr;
mod files;
mod fold;
pub mod function;
pub mod guard;
pub mod json_table;
pub mod keys;
pub mod like;
pub mod meta;
pub mod ops;
mod order;
pub mod partition;
pub mod plan;
mod planner;
pub mod portion;
mod print;
pub mod program;
mod query;
mod range;
mod recursive;
pub mod relations;
mod rollup;
mod scope;
pub mod typing;
pub mod versioning;
pub mod view_text;
mod views;
mod window;

pub use call::interval_unit;
pub use planner::{Local, Locals, LockedTable, PlanContext, Variables, plan, plan_expr};
