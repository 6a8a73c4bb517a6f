//! The binary log as sessions use it: the one log's segments, or files of its own (`binlog_storage_engine=FILE`).

use std::sync::Arc;

use base::{Gtid, Lsn};
use binlog::{
    Binlog, BinlogFile, EmitError, EmitOptions, EventSink, GroupReader, Lookup, Next, PurgeError, ReadError,
    Start, Wait,
};
use binlog_file::{FileGroups, Files, IndexOptions, Names, virtual_lsn};
use client_error::{ClientError, connection as error};
use commit::FileOptions;
use env::Disk;
use event_format::{Checksum, MetadataLevel};
use replication::{Groups, Turn};

use crate::server::Server;
use crate::variables::{GlobalVariables, Setting, Var};

/// Where the files of a binary log of its own are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlace {
    /// Absolute; none: the data directory.
    pub directory: Option<String>,
    pub base: String,
    /// Name of the index, if it has one of its own.
    pub index: Option<String>,
}

/// The same with its disk.
pub struct FileDoor {
    pub disk: Arc<dyn Disk>,
    pub names: Names,
}

/// Whether the binary log is on and in files of its own.
fn in_files(variables: &GlobalVariables) -> bool {
    let engine = variables.get(Var::BINLOG_STORAGE_ENGINE);
    let engine = engine.text(Var::BINLOG_STORAGE_ENGINE.def()).unwrap_or_default();
    *engine == *"FILE" && variables.u64(Var::LOG_BIN) != 0
}

impl FilePlace {
    /// As the variables say, when the binary log is in files of its own. States the variables that name them.
    pub fn of(variables: &GlobalVariables) -> Result<Option<Self>, String> {
        if !in_files(variables) {
            return Ok(None);
        }
        let given = variables.get(Var::LOG_BIN_BASENAME);
        let mut name = given.as_str().to_owned();
        if name.is_empty() {
            name = format!("{}-bin", variables.get(Var::HOSTNAME).as_str());
        }
        let (directory, base) = split(&name);
        // As in MariaDB: what stands behind the last dot is no part of the name.
        let base = base.split_once('.').map_or(base, |(base, _)| base);
        if base.is_empty() || directory.as_ref().is_some_and(|d| !d.starts_with('/')) {
            return Err(format!("log_bin={name}: a name, or an absolute path"));
        }
        let given = variables.get(Var::LOG_BIN_INDEX);
        let index = match given.as_str() {
            "" => None,
            given => {
                let (place, name) = split(given);
                if place.is_some() && place != directory {
                    return Err(format!(
                        "log_bin_index={given}: it must be beside the files of the binary log"
                    ));
                }
                Some(if name.contains('.') { name.to_owned() } else { format!("{name}.index") })
            }
        };
        let shown = directory.clone().unwrap_or_else(|| variables.get(Var::DATADIR).as_str().to_owned());
        let shown = shown.trim_end_matches('/');
        let text = |var, value: String| variables.set(var, Setting::Text(value.into()));
        text(Var::LOG_BIN_BASENAME, format!("{shown}/{base}"));
        let index_shown = index.clone().unwrap_or_else(|| format!("{base}.index"));
        text(Var::LOG_BIN_INDEX, format!("{shown}/{index_shown}"));
        Ok(Some(Self { directory, base: base.to_owned(), index }))
    }

    pub fn names(&self) -> Names {
        let shown = self.directory.as_ref().map_or_else(|| "./".to_owned(), |d| format!("{d}/"));
        Names::new(&self.base, self.index.as_deref(), &shown)
    }
}

fn split(path: &str) -> (Option<String>, &str) {
    match path.rsplit_once('/') {
        Some((directory, name)) => (Some(directory.to_owned()), name),
        None => (None, path),
    }
}

/// What variables say about the files.
pub(crate) fn file_options(v: &GlobalVariables) -> FileOptions {
    FileOptions {
        server_id: v.u64(Var::SERVER_ID) as u32,
        version: crate::handshake::VERSION,
        checksum: if v.u64(Var::BINLOG_CHECKSUM) == 0 { Checksum::None } else { Checksum::Crc32 },
        metadata: match v.u64(Var::BINLOG_ROW_METADATA) {
            0 => MetadataLevel::NoLog,
            1 => MetadataLevel::Minimal,
            _ => MetadataLevel::Full,
        },
        row_event_size_max: v.u64(Var::BINLOG_ROW_EVENT_MAX_SIZE) as usize,
        size_max: v.u64(Var::MAX_BINLOG_SIZE),
        sync_every: v.u64(Var::SYNC_BINLOG),
        cache_memory: v.u64(Var::BINLOG_CACHE_SIZE) as usize,
        cache_most: v.u64(Var::MAX_BINLOG_CACHE_SIZE),
        large: v.u64(Var::BINLOG_LARGE_COMMIT_THRESHOLD),
        index: (v.u64(Var::BINLOG_GTID_INDEX) != 0).then(|| IndexOptions {
            page_size: v.u64(Var::BINLOG_GTID_INDEX_PAGE_SIZE) as u32,
            span_min: v.u64(Var::BINLOG_GTID_INDEX_SPAN_MIN),
        }),
    }
}

/// The binary log.
pub(crate) enum EventLog {
    OneLog(Arc<Binlog>),
    Files(Arc<Files>),
}

impl EventLog {
    pub(crate) fn is_in_files(&self) -> bool {
        matches!(self, Self::Files(_))
    }
    /// Name of the file with this number.
    pub(crate) fn name(&self, number: u64) -> String {
        match self {
            Self::OneLog(_) => format!("{number:06}.seg"),
            Self::Files(files) => files.names().file(number),
        }
    }
    /// The number of a listed file.
    pub(crate) fn number(&self, name: &[u8]) -> Option<u64> {
        let name = String::from_utf8_lossy(name);
        let name = name.rsplit('/').next()?;
        self.files().into_iter().map(|f| f.number).find(|n| self.name(*n) == name)
    }
    pub(crate) fn files(&self) -> Vec<BinlogFile> {
        match self {
            Self::OneLog(log) => log.files(),
            Self::Files(files) => files.files(),
        }
    }
    pub(crate) fn lookup(&self, covers: &dyn Fn(&[Gtid]) -> bool) -> Result<Option<Lookup>, ReadError> {
        match self {
            Self::OneLog(log) => log.lookup(covers),
            Self::Files(files) => files.lookup(covers),
        }
    }
    /// Binlog_gtid_index_hit and Binlog_gtid_index_miss: the one log needs no index.
    pub(crate) fn index_use(&self) -> (u64, u64) {
        match self {
            Self::OneLog(_) => (0, 0),
            Self::Files(files) => files.index_use(),
        }
    }
    /// The nearest place of a file at or before an offset whose state is known, 0 = the head.
    pub(crate) fn nearest(&self, number: u64, offset: u64) -> Result<(u64, Vec<Gtid>), ReadError> {
        match self {
            Self::OneLog(log) => Ok((0, log.state_at(number)?)),
            Self::Files(files) => files.nearest(number, offset),
        }
    }
    pub(crate) fn state_at(&self, number: u64) -> Result<Vec<Gtid>, ReadError> {
        match self {
            Self::OneLog(log) => log.state_at(number),
            Self::Files(files) => files.state_at(number),
        }
    }
    pub(crate) fn open(&self, start: Start) -> Result<Box<dyn Groups>, ReadError> {
        Ok(match self {
            Self::OneLog(log) => Box::new(OneLogReader(log.reader(start)?)),
            Self::Files(files) => Box::new(FileReader(files.reader(start)?)),
        })
    }
    pub(crate) fn first_file_at(&self, seconds: u64) -> Option<u64> {
        match self {
            Self::OneLog(log) => log.first_file_at(seconds),
            Self::Files(files) => files.first_file_at(seconds),
        }
    }
    pub(crate) fn first_file_within(&self, bytes: u64) -> Option<u64> {
        match self {
            Self::OneLog(log) => log.first_file_within(bytes),
            Self::Files(files) => files.first_file_within(bytes),
        }
    }
    pub(crate) fn purge_to(&self, number: u64) -> Result<Result<usize, PurgeError>, ClientError> {
        match self {
            Self::OneLog(log) => Ok(log.purge_to(number)),
            Self::Files(files) => files.purge_to(number).map_err(|e| error::internal(&e.to_string())),
        }
    }
}

impl Server {
    /// First place of a file of the binary log, as replicas' places are counted.
    pub(crate) fn start_of_file(&self, number: u64) -> Option<Lsn> {
        match &self.backend().binlog {
            EventLog::OneLog(_) => {
                let segments = self.backend().engine.log().segments();
                segments.iter().find(|s| s.number == number).map(|s| s.start)
            }
            EventLog::Files(_) => Some(virtual_lsn(number, 0)),
        }
    }

    /// Variables about the files of the binary log have changed.
    pub(crate) fn configure_files(&self) {
        self.committer().set_file_options(file_options(&self.variables));
    }
}

struct OneLogReader(GroupReader);

impl Groups for OneLogReader {
    fn next(&mut self, wait: Wait) -> Result<Next, ReadError> {
        self.0.next(wait)
    }
    fn emit(&mut self, options: &EmitOptions, sink: &mut dyn EventSink) -> Result<(), EmitError> {
        self.0.emit(options, sink)
    }
    fn interrupt(&self) -> Box<dyn Fn() + Send + Sync> {
        let interrupt = self.0.interrupt();
        Box::new(move || interrupt.interrupt())
    }
    fn turn(&self) -> Box<dyn Turn> {
        Box::new(OneLogTurn(self.0.turn()))
    }
}

struct OneLogTurn(binlog::Turn);

impl Turn for OneLogTurn {
    fn pass(&self) {
        self.0.pass();
    }
    fn hurry(&self) {
        self.0.hurry();
    }
}

struct FileReader(FileGroups);

impl Groups for FileReader {
    fn next(&mut self, wait: Wait) -> Result<Next, ReadError> {
        self.0.next(wait)
    }
    fn emit(&mut self, options: &EmitOptions, sink: &mut dyn EventSink) -> Result<(), EmitError> {
        self.0.emit(options, sink)
    }
    fn interrupt(&self) -> Box<dyn Fn() + Send + Sync> {
        let interrupt = self.0.interrupt();
        Box::new(move || interrupt.interrupt())
    }
}
