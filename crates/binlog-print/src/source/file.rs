//! Events of a classic binlog file.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use base::Corruption;
use event_format::{EventKind, Header, MAGIC};

use super::{Source, SourceError};

/// Events above this size are damage: no server writes them.
const EVENT_MAX: u32 = 1 << 30;

/// A file, read from its head or from a place that the user names.
pub struct FileSource<R> {
    reader: BufReader<R>,
    at: u64,
    /// Where to go on behind the FORMAT_DESCRIPTION.
    start: Option<u64>,
}

/// Opens a classic file. `start`: the first event to read behind the FORMAT_DESCRIPTION.
pub fn open(path: &Path, start: Option<u64>) -> Result<FileSource<impl Read + Seek + use<>>, SourceError> {
    FileSource::new(env::host::open_for_reading(path)?, start)
}

impl<R: Read + Seek> FileSource<R> {
    pub fn new(reader: R, start: Option<u64>) -> Result<Self, SourceError> {
        let mut reader = BufReader::with_capacity(256 << 10, reader);
        let mut magic = [0; 4];
        let read = fill(&mut reader, &mut magic)?;
        if read < magic.len() || magic != MAGIC {
            return Err(Corruption::new("binlog file at 0", "magic", "fe 'bin'", hex(&magic[..read])).into());
        }
        Ok(Self { reader, at: MAGIC.len() as u64, start: start.filter(|at| *at > MAGIC.len() as u64) })
    }

    fn corrupt(&self, field: &'static str, expected: String, found: String) -> SourceError {
        Corruption::new(format_args!("binlog file at {}", self.at), field, expected, found).into()
    }
}

impl<R: Read + Seek> Source for FileSource<R> {
    fn next(&mut self, event: &mut Vec<u8>) -> Result<Option<u64>, SourceError> {
        let mut header = [0; Header::LEN];
        let read = fill(&mut self.reader, &mut header)?;
        if read == 0 {
            return Ok(None);
        }
        if read < header.len() {
            return Err(self.corrupt("event header", "19 bytes".into(), format!("{read} bytes")));
        }
        let decoded =
            Header::read(&header).map_err(|c| c.within(format_args!("binlog file at {}", self.at)))?;
        if decoded.length > EVENT_MAX {
            return Err(self.corrupt("event length", "at most 1 GiB".into(), decoded.length.to_string()));
        }
        event.clear();
        event.extend_from_slice(&header);
        let body = u64::from(decoded.length) - header.len() as u64;
        let read = (&mut self.reader).take(body).read_to_end(event)? as u64;
        if read < body {
            return Err(self.corrupt(
                "event",
                format!("{body} bytes behind its header"),
                format!("{read} bytes"),
            ));
        }
        let at = self.at;
        self.at += u64::from(decoded.length);
        if decoded.kind == EventKind::FORMAT_DESCRIPTION
            && let Some(start) = self.start.take()
        {
            self.at = start;
            self.reader.seek(SeekFrom::Start(start))?;
        }
        Ok(Some(at))
    }
}

/// Reads as much as there is, at most the buffer.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}
