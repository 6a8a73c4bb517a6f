//! Events that a server sends: the client's side of a dump, as a replica or mariadb-binlog asks for it.
//!
//! # Exchange
//! ```text
//! log-in (mysql_native_password) | SET @master_binlog_checksum='NONE', @mariadb_slave_capability=4 | with GTIDs: SET
//! @slave_connect_state, @slave_gtid_strict_mode | COM_BINLOG_DUMP position, flags, server id, file
//! answers: 0x00 event | EOF (only asked for without waiting) | ERR
//! ```
//! The first event is an artificial ROTATE that names file and place. An event that states no end lies behind the one before.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use base::Corruption;
use env::net::Stream;
use event_format::{Checksum, Event, EventKind, FormatDescription, Header, header_flags};
use wire::command::{code, dump_flags};
use wire::{
    AuthSwitch, Capabilities, Command, Eof, ErrPacket, Greeting, Login, OkPacket, PacketReader, PacketWriter,
};

use super::{Source, SourceError};
use crate::Position;
use crate::arguments::Remote;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const NATIVE: &[u8] = b"mysql_native_password";
/// An event and its packet's first byte.
const PAYLOAD_MAX: usize = (1 << 30) + (1 << 20);
const TEXT_MAX: usize = 0xff_ffff;

/// A connection on which a server sends its log.
pub struct RemoteSource {
    stream: Stream,
    reader: PacketReader,
    /// Where the next event starts, of those that stand in the file.
    at: u64,
    file: Vec<u8>,
    to_last_log: bool,
    /// The checksum of the events, as the server's last FORMAT_DESCRIPTION said.
    checksum: Checksum,
    /// The requested file has ended.
    ended: bool,
}

impl RemoteSource {
    /// Connects and asks for `file` from `start` on.
    pub fn open(remote: &Remote, file: &str, start: Option<&Position>) -> Result<Self, SourceError> {
        let stream = match (&remote.host, &remote.socket) {
            (None, Some(socket)) => Stream::connect_unix(Path::new(socket))?,
            (host, _) => {
                let host = host.as_deref().unwrap_or("127.0.0.1");
                Stream::connect_host(host, remote.port.unwrap_or(3306), CONNECT_TIMEOUT)?
            }
        };
        let mut source = Self {
            stream,
            reader: PacketReader::new(PAYLOAD_MAX),
            at: 4,
            file: file.as_bytes().to_vec(),
            to_last_log: remote.to_last_log,
            checksum: Checksum::None,
            ended: false,
        };
        source.log_in(remote)?;
        source.ask("SET @master_binlog_checksum='NONE'")?;
        source.ask("SET @mariadb_slave_capability=4")?;
        let mut position = 4;
        match start {
            Some(Position::Gtids(gtids)) => {
                let state = gtids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
                source.ask(&format!("SET @slave_connect_state='{state}'"))?;
                source.ask("SET @slave_gtid_strict_mode=1")?;
            }
            Some(Position::Offset(offset)) => {
                position = u32::try_from(*offset).map_err(|_| {
                    io::Error::new(io::ErrorKind::InvalidInput, "--start-position is above 4 GiB")
                })?;
            }
            None => {}
        }
        source.dump(remote, position)?;
        Ok(source)
    }

    fn log_in(&mut self, remote: &Remote) -> Result<(), SourceError> {
        let greeting = self.receive()?;
        refused(&greeting)?;
        let greeting = Greeting::decode(&greeting)?;
        let capabilities = Capabilities::LONG_FLAG
            | Capabilities::PROTOCOL_41
            | Capabilities::TRANSACTIONS
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::MYSQL;
        let respond = |scramble: &wire::auth::Scramble| match remote.password.as_bytes() {
            b"" => Vec::new(),
            password => wire::auth::respond(scramble, password),
        };
        let auth = respond(&greeting.scramble);
        let login = Login {
            capabilities,
            packet_max: 1 << 30,
            collation: 45,
            user: remote.user.as_bytes(),
            auth: &auth,
            database: b"",
            auth_plugin: NATIVE,
            attributes: b"",
        };
        self.send(1, |out| login.encode(out))?;
        let mut answer = self.receive()?;
        if answer.first() == Some(&0xfe) {
            let switch = AuthSwitch::decode(&answer)?;
            if switch.plugin != NATIVE {
                let plugin = String::from_utf8_lossy(switch.plugin);
                return Err(
                    io::Error::other(format!("the account's plugin {plugin} is not supported here")).into()
                );
            }
            let auth = respond(&switch.scramble);
            self.send(self.reader.sequence(), |out| out.extend_from_slice(&auth))?;
            answer = self.receive()?;
        }
        refused(&answer)
    }

    /// Runs a statement that answers OK.
    fn ask(&mut self, sql: &str) -> Result<(), SourceError> {
        self.send(0, |out| Command::encode_raw(out, code::QUERY, sql.as_bytes()))?;
        let answer = self.receive()?;
        refused(&answer)?;
        match answer.first() {
            Some(&OkPacket::TAG) => Ok(()),
            other => {
                Err(Corruption::new(format_args!("answer to {sql}"), "tag", "0x00", format!("{other:?}"))
                    .into())
            }
        }
    }

    fn dump(&mut self, remote: &Remote, position: u32) -> Result<(), SourceError> {
        let (wait, server_id) =
            if remote.stop_never { (0, remote.server_id) } else { (dump_flags::NON_BLOCK, 0) };
        let flags = dump_flags::SEND_ANNOTATE_ROWS | wait;
        let file = self.file.clone();
        self.send(0, |out| Command::encode_binlog_dump(out, position, flags, server_id, &file))?;
        self.stream.set_read_timeout(None)?;
        Ok(())
    }

    fn send(&mut self, sequence: u8, build: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut writer = PacketWriter::new();
        writer.set_sequence(sequence);
        writer.packet(build);
        self.stream.write_all(writer.bytes())?;
        self.reader.set_sequence(writer.sequence());
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<u8>, SourceError> {
        loop {
            match self.reader.poll() {
                Ok(true) => return Ok(self.reader.payload().to_vec()),
                Ok(false) => {}
                Err(e) => return Err(io::Error::new(io::ErrorKind::InvalidData, e.to_string()).into()),
            }
            match self.stream.read(self.reader.spare()) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(n) => self.reader.filled(n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// The place of an event, and where the next one is.
    fn place(&mut self, header: &Header) -> u64 {
        let at = self.at;
        if header.flags & header_flags::ARTIFICIAL != 0 || header.kind == EventKind::HEARTBEAT {
            return at;
        }
        match header.next_position {
            // A FORMAT_DESCRIPTION that was sent because the reading starts behind it.
            0 if header.kind == EventKind::FORMAT_DESCRIPTION => return 4,
            0 => self.at += u64::from(header.length),
            next => self.at = u64::from(next),
        }
        at
    }

    /// Follows an artificial ROTATE; false: another file begins that was not asked for.
    fn follows(&mut self, bytes: &[u8]) -> Result<bool, SourceError> {
        // Before the FORMAT_DESCRIPTION nothing says whether there is a checksum.
        let read = event_format::read(bytes, self.checksum)
            .or_else(|_| event_format::read(bytes, Checksum::None))?;
        let Event::Rotate(rotate) = read.1 else { return Ok(true) };
        let first = self.checksum == Checksum::None && self.at == 4 && self.file.is_empty();
        if !first && !self.to_last_log && !self.file.is_empty() && rotate.file != self.file {
            return Ok(false);
        }
        (self.file, self.at) = (rotate.file.to_vec(), rotate.position);
        Ok(true)
    }

    /// The file that the events stand in.
    pub fn file(&self) -> &[u8] {
        &self.file
    }
}

impl Source for RemoteSource {
    fn next(&mut self, event: &mut Vec<u8>) -> Result<Option<u64>, SourceError> {
        while !self.ended {
            let packet = self.receive()?;
            refused(&packet)?;
            if packet.first() == Some(&0xfe) && Eof::decode(&packet).is_ok() {
                break;
            }
            let Some((0, bytes)) = packet.split_first() else {
                return Err(
                    Corruption::new("event packet", "tag", "0x00", format!("{:?}", packet.first())).into()
                );
            };
            let header = Header::read(bytes)?;
            if header.kind == EventKind::ROTATE && header.flags & header_flags::ARTIFICIAL != 0 {
                self.ended = !self.follows(bytes)?;
                continue;
            }
            if header.kind == EventKind::FORMAT_DESCRIPTION
                && let Event::FormatDescription(format) = event_format::read(bytes, Checksum::None)?.1
            {
                self.checksum = FormatDescription::events_checksum(&format);
            }
            if header.kind == EventKind::HEARTBEAT {
                continue;
            }
            event.clear();
            event.extend_from_slice(bytes);
            return Ok(Some(self.place(&header)));
        }
        self.ended = true;
        Ok(None)
    }
}

/// An ERR packet as an error.
fn refused(packet: &[u8]) -> Result<(), SourceError> {
    if packet.first() != Some(&ErrPacket::TAG) || packet.len() > TEXT_MAX {
        return Ok(());
    }
    let error = ErrPacket::decode(packet)?;
    Err(SourceError::Server(error.code, String::from_utf8_lossy(error.message).into_owned()))
}
