//! Events of this server's log: the segments of a data directory, also of a server that was killed.
//!
//! # What a segment gives
//! ```text
//! FORMAT_DESCRIPTION | GTID_LIST | BINLOG_CHECKPOINT | the groups whose commit records stand in it | ROTATE to the next, if there is one
//! ```
//! The first three and the last stand in no file: they are what a replica is sent. Every event of a group has the place of its commit
//! record.

use std::path::Path;

use base::Gtid;
use binlog::{
    BinlogFile, EmitError, EmitOptions, GroupHead, GroupReader, Next, Position, ReadError, SinkClosed, Start,
    StoppedBinlog, Wait,
};
use env::OsDisk;
use event_format::{
    BinlogCheckpoint, Checksum, End, Event, FormatDescription, GtidList, MetadataLevel, Rotate, Stamp, write,
};

/// What the server calls itself in its log.
pub const SERVER_VERSION: &str = "11.8.9-MariaDB-MorseDB";

/// The log of a data directory.
#[derive(Debug)]
pub struct SegmentLog {
    log: StoppedBinlog,
}

/// Why a segment was not read to its end.
#[derive(Debug)]
pub enum SegmentError<E> {
    Read(ReadError),
    /// What the taker answered.
    Taker(E),
}

impl<E> From<ReadError> for SegmentError<E> {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// Takes an event with its place; answers whether more is wanted.
pub type Take<'t, E> = dyn FnMut(u64, &[u8]) -> Result<bool, E> + 't;

/// The name under which a segment is known.
pub fn name(number: u64) -> String {
    format!("{number:06}.seg")
}

/// The directory of segments and the segment that a path names: a data directory, its `log`, or a file in that.
pub fn named(path: &Path) -> Option<(String, Option<u64>)> {
    let text = |p: &Path| p.display().to_string();
    if path.is_dir() {
        let inner = path.join("log");
        return Some((text(if inner.is_dir() { &inner } else { path }), None));
    }
    let number = path.file_name()?.to_str()?.strip_suffix(".seg")?.parse().ok()?;
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some((text(parent), Some(number)))
}

impl SegmentLog {
    /// `directory` holds the segments.
    pub fn open(directory: &str) -> Result<Self, ReadError> {
        let path = Path::new(directory);
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or(".");
        Ok(Self { log: StoppedBinlog::open(&OsDisk::new(parent), name)? })
    }

    /// Oldest first.
    pub fn files(&self) -> Vec<BinlogFile> {
        self.log.files()
    }

    /// Hands the events of a segment with their places to `take`, until it answers false; `start` is an offset in the segment.
    /// Answers what `take` answered last.
    pub fn each<E>(
        &self,
        file: BinlogFile,
        start: u64,
        take: &mut Take<'_, E>,
    ) -> Result<bool, SegmentError<E>> {
        let mut reader = self.log.reader(Start::At(Position { segment: file.number, offset: start }))?;
        let mut stream = Stream { file, server_id: 0, take, answer: Ok(true) };
        let mut begun = false;
        while let Some(next) = next_of(&mut reader, file.number)? {
            match next {
                Next::Group(head) => {
                    if !begun {
                        stream.server_id = head.gtid.server_id;
                        stream.head(self.log.state_at(file.number)?);
                        begun = true;
                    }
                    if !stream.goes_on() || !stream.group(&mut reader, &head)? {
                        break;
                    }
                }
                Next::Rotated { segment } => {
                    if !begun {
                        stream.head(self.log.state_at(file.number)?);
                    }
                    stream.rotate(segment);
                    return stream.answer.map_err(SegmentError::Taker);
                }
                Next::Nothing => break,
            }
        }
        if !begun {
            stream.head(self.log.state_at(file.number)?);
        }
        stream.answer.map_err(SegmentError::Taker)
    }
}

/// The next thing of this segment; `None` at its end. The way into it is no rotation out of it.
fn next_of(reader: &mut GroupReader, segment: u64) -> Result<Option<Next>, ReadError> {
    loop {
        return Ok(match reader.next(Wait::No)? {
            Next::Nothing => None,
            Next::Rotated { segment: next } if next <= segment => continue,
            Next::Group(head) if head.position.segment != segment => None,
            next => Some(next),
        });
    }
}

/// One segment on its way to the taker.
struct Stream<'t, E> {
    file: BinlogFile,
    server_id: u32,
    take: &'t mut Take<'t, E>,
    answer: Result<bool, E>,
}

impl<E> Stream<'_, E> {
    fn goes_on(&self) -> bool {
        matches!(self.answer, Ok(true))
    }

    /// Makes an event and hands it on.
    fn own(&mut self, at: u64, end: End, event: &Event<'_>) {
        if !self.goes_on() {
            return;
        }
        let stamp = Stamp { timestamp: self.file.created as u32, server_id: self.server_id, end, flags: 0 };
        let mut bytes = Vec::new();
        write(&mut bytes, &stamp, event, Checksum::Crc32);
        self.answer = (self.take)(at, &bytes);
    }

    fn head(&mut self, state: Vec<Gtid>) {
        const HEAD: u64 = 4;
        let name = name(self.file.number);
        let format = FormatDescription::new(SERVER_VERSION, 0, Checksum::Crc32);
        self.own(HEAD, End::Unstated, &Event::FormatDescription(format));
        self.own(HEAD, End::Unstated, &Event::GtidList(GtidList { flags: 0, gtids: state }));
        let checkpoint = BinlogCheckpoint { file: name.as_bytes() };
        self.own(HEAD, End::Unstated, &Event::BinlogCheckpoint(checkpoint));
    }

    /// False when nothing more is wanted.
    fn group(&mut self, reader: &mut GroupReader, head: &GroupHead) -> Result<bool, ReadError> {
        let options = EmitOptions { metadata: MetadataLevel::Full, ..EmitOptions::default() };
        let at = head.position.offset;
        let mut sink = |bytes: &[u8], _last: bool| {
            self.answer = (self.take)(at, bytes);
            if self.goes_on() { Ok(()) } else { Err(SinkClosed) }
        };
        match reader.emit(&options, &mut sink) {
            Ok(()) => Ok(true),
            Err(EmitError::Sink(_)) => Ok(false),
            Err(EmitError::Read(error)) => Err(error),
        }
    }

    fn rotate(&mut self, segment: u64) {
        let name = name(segment);
        let rotate = Event::Rotate(Rotate { position: 4, file: name.as_bytes() });
        self.own(self.file.size, End::Unstated, &rotate);
    }
}
