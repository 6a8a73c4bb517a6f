//! A blocking client for tests: text protocol, prepared statements, raw packets.

use std::fmt;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use wire::command::code;
use wire::row::{BinaryValue, decode_binary_row, decode_text_row};
use wire::{
    Capabilities, ColumnDefinition, ColumnType, Command, ErrPacket, Execute, Greeting, Login, OkPacket,
    PacketReader, PacketWriter, ParameterType, PrepareOk,
};

/// What a statement answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Ok {
        affected: u64,
        insert_id: u64,
        info: String,
    },
    /// Values as text; None = NULL.
    Rows {
        columns: Vec<String>,
        rows: Vec<Vec<Option<String>>>,
    },
}

impl Reply {
    /// The rows, tab-separated, NULL as `NULL`.
    pub fn lines(&self) -> Vec<String> {
        let Self::Rows { rows, .. } = self else { return Vec::new() };
        let cell = |c: &Option<String>| c.clone().unwrap_or_else(|| "NULL".into());
        rows.iter().map(|r| r.iter().map(cell).collect::<Vec<_>>().join("\t")).collect()
    }
}

/// Why a statement or connection failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The server said so.
    Server { code: u16, state: String, message: String },
    /// The connection broke.
    Lost(String),
}

impl Failure {
    pub fn code(&self) -> u16 {
        match self {
            Self::Server { code, .. } => *code,
            Self::Lost(_) => 0,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server { code, state, message } => write!(f, "{code} {state} {message}"),
            Self::Lost(why) => write!(f, "connection lost: {why}"),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Self {
        Self::Lost(e.to_string())
    }
}

fn broken(e: impl fmt::Display) -> Failure {
    Failure::Lost(e.to_string())
}

trait Socket: Read + Write + Send {}
impl<T: Read + Write + Send> Socket for T {}

/// One connection.
pub struct Client {
    socket: Box<dyn Socket>,
    reader: PacketReader,
    caps: Capabilities,
    pub connection_id: u32,
    /// The reply that was read last said that another one follows (CALL).
    pub more_results: bool,
}

/// A prepared statement of one connection.
pub struct Statement {
    id: u32,
    pub parameters: usize,
}

impl Client {
    pub fn tcp(port: u16) -> Result<Self, Failure> {
        let socket = TcpStream::connect(("127.0.0.1", port))?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(Duration::from_secs(120)))?;
        Self::login(Box::new(socket), "root", "")
    }

    pub fn unix(path: &Path) -> Result<Self, Failure> {
        let socket = UnixStream::connect(path)?;
        socket.set_read_timeout(Some(Duration::from_secs(120)))?;
        Self::login(Box::new(socket), "root", "")
    }

    /// As somebody else than root.
    pub fn unix_as(path: &Path, user: &str, password: &str) -> Result<Self, Failure> {
        let socket = UnixStream::connect(path)?;
        socket.set_read_timeout(Some(Duration::from_secs(120)))?;
        Self::login(Box::new(socket), user, password)
    }

    fn login(socket: Box<dyn Socket>, user: &str, password: &str) -> Result<Self, Failure> {
        let caps = Capabilities::LONG_FLAG
            | Capabilities::PROTOCOL_41
            | Capabilities::TRANSACTIONS
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::MYSQL
            | Capabilities::MULTI_RESULTS
            | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS
            | Capabilities::DEPRECATE_EOF;
        let reader = PacketReader::new(1 << 30);
        let mut client = Self { socket, reader, caps, connection_id: 0, more_results: false };
        let greeting = client.receive()?;
        if greeting.first() == Some(&ErrPacket::TAG) {
            return Err(Self::error(&greeting));
        }
        let greeting = Greeting::decode(&greeting).map_err(broken)?;
        client.connection_id = greeting.connection_id;
        let response = wire::auth::respond(&greeting.scramble, password.as_bytes());
        let login = Login {
            capabilities: caps,
            packet_max: 1 << 30,
            collation: 45,
            user: user.as_bytes(),
            auth: &response,
            database: b"",
            auth_plugin: b"mysql_native_password",
            attributes: b"",
        };
        let mut writer = PacketWriter::new();
        writer.set_sequence(1);
        writer.packet(|out| login.encode(out));
        client.socket.write_all(writer.bytes())?;
        client.reader.set_sequence(2);
        let answer = client.receive()?;
        match answer.first() {
            Some(&OkPacket::TAG) => Ok(client),
            Some(&ErrPacket::TAG) => Err(Self::error(&answer)),
            _ => Err(Failure::Lost(format!("unexpected login answer {answer:?}"))),
        }
    }

    /// The next packet's payload.
    pub fn receive(&mut self) -> Result<Vec<u8>, Failure> {
        while !self.reader.poll().map_err(broken)? {
            let n = self.socket.read(self.reader.spare())?;
            if n == 0 {
                return Err(Failure::Lost("closed by the server".into()));
            }
            self.reader.filled(n);
        }
        Ok(self.reader.payload().to_vec())
    }

    /// Sends raw bytes as they are, whatever they mean.
    pub fn send_raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.socket.write_all(bytes)?)
    }

    /// Sends one command without reading its answer.
    pub fn send(&mut self, command: u8, body: &[u8]) -> Result<(), Failure> {
        let mut writer = PacketWriter::new();
        writer.packet(|out| Command::encode_raw(out, command, body));
        self.socket.write_all(writer.bytes())?;
        self.reader.set_sequence(writer.sequence());
        Ok(())
    }

    fn error(payload: &[u8]) -> Failure {
        match ErrPacket::decode(payload) {
            Ok(e) => Failure::Server {
                code: e.code,
                state: e.sqlstate.map(|s| String::from_utf8_lossy(&s).into_owned()).unwrap_or_default(),
                message: String::from_utf8_lossy(e.message).into_owned(),
            },
            Err(e) => broken(e),
        }
    }

    /// Runs one statement as text.
    pub fn query(&mut self, sql: &str) -> Result<Reply, Failure> {
        self.send(code::QUERY, sql.as_bytes())?;
        self.reply(false)
    }

    /// Runs one statement as text and reads all of its replies.
    pub fn query_all(&mut self, sql: &str) -> Vec<Result<Reply, Failure>> {
        let mut replies = vec![self.query(sql)];
        while self.more_results {
            replies.push(self.reply(false));
        }
        replies
    }

    /// Runs a statement that must succeed.
    pub fn run(&mut self, sql: &str) -> Reply {
        self.query(sql).unwrap_or_else(|e| panic!("{:.200}: {e}", sql))
    }

    /// Rows of a statement that must succeed, as [`Reply::lines`].
    pub fn rows(&mut self, sql: &str) -> Vec<String> {
        self.run(sql).lines()
    }

    /// The error number of a statement that must fail.
    pub fn fails(&mut self, sql: &str) -> u16 {
        match self.query(sql) {
            Ok(r) => panic!("{sql}: expected an error, got {r:?}"),
            Err(e) => e.code(),
        }
    }

    pub fn prepare(&mut self, sql: &str) -> Result<Statement, Failure> {
        self.send(code::STMT_PREPARE, sql.as_bytes())?;
        let first = self.receive()?;
        if first.first() == Some(&ErrPacket::TAG) {
            return Err(Self::error(&first));
        }
        let ok = PrepareOk::decode(&first).map_err(broken)?;
        for _ in 0..usize::from(ok.columns) + usize::from(ok.parameters) {
            self.receive()?;
        }
        Ok(Statement { id: ok.statement_id, parameters: usize::from(ok.parameters) })
    }

    /// Executes with integer, text or NULL parameters.
    pub fn execute(&mut self, statement: &Statement, values: &[BinaryValue<'_>]) -> Result<Reply, Failure> {
        let kind = |v: &BinaryValue<'_>| match v {
            BinaryValue::Bytes(_) => ColumnType::VarString,
            BinaryValue::Double(_) => ColumnType::Double,
            _ => ColumnType::LongLong,
        };
        let types: Vec<ParameterType> = values.iter().map(|v| ParameterType::new(kind(v), false)).collect();
        let mut body = Vec::new();
        Execute::encode(&mut body, statement.id, 0, Some(&types), values);
        self.send(code::STMT_EXECUTE, &body)?;
        self.reply(true)
    }

    /// Reads the answer of a command that was sent with [`Self::send`].
    pub fn reply(&mut self, binary: bool) -> Result<Reply, Failure> {
        self.more_results = false;
        let first = self.receive()?;
        match first.first() {
            Some(&OkPacket::TAG) => {
                let ok = OkPacket::decode(&first).map_err(broken)?;
                self.more_results = ok.status.contains(wire::Status::MORE_RESULTS);
                return Ok(Reply::Ok {
                    affected: ok.affected_rows,
                    insert_id: ok.last_insert_id,
                    info: String::from_utf8_lossy(ok.info).into_owned(),
                });
            }
            Some(&ErrPacket::TAG) => return Err(Self::error(&first)),
            _ => {}
        }
        let count = wire::column::ResultHeader::decode(&first, self.caps).map_err(broken)?.columns;
        let mut columns = Vec::new();
        let mut types = Vec::new();
        for _ in 0..count {
            let payload = self.receive()?;
            let column = ColumnDefinition::decode(&payload, self.caps).map_err(broken)?;
            columns.push(String::from_utf8_lossy(column.name).into_owned());
            types.push((column.column_type, column.flags.contains(wire::ColumnFlags::UNSIGNED)));
        }
        let mut rows = Vec::new();
        loop {
            let payload = self.receive()?;
            match payload.first() {
                Some(&OkPacket::END_TAG) if payload.len() < 0xff_ffff => {
                    let end = OkPacket::decode(&payload).map_err(broken)?;
                    self.more_results = end.status.contains(wire::Status::MORE_RESULTS);
                    break;
                }
                Some(&ErrPacket::TAG) => return Err(Self::error(&payload)),
                _ if binary => {
                    let row = decode_binary_row(&payload, &types).map_err(broken)?;
                    rows.push(row.iter().map(binary_text).collect());
                }
                _ => {
                    let row = decode_text_row(&payload, types.len()).map_err(broken)?;
                    rows.push(
                        row.iter().map(|c| c.map(|b| String::from_utf8_lossy(b).into_owned())).collect(),
                    );
                }
            }
        }
        Ok(Reply::Rows { columns, rows })
    }
}

fn binary_text(value: &BinaryValue<'_>) -> Option<String> {
    Some(match value {
        BinaryValue::Null => return None,
        BinaryValue::Int(v) => v.to_string(),
        BinaryValue::UInt(v) => v.to_string(),
        BinaryValue::Float(v) => v.to_string(),
        BinaryValue::Double(v) => v.to_string(),
        BinaryValue::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
        BinaryValue::Date(v) | BinaryValue::Time(v) => format!("{v:?}"),
    })
}
