//! Where events come from: whole events with the places they stand at.

mod file;
mod remote;
pub mod segments;

use std::fmt;
use std::io::{self, Write as _};
use std::path::Path;

use base::Corruption;

pub use file::{FileSource, open};
pub use remote::RemoteSource;

/// Events in order.
pub trait Source {
    /// Reads the next event into `event`; its place, or `None` at the end.
    fn next(&mut self, event: &mut Vec<u8>) -> Result<Option<u64>, SourceError>;
}

/// Why no event could be read.
#[derive(Debug)]
pub enum SourceError {
    Io(io::Error),
    Corrupt(Corruption),
    /// The server that was asked answered with an error: its number and text.
    Server(u16, String),
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Corrupt(corruption) => write!(f, "{corruption}"),
            Self::Server(number, text) => write!(f, "Got error {number} from the server: {text}"),
        }
    }
}

impl std::error::Error for SourceError {}

impl From<io::Error> for SourceError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Corruption> for SourceError {
    fn from(corruption: Corruption) -> Self {
        Self::Corrupt(corruption)
    }
}

/// Makes a file for LOAD DATA whose name no other has.
pub(crate) fn new_load_file(directory: &str, id: u32) -> io::Result<String> {
    let slash = if directory.ends_with('/') { "" } else { "/" };
    for attempt in 0..1000u32 {
        let path = format!("{directory}{slash}SQL_LOAD_MB-{id:x}-{attempt:x}");
        match env::host::create_new(Path::new(&path)) {
            Ok(_) => return Ok(path),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("too many files SQL_LOAD_MB-{id:x}-*")))
}

pub(crate) fn append_load_file(path: &str, bytes: &[u8]) -> io::Result<()> {
    env::host::append_to(Path::new(path))?.write_all(bytes)
}
