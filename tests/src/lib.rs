//! Black-box tests: a server process, real sockets, kill -9, and SQL tests as text.
//!
//! [`Server`] is a morsed process with a data directory of its own, [`MariaDb`] a real MariaDB beside it, [`Replica`] one that follows it,
//! [`Client`] a blocking connection, [`sqltest`] the text
//! format of `tests/sql`. Tests are in `tests/tests`, one file per story.

pub mod client;
pub mod mariadb;
pub mod replica;
pub mod server;
pub mod sqltest;

pub use client::{Client, Failure, Reply};
pub use mariadb::MariaDb;
pub use replica::{Replica, Version};
pub use server::Server;
