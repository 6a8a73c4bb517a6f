//! Tasks of the project: `cargo xtask TASK`.
//!
//! Each task prints the commands it runs and stops at the first that fails, so that what CI does can be repeated by hand.
#![forbid(unsafe_code)]

mod bench;
mod check;
mod install;
mod run;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask check                 format, lints, docs, dependency licences, house rules
cargo xtask test [FILTER]         install what the tests need, then run them all
cargo xtask crash [ROUNDS]        kill -9 a loaded server ROUNDS times (default 20) and check what it acknowledged
cargo xtask sim [ROUNDS] [SEED]   simulated crashes of the engine (default 2000), each at an I/O boundary
cargo xtask fuzz [SECONDS]        every fuzz target for SECONDS each (default 30; needs cargo-fuzz and a nightly toolchain)
cargo xtask bench [ARGS]          sysbench against this server and a real MariaDB side by side; see docs/benchmarks.md
cargo xtask compat SOCKET         run tests/sql against the MariaDB server behind SOCKET: the expected results are its own";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    let outcome = match args.first().map(String::as_str) {
        Some("check") => check::check(),
        Some("test") => test::test(&rest),
        Some("crash") => test::crash(&rest),
        Some("sim") => test::sim(&rest),
        Some("fuzz") => test::fuzz(&rest),
        Some("bench") => bench::bench(&rest),
        Some("compat") => test::compat(&rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}
