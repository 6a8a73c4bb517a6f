//! `cargo xtask test|crash|sim|fuzz|compat`: the rungs of the test ladder.

use crate::install;
use crate::run::{Outcome, cargo, has, output, run};
use std::process::Command;

/// Installs what is missing, builds the server that black-box tests start, and runs every test; the runner's own
/// summary is the last thing printed.
pub(crate) fn test(filter: &[&str]) -> Outcome {
    install::packages()?;
    run(&mut cargo(&["build", "--release", "--package", "morsed"]))?;
    let mut command = if has("cargo-nextest") {
        let mut nextest = cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]);
        nextest.args(filter);
        nextest
    } else {
        let mut plain = cargo(&["test", "--workspace", "--no-fail-fast"]);
        if !filter.is_empty() {
            plain.arg("--").args(filter);
        }
        plain
    };
    run(command.env("MORSED", server_path()))
}

fn server_path() -> String {
    crate::run::root().join("target/release/morsed").display().to_string()
}

fn number(args: &[&str], index: usize, default: u64) -> Result<u64, String> {
    args.get(index).map_or(Ok(default), |a| a.parse().map_err(|_| format!("not a number: {a}")))
}

/// The kill -9 loop of the black-box tests, with as many rounds as asked for.
pub(crate) fn crash(args: &[&str]) -> Outcome {
    let rounds = number(args, 0, 20)?;
    run(&mut cargo(&["build", "--release", "--package", "morsed"]))?;
    run(cargo(&["test", "--release", "--package", "blackbox", "--test", "kill9", "--", "--nocapture"])
        .env("MORSED", server_path())
        .env("KILL9_ROUNDS", rounds.to_string()))
}

/// Simulated crashes: a seed is a workload, an I/O boundary and what the disk does to unsynced writes.
pub(crate) fn sim(args: &[&str]) -> Outcome {
    let rounds = number(args, 0, 2000)?;
    let seed = number(args, 1, 1)?;
    run(cargo(&["test", "--release", "--package", "storage", "--test", "crash", "--", "--nocapture"])
        // Every round makes and frees whole engines: without this, most of the time goes into mapping memory.
        .env("MALLOC_ARENA_MAX", "1")
        .env("MALLOC_TOP_PAD_", "33554432")
        .env("MALLOC_TRIM_THRESHOLD_", "1000000000")
        .env("MALLOC_MMAP_THRESHOLD_", "1000000000")
        .env("SIM_ROUNDS", rounds.to_string())
        .env("SIM_SEED", seed.to_string()))
}

pub(crate) fn fuzz(args: &[&str]) -> Outcome {
    let seconds = number(args, 0, 30)?;
    if !has("cargo-fuzz") {
        run(&mut cargo(&["install", "cargo-fuzz", "--locked"]))?;
    }
    let targets = output(Command::new("cargo").args(["+nightly", "fuzz", "list"]))?;
    for target in targets.lines() {
        run(Command::new("cargo").args([
            "+nightly",
            "fuzz",
            "run",
            target,
            "--",
            &format!("-max_total_time={seconds}"),
        ]))?;
    }
    Ok(())
}

/// The expected results of tests/sql are a real MariaDB's: this runs the same files against one.
pub(crate) fn compat(args: &[&str]) -> Outcome {
    let socket = args.first().ok_or("name the socket of a running MariaDB server")?;
    run(cargo(&["test", "--package", "blackbox", "--test", "sql", "--", "--nocapture"])
        .env("SQL_TEST_SOCKET", socket))
}
