//! `cargo xtask bench`: builds the server and hands over to bench/compare.py, which runs sysbench on both servers.

use crate::install;
use crate::run::{Outcome, cargo, run};
use std::process::Command;

pub(crate) fn bench(args: &[&str]) -> Outcome {
    install::packages()?;
    run(&mut cargo(&["build", "--release", "--package", "morsed"]))?;
    run(Command::new("python3").arg("bench/compare.py").args(args))
}
