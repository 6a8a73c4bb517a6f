//! `cargo xtask test|crash|sim|fuzz|compat`: the rungs of the test ladder.

use crate::install;
use crate::run::{Outcome, cargo, has, output, run};
use std::process::Command;

/// Installs what is missing, builds the server that black-box tests start, and runs every test; the runner's own
/// summary is the last thing printed.
pub(crate) fn test(filter: &[&str]) -> Outcome {
    install::packages()?;
    install::clients();
    run(&mut cargo(&["build", "--release", "--package", "morsed", "--package", "morse-binlog"]))?;
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
    run(cargo(&[
        "test",
        "--release",
        "--package",
        "blackbox",
        "--test",
        "kill9",
        "--test",
        "kill9_objects",
        "--",
        "--nocapture",
    ])
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
    seed_events()?;
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

/// The corpus of the target `event`: the events of the binlog files that real servers wrote.
fn seed_events() -> Outcome {
    let root = crate::run::root();
    let corpus = root.join("fuzz/corpus/event");
    let failed = |what: &std::path::Path, e: std::io::Error| format!("{}: {e}", what.display());
    std::fs::create_dir_all(&corpus).map_err(|e| failed(&corpus, e))?;
    for name in ["mariadb-10.11", "mariadb-11.8", "mariadb-11.8-phases"] {
        let path = root.join(format!("crates/event-format/tests/fixtures/{name}.bin"));
        let file = std::fs::read(&path).map_err(|e| failed(&path, e))?;
        let mut at = 4;
        // The length stands at offset 9 of an event.
        while let Some(length) = file.get(at + 9..at + 13) {
            let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
            let seed = corpus.join(format!("{name}-{at}"));
            std::fs::write(&seed, &file[at..at + length]).map_err(|e| failed(&seed, e))?;
            at += length;
        }
    }
    Ok(())
}

/// The expected results of tests/sql are a real MariaDB's: this runs the same files against one.
pub(crate) fn compat(args: &[&str]) -> Outcome {
    let socket = args.first().ok_or("name the socket of a running MariaDB server")?;
    run(cargo(&["test", "--package", "blackbox", "--test", "sql", "--", "--nocapture"])
        .env("SQL_TEST_SOCKET", socket))
}
