//! A command line carried out.

use std::io::{Read, Seek, Write};
use std::path::Path;
use std::rc::Rc;

use binlog::BinlogFile;
use event_format::{EventKind, Header, MAGIC};

use crate::arguments::{Remote, Request, Task};
use crate::source::segments::{self, SegmentError, SegmentLog};
use crate::source::{self, FileSource, RemoteSource, Source};
use crate::{Position, PrintError, Printer, convert, verify};

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
        Task::Verify => verify_all(&request, out),
        Task::Convert => convert_all(&request, out),
        Task::Print => match (&request.remote, &request.result_file) {
            (Some(remote), _) if remote.raw => raw(&request, remote),
            (_, Some(path)) => {
                let mut file = std::io::BufWriter::new(env::host::create(Path::new(path))?);
                print(&request, &mut file, warn)?;
                Ok(file.flush()?)
            }
            (_, None) => print(&request, out, warn),
        },
    }
}

fn verify_all(request: &Request, out: &mut dyn Write) -> Result<(), Failure> {
    let mut sound = true;
    for file in &request.files {
        sound &= match segments::named(Path::new(file)) {
            Some((directory, only)) => verify::segments(&directory, only, out)?,
            None => verify::file(Path::new(file), out)?,
        };
    }
    if sound { Ok(()) } else { Err(Failure("ERROR: there is damage".into())) }
}

fn convert_all(request: &Request, out: &mut dyn Write) -> Result<(), Failure> {
    let prefix = request.result_file.as_deref().unwrap_or("binlog");
    for file in &request.files {
        let Some((directory, only)) = segments::named(Path::new(file)) else {
            return Err(Failure(format!("ERROR: '{file}' is no directory of segments and no segment")));
        };
        convert::convert(&directory, only, prefix, out)?;
    }
    Ok(())
}

/// One file, server or segment to print.
enum Unit {
    Named(String),
    Segment(Rc<SegmentLog>, BinlogFile),
}

impl Unit {
    fn name(&self) -> String {
        match self {
            Self::Named(name) => name.clone(),
            Self::Segment(_, file) => segments::name(file.number),
        }
    }
}

/// What the request names, directories as their segments.
fn units(request: &Request) -> Result<Vec<Unit>, Failure> {
    let mut units = Vec::new();
    for name in &request.files {
        let place = if request.remote.is_some() { None } else { segments::named(Path::new(name)) };
        let Some((directory, only)) = place else {
            units.push(Unit::Named(name.clone()));
            continue;
        };
        let log = SegmentLog::open(&directory).map_err(|e| Failure(format!("ERROR: {directory}: {e}")))?;
        let log = Rc::new(log);
        let files = log.files().into_iter().filter(|f| only.is_none_or(|only| f.number == only));
        let before = units.len();
        units.extend(files.map(|file| Unit::Segment(Rc::clone(&log), file)));
        if units.len() == before {
            return Err(Failure(format!("ERROR: Could not read '{name}': there is no such segment")));
        }
    }
    Ok(units)
}

/// Either place that events are pulled from.
enum AnySource<R> {
    File(FileSource<R>),
    Remote(Box<RemoteSource>),
}

impl<R: Read + Seek> Source for AnySource<R> {
    fn next(&mut self, event: &mut Vec<u8>) -> Result<Option<u64>, source::SourceError> {
        match self {
            Self::File(file) => file.next(event),
            Self::Remote(remote) => remote.next(event),
        }
    }
}

fn open(
    request: &Request,
    file: &str,
    start: Option<&Position>,
) -> Result<AnySource<impl Read + Seek + use<>>, Failure> {
    let failed = |e| Failure(format!("ERROR: Could not read '{file}': {e}"));
    if let Some(remote) = &request.remote {
        let source = RemoteSource::open(remote, file, start).map_err(failed)?;
        return Ok(AnySource::Remote(Box::new(source)));
    }
    source::open(Path::new(file), offset(start)).map(AnySource::File).map_err(failed)
}

fn offset(start: Option<&Position>) -> Option<u64> {
    match start {
        Some(Position::Offset(offset)) => Some(*offset),
        _ => None,
    }
}

fn print(request: &Request, out: &mut dyn Write, warn: &mut dyn Write) -> Result<(), Failure> {
    if let Some((stop, start)) = request.selection.contradiction()
        && request.gtid_strict_mode
    {
        return Err(Failure(format!(
            "ERROR: Queried GTID range is invalid in strict mode. Stop position {stop} is not greater than or equal to \
             start {start}."
        )));
    }
    let mut printer = Printer::new(request.options.clone(), request.selection.clone());
    printer.prologue(out)?;
    let units = units(request)?;
    let mut order: Vec<usize> = (0..units.len()).collect();
    if request.options.flashback {
        order.reverse();
    }
    for i in order {
        printer.begin_file(out, i + 1 == units.len())?;
        // A start is one of the first.
        let start = request.start.as_ref().filter(|_| i == 0);
        let goes_on = one(request, &units[i], start, &mut printer, out)?;
        let ended = printer.end_file(out);
        ended.map_err(|e| Failure(format!("ERROR: {}: {e}", units[i].name())))?;
        if !goes_on && !request.options.flashback {
            break;
        }
    }
    for gtid in printer.selection().not_reached() {
        writeln!(warn, "WARNING: Did not reach stop position {gtid} before end of input")?;
    }
    printer.epilogue(out)?;
    match printer.selection().not_passed().first() {
        Some(gtid) if request.gtid_strict_mode && request.remote.is_none() => {
            Err(Failure(format!("ERROR: Binary logs never reached expected GTID state of {gtid}")))
        }
        _ => Ok(()),
    }
}

/// Prints one of the units; false: what follows is not selected.
fn one(
    request: &Request,
    unit: &Unit,
    start: Option<&Position>,
    printer: &mut Printer,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let failed = |e: String| Failure(format!("ERROR: {}: {e}", unit.name()));
    let file = match unit {
        Unit::Named(file) => file,
        Unit::Segment(log, file) => {
            let read = log.each(*file, offset(start).unwrap_or(0), &mut |at, bytes| {
                printer.event(at, bytes, out).map_err(|e: PrintError| format!("at {at}: {e}"))
            });
            return read.map_err(|e| match e {
                SegmentError::Read(error) => failed(error.to_string()),
                SegmentError::Taker(text) => failed(text),
            });
        }
    };
    let mut source = open(request, file, start)?;
    let live = request.remote.as_ref().is_some_and(|remote| remote.stop_never);
    let mut event = Vec::new();
    while let Some(at) = source.next(&mut event).map_err(|e| failed(e.to_string()))? {
        let goes_on = printer.event(at, &event, out).map_err(|e| failed(format!("at {at}: {e}")))?;
        if !goes_on {
            return Ok(false);
        }
        if live {
            out.flush()?;
        }
    }
    Ok(true)
}
/// Writes the server's files as they are: each under its own name behind the prefix.
fn raw(request: &Request, remote: &Remote) -> Result<(), Failure> {
    let prefix = request.result_file.clone().unwrap_or_default();
    for (i, asked) in request.files.iter().enumerate() {
        let start = request.start.as_ref().filter(|_| i == 0);
        let failed = |e: &dyn std::fmt::Display| Failure(format!("ERROR: '{asked}': {e}"));
        let mut source = RemoteSource::open(remote, asked, start).map_err(|e| failed(&e))?;
        let (mut event, mut open_name, mut file) = (Vec::new(), Vec::new(), None);
        while source.next(&mut event).map_err(|e| failed(&e))?.is_some() {
            let begins = Header::read(&event).is_ok_and(|h| h.kind == EventKind::FORMAT_DESCRIPTION);
            if file.is_none() || begins && open_name != source.file() {
                open_name = source.file().to_vec();
                let path = format!("{prefix}{}", String::from_utf8_lossy(&open_name));
                let mut new = std::io::BufWriter::new(env::host::create(Path::new(&path))?);
                new.write_all(&MAGIC)?;
                file = Some(new);
            }
            if let Some(file) = &mut file {
                file.write_all(&event)?;
                if remote.stop_never {
                    file.flush()?;
                }
            }
        }
        if let Some(mut file) = file {
            file.flush()?;
        }
    }
    Ok(())
}
