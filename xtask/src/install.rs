//! What the tests need from outside: Debian packages by apt. Nothing else is downloaded but crates.

use crate::run::{Outcome, has, run};
use std::process::Command;

/// Program that must be on the PATH, and the Debian package that brings it.
const PROGRAMS: &[(&str, &str)] =
    &[("mariadb", "mariadb-client"), ("mariadbd", "mariadb-server"), ("sysbench", "sysbench")];

/// Installs the missing ones of [`PROGRAMS`]; asks apt only when something is missing.
pub(crate) fn packages() -> Outcome {
    let missing: Vec<&str> = PROGRAMS.iter().filter(|(p, _)| !has(p)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !has("apt-get") {
        return Err(format!("please install by hand (no apt-get here): {}", missing.join(" ")));
    }
    run(Command::new("apt-get").args(["update", "-q"]))?;
    run(Command::new("apt-get")
        .args(["install", "-qy", "--no-install-recommends"])
        .args(&missing)
        .env("DEBIAN_FRONTEND", "noninteractive"))
}
