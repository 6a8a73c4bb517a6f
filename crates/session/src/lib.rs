//! One client connection: commands, statements, variables, results; and the server around all of them.
//!
//! # The life of a command
//! `connection` reads a packet -> `commands` routes it -> `statement` parses and finds the family -> `set`, `show`,
//! `transaction`, `named` run what is the session's own, `sql` what is the planner's and the executor's -> `results` and
//! `output` gather the reply -> one write.
//!
//! # Invariants
//! S1. A session's state is touched by its own thread only; others see the `registry`'s entry.
//! S2. A reply is sent after the transaction that it reports is durable as far as the settings ask.
//! S3. No lock that other connections wait for is held while the socket is read or written.
#![forbid(unsafe_code)]

mod account;
mod account_store;
mod annotation;
mod authentication;
pub mod backend;
mod binary;
mod binlog_files;
mod busy_poll;
mod commands;
mod compression;
mod connection;
mod counters;
mod ddl;
mod diagnostics;
mod dump;
mod engine_tables;
pub mod error_log;
mod event;
pub mod event_log;
mod files;
mod handler;
mod handshake;
mod information_schema;
mod internal;
mod login_limits;
mod named;
mod output;
mod parking;
mod plugins;
mod prepared;
mod privilege_tables;
mod privileges;
mod program;
mod program_tables;
mod prometheus;
mod query_log;
mod registry;
mod replay;
mod replicas;
mod results;
mod rights;
mod rsa_key;
mod scope;
mod sequences;
pub mod server;
mod session;
mod set;
mod settings;
mod show;
mod sql;
mod statement;
mod status;
mod system_tables;
mod table_locks;
#[cfg(test)]
mod tests;
mod text;
mod tls;
mod track;
mod transaction;
mod transport;
mod two_phase;
mod user_locks;
pub mod variables;
mod virtual_tables;
mod write_gate;
mod xa;

pub use handshake::VERSION;
