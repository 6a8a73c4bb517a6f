//! Users, roles and privileges: what is stored of them, who may log in, who may do what. Pure; the session reads and writes the rows.
//!
//! # Layout
//! [`Tables`] holds the rows of `mysql.global_priv`, `db`, `tables_priv`, `columns_priv`, `procs_priv`, `roles_mapping` and
//! `proxies_priv`, each map one table by its primary key. A statement changes a copy, the difference becomes row changes of one
//! transaction, and the copy becomes the next [`Accounts`], which adds what look-ups need: hosts by how specific they are, roles
//! with what they inherit.
//!
//! # Invariants
//! A1. An [`Accounts`] never changes. Its `generation` grows with each replacement; what was decided under an older one is
//! decided again.
//! A2. Privileges of a level are stored at that level only: a global SELECT is never copied into databases.
#![forbid(unsafe_code)]

pub mod account;
pub mod change;
pub mod host;
pub mod json;
pub mod privilege;
pub mod show;
pub mod snapshot;
pub mod tables;

pub use account::{Account, Auth, Limits, Tls};
pub use privilege::Privileges;
pub use snapshot::{Accounts, Rights};
pub use tables::{RoutineKind, Tables};
