//! Prints classic binlog files and this server's log; see `binlog-print`.

use std::io::{BufWriter, Write, stderr, stdout};
use std::process::ExitCode;

use binlog_print::{arguments, run};

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let request = match arguments::parse(&given) {
        Ok(request) => request,
        Err(text) => {
            eprintln!("morse-binlog: {text}");
            return ExitCode::FAILURE;
        }
    };
    let mut out = BufWriter::with_capacity(256 << 10, stdout().lock());
    let done = run::run(request, &mut out, &mut stderr().lock());
    let flushed = out.flush();
    match (done, flushed) {
        (Ok(()), Ok(())) => ExitCode::SUCCESS,
        (Err(failure), _) => {
            eprintln!("{}", failure.0);
            ExitCode::FAILURE
        }
        (Ok(()), Err(error)) => {
            eprintln!("morse-binlog: {error}");
            ExitCode::FAILURE
        }
    }
}
