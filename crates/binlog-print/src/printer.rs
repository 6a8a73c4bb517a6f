//! Events to text, one after the other.
//!
//! # The text
//! ```text
//! prologue: settings of the session that runs it, DELIMITER
//! of each event: "# at" place, a line of its header, its statement
//! epilogue: what the prologue changed
//! ```
//! An ANNOTATE waits for its TABLE_MAP (of a table that is not shown it is not shown either); rows events wait for the last of their
//! statement.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};

use base::Corruption;
use event_format::base64;
use event_format::{
    Checksum, Event, FormatDescription, GtidEvent, GtidList, Header, LoadBlock, Xa, gtid_flags,
    gtid_flags_extra, header_flags, read,
};
use jiff::Timestamp;

use crate::flashback::Flashback;
use crate::query::DELIMITER;
use crate::rows::{Statement, Table};
use crate::session::Session;
use crate::{Base64, Options, Selection};

/// Why the printing ended early.
#[derive(Debug)]
pub enum PrintError {
    /// Bytes that are no event.
    Corrupt(Corruption),
    /// The output cannot be written, or a file of LOAD DATA cannot.
    Output(io::Error),
}

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt(corruption) => write!(f, "{corruption}"),
            Self::Output(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for PrintError {}

impl From<Corruption> for PrintError {
    fn from(corruption: Corruption) -> Self {
        Self::Corrupt(corruption)
    }
}

impl From<io::Error> for PrintError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Prints the events of one file or stream after the other.
#[derive(Debug)]
pub struct Printer {
    pub(crate) options: Options,
    pub(crate) selection: Selection,
    pub(crate) session: Session,
    pub(crate) checksum: Checksum,
    pub(crate) tables: HashMap<u64, Table>,
    pub(crate) statement: Statement,
    /// An ANNOTATE that waits for its table: header, event, statement.
    pub(crate) annotate: Option<(Header, Vec<u8>, Vec<u8>)>,
    /// Files that blocks of LOAD DATA were written to, by their number in the log.
    pub(crate) load_files: HashMap<u32, String>,
    pub(crate) flashback: Flashback,
    /// Where the event stands that is being printed.
    at: u64,
}

impl Printer {
    pub fn new(options: Options, selection: Selection) -> Self {
        Self {
            options,
            selection,
            session: Session::default(),
            checksum: Checksum::None,
            tables: HashMap::new(),
            statement: Statement::default(),
            annotate: None,
            load_files: HashMap::new(),
            flashback: Flashback::default(),
            at: 0,
        }
    }

    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// What stands before everything.
    pub fn prologue(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\n")?;
        out.write_all(b"/*!40019 SET @@session.max_delayed_threads=0*/;\n")?;
        if self.options.disable_log_bin {
            out.write_all(b"/*!32316 SET @OLD_SQL_LOG_BIN=@@SQL_LOG_BIN, SQL_LOG_BIN=0*/;\n")?;
        }
        out.write_all(b"/*!50003 SET @OLD_COMPLETION_TYPE=@@COMPLETION_TYPE,COMPLETION_TYPE=0*/;\n")?;
        if let Some(charset) = &self.options.set_charset {
            write!(
                out,
                "\n/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;\
                 \n/*!40101 SET @OLD_CHARACTER_SET_RESULTS=@@CHARACTER_SET_RESULTS */;\
                 \n/*!40101 SET @OLD_COLLATION_CONNECTION=@@COLLATION_CONNECTION */;\
                 \n/*!40101 SET NAMES {charset} */;\n"
            )?;
        }
        Ok(())
    }

    /// What stands behind everything.
    pub fn epilogue(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"# End of log file\nROLLBACK /* added by mysqlbinlog */;\n")?;
        out.write_all(b"/*!50003 SET COMPLETION_TYPE=@OLD_COMPLETION_TYPE*/;\n")?;
        if self.options.disable_log_bin {
            out.write_all(b"/*!32316 SET SQL_LOG_BIN=@OLD_SQL_LOG_BIN*/;\n")?;
        }
        if self.options.set_charset.is_some() {
            out.write_all(
                b"/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;\
                  \n/*!40101 SET CHARACTER_SET_RESULTS=@OLD_CHARACTER_SET_RESULTS */;\
                  \n/*!40101 SET COLLATION_CONNECTION=@OLD_COLLATION_CONNECTION */;\n",
            )?;
        }
        out.write_all(b"/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=0*/;\n")?;
        if self.selection.filters_gtids() {
            out.write_all(b"/*!100001 SET @@SESSION.SERVER_ID=@@GLOBAL.SERVER_ID */;\n")?;
            out.write_all(b"/*!100001 SET @@SESSION.GTID_DOMAIN_ID=@@GLOBAL.GTID_DOMAIN_ID */;\n")?;
        }
        Ok(())
    }

    /// A file or stream begins: nothing is known of its session.
    pub fn begin_file(&mut self, out: &mut dyn Write, last: bool) -> io::Result<()> {
        self.session = Session::default();
        self.selection.last_file = last;
        self.tables.clear();
        self.statement = Statement::default();
        self.annotate = None;
        self.checksum = Checksum::None;
        out.write_all(b"DELIMITER /*!*/;\n")
    }

    pub fn end_file(&mut self, out: &mut dyn Write) -> Result<(), PrintError> {
        if self.options.flashback {
            self.print_turned(out)?;
        }
        Ok(out.write_all(b"DELIMITER ;\n")?)
    }

    /// Reads one event that stands at `at` and prints what of it is selected. `false`: nothing behind it is selected either.
    pub fn event(&mut self, at: u64, bytes: &[u8], out: &mut dyn Write) -> Result<bool, PrintError> {
        let (header, event) = read(bytes, self.checksum)?;
        if let Event::FormatDescription(format) = &event {
            self.checksum = format.events_checksum();
        }
        if self.selection.is_past(at, &header, &event) {
            return Ok(false);
        }
        if !self.selection.takes(&header, &event) {
            return Ok(true);
        }
        self.at = at;
        if self.options.flashback && !matches!(event, Event::FormatDescription(_)) {
            self.turn_around(&header, bytes, &event)?;
            return Ok(true);
        }
        let mut text = Vec::new();
        if !self.options.short_form && self.options.print_row_event_positions {
            writeln!(text, "# at {at}")?;
        }
        self.skip_replication(&header, &mut text);
        self.one(&header, bytes, &event, &mut text)?;
        out.write_all(&text)?;
        Ok(true)
    }

    /// The switch `skip_replication` stands before the header of the first event with another value.
    fn skip_replication(&mut self, header: &Header, out: &mut Vec<u8>) {
        let skip = header.flags & header_flags::SKIP_REPLICATION != 0;
        if skip != self.session.skip_replication {
            self.session.skip_replication = skip;
            drop(write!(out, "/*!50521 SET skip_replication={}*/", u8::from(skip)));
            out.extend_from_slice(DELIMITER);
        }
    }

    fn one(
        &mut self,
        header: &Header,
        bytes: &[u8],
        event: &Event<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), PrintError> {
        match event {
            Event::FormatDescription(format) => self.format_description(header, bytes, format, out),
            Event::Query(query) => {
                if self.selects_statement(query.database, &query.sql) {
                    self.query(header, bytes, query, out)?;
                }
            }
            Event::Gtid(gtid) => self.gtid(header, bytes, gtid, out),
            Event::Annotate(annotate) => {
                if !self.options.skip_annotate {
                    self.annotate = Some((*header, bytes.to_vec(), annotate.text.to_vec()));
                }
            }
            Event::TableMap(map) => self.table_map(header, bytes, map, out)?,
            Event::Rows(rows) => self.rows_event(header, bytes, rows, out)?,
            Event::Xid(xid) => {
                self.line(header, bytes, format_args!("\tXid = {xid}\n"), out);
                out.extend_from_slice(b"COMMIT");
                out.extend_from_slice(DELIMITER);
            }
            Event::XaPrepare(prepare) => {
                let name = xa_name(&prepare.xa);
                self.line(header, bytes, format_args!("\tXID = {name}\n"), out);
                drop(writeln!(out, "XA PREPARE {name}"));
                out.extend_from_slice(DELIMITER);
            }
            Event::IntVar(var) => self.int_var(header, bytes, var, out),
            Event::Rand(rand) => self.rand(header, bytes, rand, out),
            Event::UserVar(var) => self.user_var(header, bytes, var, out),
            Event::BeginLoad(begin) => self.load_block(header, bytes, &begin.0, true, out)?,
            Event::AppendBlock(block) => self.load_block(header, bytes, block, false, out)?,
            Event::ExecuteLoad(load) => {
                if self.selects_statement(load.database, load.sql) {
                    self.execute_load(header, bytes, load, out)?;
                }
            }
            other => self.comment(header, bytes, other, out),
        }
        Ok(())
    }

    /// Events that say something of the log and change nothing.
    fn comment(&mut self, header: &Header, bytes: &[u8], event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::Rotate(rotate) => {
                let file = String::from_utf8_lossy(rotate.file);
                let text = format_args!("\tRotate to {file}  pos: {}\n", rotate.position);
                self.line(header, bytes, text, out);
            }
            Event::Stop => self.line(header, bytes, format_args!("\tStop\n"), out),
            Event::GtidList(list) => self.gtid_list(header, bytes, list, out),
            Event::BinlogCheckpoint(checkpoint) => {
                let file = String::from_utf8_lossy(checkpoint.file);
                self.line(header, bytes, format_args!("\tBinlog checkpoint {file}\n"), out);
            }
            Event::Incident(incident) => {
                let name = if incident.number == 1 { "LOST_EVENTS" } else { "NOTHING" };
                self.line(header, bytes, format_args!("\n# Incident: {name}\n"), out);
                out.extend_from_slice(b"RELOAD DATABASE; # Shall generate syntax error\n");
            }
            Event::StartEncryption(start) => {
                let nonce: String = start.nonce.iter().map(|b| format!("{b:02x}")).collect();
                let text = format_args!(
                    "\n# Encryption scheme: {}, key_version: {}, nonce: {nonce} \n# The rest of the binlog is encrypted!\n",
                    start.scheme, start.key_version
                );
                self.line(header, bytes, text, out);
            }
            Event::DeleteFile(delete) => {
                self.line(header, bytes, format_args!("\n#Delete_file: file_id={}\n", delete.file_id), out);
            }
            Event::Heartbeat(_) => {}
            _ => self.line(header, bytes, format_args!("\n# Unknown event\n"), out),
        }
    }

    /// The header's line with the rest of it; nothing in short form.
    pub(crate) fn line(&self, header: &Header, bytes: &[u8], rest: fmt::Arguments<'_>, out: &mut Vec<u8>) {
        if !self.options.short_form {
            self.header(header, bytes, out);
            drop(out.write_fmt(rest));
        }
    }

    /// `#YYMMDD hh:mm:ss server id S  end_log_pos P CRC32 0x........ `; nothing in short form.
    pub(crate) fn header(&self, header: &Header, event: &[u8], out: &mut Vec<u8>) {
        self.header_of(header, event, event, out);
    }

    /// The line of an event that is dumped and run in another form.
    pub(crate) fn header_of(&self, header: &Header, event: &[u8], written: &[u8], out: &mut Vec<u8>) {
        if self.options.short_form {
            return;
        }
        drop(write!(
            out,
            "#{} server id {}  end_log_pos {} ",
            self.time(header.timestamp),
            header.server_id,
            header.next_position
        ));
        if self.checksum == Checksum::Crc32
            && let Some((_, crc)) = event.split_last_chunk::<4>()
        {
            drop(write!(out, "CRC32 {:#010x} ", u32::from_le_bytes(*crc)));
        }
        if self.options.hexdump {
            crate::hexdump::write(self.at, written, out);
        }
    }

    fn time(&self, seconds: u32) -> String {
        let time = Timestamp::from_second(i64::from(seconds)).unwrap_or_default();
        let local = self.options.time_zone.to_datetime(time);
        format!(
            "{:02}{:02}{:02} {:2}:{:02}:{:02}",
            local.year() % 100,
            local.month(),
            local.day(),
            local.hour(),
            local.minute(),
            local.second()
        )
    }

    fn format_description(
        &mut self,
        header: &Header,
        bytes: &[u8],
        format: &FormatDescription<'_>,
        out: &mut Vec<u8>,
    ) {
        let version = String::from_utf8_lossy(format.server_version);
        let created = self.time(if format.created == 0 { header.timestamp } else { format.created });
        let at_startup = if format.created == 0 { "" } else { " at startup" };
        let text = format_args!(
            "\tStart: binlog v {}, server v {version} created {created}{at_startup}\n",
            format.binlog_version
        );
        self.line(header, bytes, text, out);
        if header.flags & header_flags::IN_USE != 0 && !self.options.short_form {
            out.extend_from_slice(b"# Warning: this binlog is either in use or was not closed properly.\n");
        }
        if format.created != 0 {
            out.extend_from_slice(b"ROLLBACK");
            out.extend_from_slice(DELIMITER);
        }
        if self.options.base64 == Base64::Auto && !self.options.short_form {
            out.extend_from_slice(b"BINLOG '\n");
            base64::write(bytes, out);
            out.push(b'\'');
            out.extend_from_slice(DELIMITER);
        }
    }

    fn gtid_list(&self, header: &Header, bytes: &[u8], list: &GtidList, out: &mut Vec<u8>) {
        let mut sorted = list.gtids.clone();
        sorted.sort_by_key(|gtid| gtid.domain_id);
        let gtids: Vec<String> = sorted.iter().map(ToString::to_string).collect();
        self.line(header, bytes, format_args!("\tGtid list [{}]\n", gtids.join(",\n# ")), out);
    }

    fn gtid(&mut self, header: &Header, bytes: &[u8], gtid: &GtidEvent<'_>, out: &mut Vec<u8>) {
        let words = gtid_words(gtid);
        let (domain, server, number) = (gtid.domain_id, header.server_id, gtid.seq_no);
        self.line(header, bytes, format_args!("\tGTID {domain}-{server}-{number}{words}\n"), out);
        if !self.options.short_form {
            self.gtid_variables(header, gtid, out);
        }
        if gtid.flags & gtid_flags::PREPARED_XA != 0
            && let Some(xa) = &gtid.xa
        {
            drop(write!(out, "XA START {}", xa_name(xa)));
            out.extend_from_slice(DELIMITER);
        } else if gtid.flags & gtid_flags::STANDALONE == 0 {
            out.extend_from_slice(b"START TRANSACTION\n");
            out.extend_from_slice(DELIMITER);
        }
    }

    fn gtid_variables(&mut self, header: &Header, gtid: &GtidEvent<'_>, out: &mut Vec<u8>) {
        let mut set = |version: u32, name: &str, value: u64| {
            drop(write!(out, "/*M!{version} SET @@session.{name}={value}*/"));
            out.extend_from_slice(DELIMITER);
        };
        let allow_parallel = gtid.flags & gtid_flags::ALLOW_PARALLEL != 0;
        if self.session.allow_parallel != Some(allow_parallel) {
            self.session.allow_parallel = Some(allow_parallel);
            set(100101, "skip_parallel_replication", u64::from(!allow_parallel));
        }
        if self.session.domain_id != Some(gtid.domain_id) {
            self.session.domain_id = Some(gtid.domain_id);
            set(100001, "gtid_domain_id", gtid.domain_id.into());
        }
        if self.session.server_id != Some(header.server_id) {
            self.session.server_id = Some(header.server_id);
            set(100001, "server_id", header.server_id.into());
        }
        if !self.options.flashback {
            set(100001, "gtid_seq_no", gtid.seq_no);
        }
    }

    pub(crate) fn annotate(&self, header: &Header, bytes: &[u8], text: &[u8], out: &mut Vec<u8>) {
        if self.options.short_form {
            out.extend_from_slice(b"# Annotate_rows:\n");
        } else {
            self.line(header, bytes, format_args!("\tAnnotate_rows:\n"), out);
        }
        for line in text.split(|b| *b == b'\n' || *b == b'\r').filter(|line| !line.is_empty()) {
            out.extend_from_slice(b"#Q> ");
            out.extend_from_slice(line);
            out.push(b'\n');
        }
    }

    /// Writes a piece of LOAD DATA's file beside the text.
    fn load_block(
        &mut self,
        header: &Header,
        bytes: &[u8],
        block: &LoadBlock<'_>,
        begins: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), PrintError> {
        let name = if begins { "Begin_load_query" } else { "Append_block" };
        let (id, len) = (block.file_id, block.bytes.len());
        let text = format_args!("\n#{name}: file_id: {id}  block_len: {len}\n");
        self.line(header, bytes, text, out);
        if begins {
            let path = crate::source::new_load_file(&self.options.load_dir, id)?;
            self.load_files.insert(id, path);
        }
        match self.load_files.get(&id) {
            Some(path) => Ok(crate::source::append_load_file(path, block.bytes)?),
            None => Err(Corruption::new("APPEND_BLOCK event", "file id", "one that has begun", id).into()),
        }
    }

    /// The name that `--rewrite-db` gives a database.
    pub(crate) fn rewritten<'n>(&'n self, database: &'n [u8]) -> &'n [u8] {
        let found = self.options.rewrite.iter().find(|(from, _)| from == database);
        found.map_or(database, |(_, to)| to)
    }

    pub(crate) fn selects_table(&self, database: &[u8], table: &[u8]) -> bool {
        let is = |wanted: &Option<Vec<u8>>, name: &[u8]| wanted.as_ref().is_none_or(|w| w == name);
        is(&self.selection.database, database) && is(&self.selection.table, table)
    }

    /// Statements of other databases are left out, except those that end or shape a transaction.
    fn selects_statement(&self, database: &[u8], sql: &[u8]) -> bool {
        let Some(wanted) = &self.selection.database else { return true };
        wanted == self.rewritten(database) || shapes_transaction(sql)
    }
}

/// Whether a statement begins, ends or divides a transaction.
pub(crate) fn shapes_transaction(sql: &[u8]) -> bool {
    const SHAPES: [&[u8]; 5] = [b"BEGIN", b"COMMIT", b"ROLLBACK", b"SAVEPOINT", b"XA "];
    SHAPES.iter().any(|word| sql.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))
}

/// What a GTID event's line says of the group.
fn gtid_words(gtid: &GtidEvent<'_>) -> String {
    let mut words = String::new();
    let flags =
        [(gtid_flags::DDL, " ddl"), (gtid_flags::TRANSACTIONAL, " trans"), (gtid_flags::WAITED, " waited")];
    if gtid.flags & gtid_flags::GROUP_COMMIT_ID != 0 {
        words += &format!(" cid={}", gtid.commit_id);
    }
    flags.iter().filter(|(bit, _)| gtid.flags & bit != 0).for_each(|(_, word)| words += word);
    if gtid.flags_extra & gtid_flags_extra::START_ALTER != 0 {
        words += " START ALTER";
    }
    if gtid.flags_extra & gtid_flags_extra::COMMIT_ALTER != 0 {
        words += &format!(" COMMIT ALTER id= {}", gtid.start_alter);
    }
    if gtid.flags_extra & gtid_flags_extra::ROLLBACK_ALTER != 0 {
        words += &format!(" ROLLBACK ALTER id= {}", gtid.start_alter);
    }
    if gtid.flags_extra & gtid_flags_extra::THREAD_ID != 0 {
        words += &format!(" thread_id={}", gtid.thread_id);
    }
    words
}

fn xa_name(xa: &Xa<'_>) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    format!("X'{}',X'{}',{}", hex(xa.gtrid), hex(xa.bqual), xa.format_id)
}
