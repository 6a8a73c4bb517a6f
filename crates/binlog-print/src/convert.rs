//! `--convert`: segments of the log as classic binlog files, which MariaDB's own tools read.
//!
//! A file holds what its segment gives (see `source::segments`), every event with its place in the new file. Files are called
//! PREFIX.NNNNNN by the segments' numbers; PREFIX is `--result-file`, else `binlog`.

use std::io::{BufWriter, Write};
use std::path::Path;

use event_format::{
    Checksum, End, Event, EventKind, Header, MAGIC, Rotate, Stamp, header_flags, restamp, write,
};

use crate::run::Failure;
use crate::source::segments::{SegmentError, SegmentLog};

/// Converts the segments of a directory, or one of them.
pub(crate) fn convert(
    directory: &str,
    only: Option<u64>,
    prefix: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let log = SegmentLog::open(directory).map_err(|e| Failure(format!("ERROR: {directory}: {e}")))?;
    for file in log.files().into_iter().filter(|f| only.is_none_or(|only| f.number == only)) {
        let path = format!("{prefix}.{:06}", file.number);
        let mut classic = Classic {
            out: BufWriter::with_capacity(256 << 10, env::host::create(Path::new(&path))?),
            at: MAGIC.len() as u64,
            prefix,
            ended: false,
            last: Stamp::default(),
        };
        classic.out.write_all(&MAGIC)?;
        log.each(file, 0, &mut |_, bytes| classic.event(bytes).map(|()| true)).map_err(|e| match e {
            SegmentError::Read(error) => Failure(format!("ERROR: segment {:06}: {error}", file.number)),
            SegmentError::Taker(error) => Failure(format!("ERROR: {path}: {error}")),
        })?;
        classic.stop()?;
        writeln!(out, "{path}: {} bytes", classic.at)?;
    }
    Ok(())
}

/// A classic file that is being written.
struct Classic<'p, W: Write> {
    out: BufWriter<W>,
    at: u64,
    prefix: &'p str,
    /// A ROTATE ended it.
    ended: bool,
    last: Stamp,
}

impl<W: Write> Classic<'_, W> {
    fn event(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let Ok(header) = Header::read(bytes) else { return Ok(()) };
        self.last = Stamp { timestamp: header.timestamp, server_id: header.server_id, ..Stamp::default() };
        if header.kind == EventKind::ROTATE {
            return self.rotate(bytes);
        }
        let mut event = bytes.to_vec();
        let end = self.at + event.len() as u64;
        restamp(&mut event, end as u32, header.flags & !header_flags::ARTIFICIAL, Checksum::Crc32);
        self.put(&event)
    }

    /// The next file has a name of this kind.
    fn rotate(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let Ok((_, Event::Rotate(rotate))) = event_format::read(bytes, Checksum::Crc32) else {
            return Ok(());
        };
        let number = String::from_utf8_lossy(rotate.file).trim_end_matches(".seg").to_owned();
        let base =
            Path::new(self.prefix).file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let file = format!("{base}.{number}");
        self.ended = true;
        self.own(&Event::Rotate(Rotate { position: MAGIC.len() as u64, file: file.as_bytes() }))
    }

    /// The last file ends like that of a server that was shut down.
    fn stop(&mut self) -> std::io::Result<()> {
        if !self.ended {
            self.own(&Event::Stop)?;
        }
        self.out.flush()
    }

    fn own(&mut self, event: &Event<'_>) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes, &Stamp { end: End::Behind(self.at), ..self.last }, event, Checksum::Crc32);
        self.put(&bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}
