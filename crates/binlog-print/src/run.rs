//! A command line carried out.

use std::io::Write;
use std::path::Path;

use crate::arguments::{Request, Task};
use crate::source::{self, Source, SourceError};
use crate::{Position, PrintError, Printer};

/// Why nothing more was done; the text is for the user.
#[derive(Debug)]
pub struct Failure(pub String);

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Carries the request out; warnings go to `warn`.
pub fn run(request: Request, out: &mut dyn Write, warn: &mut dyn Write) -> Result<(), Failure> {
    match request.task {
        Task::Help => Ok(writeln!(out, "{}", crate::arguments::USAGE)?),
        Task::Version => Ok(writeln!(out, "morse-binlog Ver {}", env!("CARGO_PKG_VERSION"))?),
        Task::Print => print(request, out, warn),
        Task::Verify | Task::Convert => Err(Failure("--verify and --convert: not built".into())),
    }
}

fn print(request: Request, out: &mut dyn Write, warn: &mut dyn Write) -> Result<(), Failure> {
    if let Some((stop, start)) = request.selection.contradiction()
        && request.gtid_strict_mode
    {
        return Err(Failure(format!(
            "ERROR: Queried GTID range is invalid in strict mode. Stop position {stop} is not greater than or equal to \
             start {start}."
        )));
    }
    if request.remote.is_some() || request.options.flashback {
        return Err(Failure("--read-from-remote-server and --flashback: not built".into()));
    }
    let mut printer = Printer::new(request.options, request.selection);
    printer.prologue(out)?;
    let last = request.files.len().saturating_sub(1);
    for (i, file) in request.files.iter().enumerate() {
        let start = match request.start {
            Some(Position::Offset(offset)) if i == 0 => Some(offset),
            _ => None,
        };
        let mut source = source::open(Path::new(file), start)
            .map_err(|e| Failure(format!("ERROR: Could not read '{file}': {e}")))?;
        printer.begin_file(out, i == last)?;
        let goes_on =
            one(&mut printer, &mut source, out).map_err(|e| Failure(format!("ERROR: {file}: {}", e.0)))?;
        printer.end_file(out)?;
        if !goes_on {
            break;
        }
    }
    for gtid in printer.selection().not_reached() {
        writeln!(warn, "WARNING: Did not reach stop position {gtid} before end of input")?;
    }
    printer.epilogue(out)?;
    match printer.selection().not_passed().first() {
        Some(gtid) if request.gtid_strict_mode => {
            Err(Failure(format!("ERROR: Binary logs never reached expected GTID state of {gtid}")))
        }
        _ => Ok(()),
    }
}

/// Prints what a source gives; false: what follows is not selected.
fn one(printer: &mut Printer, source: &mut dyn Source, out: &mut dyn Write) -> Result<bool, Failure> {
    let mut event = Vec::new();
    while let Some(at) = source.next(&mut event).map_err(|e: SourceError| Failure(e.to_string()))? {
        let goes_on = printer.event(at, &event, out).map_err(|e| match e {
            PrintError::Corrupt(corruption) => Failure(format!("at {at}: {corruption}")),
            PrintError::Output(error) => Failure(error.to_string()),
        })?;
        if !goes_on {
            return Ok(false);
        }
    }
    Ok(true)
}
