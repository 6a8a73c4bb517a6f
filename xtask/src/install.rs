//! What the tests need from outside: Debian packages by apt, and below `target/clients` the programs of other people that read a binary
//! log, by pip and npm. Nothing else is downloaded but crates.

use crate::run::{Outcome, has, root, run};
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

/// Readers of binary logs, a few MiB. Without python, node or the network their tests say that they are skipped.
pub(crate) fn clients() {
    let place = root().join("target/clients");
    let python = place.join("python");
    let node = place.join("node");
    if let Err(e) = python_client(&python).and_then(|()| node_clients(&node)) {
        eprintln!("go on without some readers of the binary log: {e}");
    }
}

fn python_client(place: &std::path::Path) -> Outcome {
    let done = place.join("installed");
    if done.exists() || !has("python3") {
        return Ok(());
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(place))?;
    run(Command::new(place.join("bin/pip")).args(["install", "-q", "mysql-replication==1.0.17"]))?;
    std::fs::write(&done, "").map_err(|e| format!("{}: {e}", done.display()))
}

fn node_clients(place: &std::path::Path) -> Outcome {
    if place.join("node_modules").exists() || !has("npm") {
        return Ok(());
    }
    std::fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()))?;
    let packages = ["@vlasky/zongji@0.9.0", "@powersync/mysql-zongji@0.1.0"];
    run(Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--prefix"])
        .arg(place)
        .args(packages))
}
