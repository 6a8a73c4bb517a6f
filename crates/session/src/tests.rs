//! Whole connections over memory: a client made of `wire`, a server on a simulated disk.

use std::sync::Arc;

use accounts::{Account, Auth, Privileges};
use env::{RealClock, SimDisk};
use wire::column::ResultHeader;
use wire::command::code;
use wire::row::{BinaryValue, decode_binary_row, decode_text_row};
use wire::statement::Execute;
use wire::{
    AuthSwitch, Capabilities, ColumnDefinition, ColumnType, Eof, ErrPacket, Greeting, Login, OkPacket,
    PacketReader, PacketWriter, ParameterType, PrepareOk, Status,
};

use crate::backend::Backend;
use crate::handshake::Origin;
use crate::server::Server;
use crate::transport::Transport;
use crate::transport::memory::{End, pair};
use crate::variables::{GlobalVariables, Setting, Var};

fn server() -> Arc<Server> {
    let variables = GlobalVariables::new();
    variables.set(Var::INNODB_BUFFER_POOL_SIZE, Setting::UInt(8 << 20));
    variables.set(Var::INNODB_LOG_BUFFER_SIZE, Setting::UInt(1 << 20));
    variables.set(Var::MAX_BINLOG_SIZE, Setting::UInt(4 << 20));
    let clock = Arc::new(RealClock::new());
    let backend = Backend::open(&variables, Arc::new(SimDisk::new(7)), clock.clone()).unwrap();
    let server = Server::new(variables, backend, clock).unwrap();
    let writer = server.accounts.lock();
    let mut tables = server.accounts.current().tables.clone();
    let mut alice = Account { access: Privileges::ALL_GLOBAL, ..Account::user("alice", "%") };
    alice.auth = vec![Auth::native(&wire::auth::StoredHash::of(b"secret").to_string())];
    tables.put(alice);
    server.accounts.publish(tables);
    drop(writer);
    server
}

/// From a Unix socket.
fn local() -> Origin {
    Origin { host: "localhost".into(), address: String::new(), port: 0, uid: None, tls: None }
}

fn native_response(password: &[u8], scramble: &[u8]) -> Vec<u8> {
    wire::auth::respond(scramble.try_into().unwrap(), password)
}

/// Starts a connection's thread on one end of a pipe.
fn open(server: &Arc<Server>) -> End {
    let (ours, theirs) = pair();
    let transport: Arc<dyn Transport> = Arc::new(theirs.clone());
    let entry = server.connections.admit(transport.clone(), "localhost", 0, 100).unwrap();
    let server = server.clone();
    std::thread::spawn(move || {
        let books = crate::server::Leaving::new(server.clone(), entry.clone());
        // Without a socket below it a connection keeps its thread to its end.
        assert!(crate::connection::serve(&server, &entry, transport, local(), books).is_none());
        theirs.hang_up();
    });
    ours
}

struct Client {
    end: End,
    reader: PacketReader,
    caps: Capabilities,
    greeting_id: u32,
}

#[derive(Debug, PartialEq)]
enum Reply {
    Ok { affected: u64, status: Status, info: String },
    Error(u16, String),
    Rows(Vec<Vec<Option<String>>>, Status),
}

impl Client {
    fn read(&mut self) -> Option<Vec<u8>> {
        loop {
            if self.reader.poll().unwrap() {
                return Some(self.reader.payload().to_vec());
            }
            let n = self.end.read(self.reader.spare()).unwrap();
            if n == 0 {
                return None;
            }
            self.reader.filled(n);
        }
    }

    fn send(&mut self, sequence: u8, payload: &[u8]) {
        let mut w = PacketWriter::new();
        w.set_sequence(sequence);
        w.packet(|p| p.extend_from_slice(payload));
        self.end.write_all(w.bytes()).unwrap();
        self.reader.set_sequence(w.sequence());
    }

    fn command(&mut self, command: u8, body: &[u8]) {
        let mut payload = vec![command];
        payload.extend_from_slice(body);
        self.send(0, &payload);
    }

    fn log_in(
        server: &Arc<Server>,
        user: &str,
        password: &[u8],
        plugin: &[u8],
    ) -> Result<Self, (u16, String)> {
        let caps = Capabilities::SERVER.without(Capabilities::DEPRECATE_EOF | Capabilities::COMPRESS);
        let mut client =
            Self { end: open(server), reader: PacketReader::new(64 << 20), caps, greeting_id: 0 };
        let greeting = client.read().unwrap();
        let greeting = Greeting::decode(&greeting).unwrap();
        client.greeting_id = greeting.connection_id;
        let login = Login {
            capabilities: caps.without(Capabilities::CONNECT_WITH_DB),
            packet_max: 1 << 24,
            collation: 45,
            user: user.as_bytes(),
            auth: &wire::auth::respond(&greeting.scramble, password),
            database: b"",
            auth_plugin: plugin,
            attributes: b"",
        };
        let mut payload = Vec::new();
        login.encode(&mut payload);
        client.send(1, &payload);
        let mut answer = client.read().unwrap();
        let ed25519 = [&[0xfe], wire::ed25519::PLUGIN, &[0]].concat();
        if let Some(nonce) = answer.strip_prefix(ed25519.as_slice()) {
            client.send(3, &wire::ed25519::respond(password, nonce));
            answer = client.read().unwrap();
        } else if let Ok(switch) = AuthSwitch::decode(&answer) {
            let sha2 = switch.plugin == wire::caching_sha2::PLUGIN;
            let respond = if sha2 { wire::caching_sha2::respond } else { native_response };
            client.send(3, &respond(password, &switch.scramble));
            answer = client.read().unwrap();
            if answer == [wire::caching_sha2::MORE_DATA, wire::caching_sha2::FULL] {
                client.send(5, &[password, &[0]].concat());
                answer = client.read().unwrap();
            }
        }
        match ErrPacket::decode(&answer) {
            Ok(e) => Err((e.code, String::from_utf8_lossy(e.message).into_owned())),
            Err(_) => {
                OkPacket::decode(&answer).unwrap();
                Ok(client)
            }
        }
    }

    fn root(server: &Arc<Server>) -> Self {
        Self::log_in(server, "root", b"", wire::auth::NATIVE_PASSWORD).unwrap()
    }

    fn reply(&mut self) -> Reply {
        let first = self.read().expect("a reply");
        if let Ok(e) = ErrPacket::decode(&first) {
            return Reply::Error(e.code, String::from_utf8_lossy(e.message).into_owned());
        }
        if first[0] == 0 {
            let ok = OkPacket::decode(&first).unwrap();
            let status = ok.status.without(Status::SESSION_STATE_CHANGED);
            let info = String::from_utf8_lossy(ok.info).into_owned();
            return Reply::Ok { affected: ok.affected_rows, status, info };
        }
        let header = ResultHeader::decode(&first, self.caps).unwrap();
        for _ in 0..header.columns {
            let definition = self.read().unwrap();
            ColumnDefinition::decode(&definition, self.caps).unwrap();
        }
        Eof::decode(&self.read().unwrap()).unwrap();
        let mut rows = Vec::new();
        loop {
            let packet = self.read().unwrap();
            if let Ok(eof) = Eof::decode(&packet) {
                return Reply::Rows(rows, eof.status);
            }
            if let Ok(e) = ErrPacket::decode(&packet) {
                return Reply::Error(e.code, String::from_utf8_lossy(e.message).into_owned());
            }
            let row = decode_text_row(&packet, header.columns as usize).unwrap();
            rows.push(row.into_iter().map(|v| v.map(|b| String::from_utf8_lossy(b).into_owned())).collect());
        }
    }

    fn query(&mut self, sql: &str) -> Reply {
        self.command(code::QUERY, sql.as_bytes());
        self.reply()
    }

    /// The rows of a query, joined for comparison.
    fn rows(&mut self, sql: &str) -> String {
        match self.query(sql) {
            Reply::Rows(rows, _) => {
                let line = |r: &Vec<Option<String>>| {
                    r.iter().map(|v| v.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join(",")
                };
                rows.iter().map(line).collect::<Vec<_>>().join(";")
            }
            other => panic!("{sql}: {other:?}"),
        }
    }

    fn error(&mut self, sql: &str) -> u16 {
        match self.query(sql) {
            Reply::Error(code, _) => code,
            other => panic!("{sql}: {other:?}"),
        }
    }

    fn status(&mut self, sql: &str) -> Status {
        match self.query(sql) {
            Reply::Ok { status, .. } => status,
            other => panic!("{sql}: {other:?}"),
        }
    }

    fn prepare(&mut self, sql: &str) -> PrepareOk {
        self.command(code::STMT_PREPARE, sql.as_bytes());
        let ok = PrepareOk::decode(&self.read().unwrap()).unwrap();
        for count in [ok.parameters, ok.columns] {
            for _ in 0..count {
                self.read().unwrap();
            }
            if count > 0 {
                Eof::decode(&self.read().unwrap()).unwrap();
            }
        }
        ok
    }
}

#[test]
fn log_ins_are_checked() {
    let server = server();
    assert!(Client::log_in(&server, "root", b"", wire::auth::NATIVE_PASSWORD).is_ok());
    assert!(Client::log_in(&server, "alice", b"secret", wire::auth::NATIVE_PASSWORD).is_ok());
    let refused = Client::log_in(&server, "alice", b"wrong", wire::auth::NATIVE_PASSWORD).err().unwrap();
    assert_eq!(refused, (1045, "Access denied for user 'alice'@'localhost' (using password: YES)".into()));
    let refused = Client::log_in(&server, "nobody", b"", wire::auth::NATIVE_PASSWORD).err().unwrap();
    assert_eq!(refused.0, 1045);
}

#[test]
fn a_client_with_another_plugin_is_asked_again() {
    let server = server();
    let mut client = Client::log_in(&server, "alice", b"secret", b"caching_sha2_password").unwrap();
    assert_eq!(client.rows("SELECT CURRENT_USER()"), "alice@%");
    assert!(Client::log_in(&server, "alice", b"wrong", b"caching_sha2_password").is_err());
}

#[test]
fn values_and_variables_reach_the_client() {
    let server = server();
    let mut c = Client::root(&server);
    assert_eq!(c.rows("SELECT 1, 'x', NULL, 1.50"), "1,x,NULL,1.50");
    c.status("SET @a = 5, @@session.wait_timeout = 77");
    assert_eq!(c.rows("SELECT @a + 1, @@wait_timeout, @@global.wait_timeout"), "6,77,28800");
    assert_eq!(c.rows("SHOW VARIABLES LIKE 'wait_timeout'"), "wait_timeout,77");
    let errors = [
        ("SET autocommit = 2", 1231),
        ("SET autocommit = 1.5", 1232),
        ("SET max_connections = 5", 1229),
        ("SET GLOBAL pseudo_thread_id = 5", 1228),
        ("SET version = 'x'", 1238),
        ("SET nosuch = 1", 1193),
        ("SELECT @@nosuch", 1193),
        ("SELECT @@session.max_connections", 1238),
        ("SELECT @@global.pseudo_thread_id", 1238),
        ("SET time_zone = 'foo'", 1298),
        ("SET NAMES foo", 1115),
        ("SET NAMES utf8mb4 COLLATE latin1_bin", 1253),
        ("SET max_allowed_packet = 1024", 1621),
        ("SET default_storage_engine = bogus", 1286),
        ("USE nodb", 1049),
        ("KILL 99999", 1094),
        ("SELECT nope", 1054),
        ("bogus", 1064),
    ];
    for (sql, code) in errors {
        assert_eq!(c.error(sql), code, "{sql}");
    }
}

#[test]
fn warnings_are_kept_until_the_next_statement() {
    let server = server();
    let mut c = Client::root(&server);
    c.status("SET wait_timeout = 0");
    assert_eq!(c.rows("SHOW WARNINGS"), "Warning,1292,Truncated incorrect wait_timeout value: '0'");
    assert_eq!(c.rows("SELECT @@warning_count"), "1");
    c.status("SET wait_timeout = 10");
    assert_eq!(c.rows("SHOW COUNT(*) WARNINGS"), "0");
    c.error("SELECT nope");
    assert_eq!(c.rows("SHOW ERRORS"), "Error,1054,Unknown column 'nope' in 'SELECT'");
}

#[test]
fn the_status_says_what_transaction_is_open() {
    let server = server();
    let mut c = Client::root(&server);
    let auto = Status::AUTOCOMMIT;
    assert_eq!(c.status("BEGIN"), auto.with(Status::IN_TRANS));
    assert_eq!(c.status("COMMIT"), auto);
    assert_eq!(
        c.status("START TRANSACTION READ ONLY"),
        auto.with(Status::IN_TRANS).with(Status::IN_TRANS_READONLY)
    );
    assert_eq!(c.status("ROLLBACK"), auto);
    assert_eq!(c.status("SET autocommit = 0"), Status::default());
    match c.query("SELECT 1") {
        Reply::Rows(_, status) => assert_eq!(status, Status::default()),
        other => panic!("{other:?}"),
    }
    assert_eq!(c.status("COMMIT AND CHAIN"), Status::IN_TRANS);
    assert_eq!(c.error("ROLLBACK TO SAVEPOINT nope"), 1305);
    c.status("SAVEPOINT a");
    c.status("ROLLBACK TO SAVEPOINT a");
    c.status("RELEASE SAVEPOINT a");
    assert_eq!(c.error("RELEASE SAVEPOINT a"), 1305);
    assert_eq!(c.error("SET TRANSACTION READ ONLY"), 1568);
}

#[test]
fn several_statements_need_the_client_to_ask_for_them() {
    let server = server();
    let mut c = Client::root(&server);
    c.command(code::QUERY, b"SELECT 1; SELECT 2; SET @x = 3");
    for expected in ["1", "2"] {
        match c.reply() {
            Reply::Rows(rows, status) => {
                assert_eq!(rows, [[Some(expected.to_owned())]]);
                assert!(status.contains(Status::MORE_RESULTS));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(c.reply(), Reply::Ok { status, .. } if !status.contains(Status::MORE_RESULTS)));
    c.command(code::SET_OPTION, &[1, 0]);
    Eof::decode(&c.read().unwrap()).unwrap();
    assert_eq!(c.error("SELECT 1; SELECT 2"), 1064);
    // The first error ends the batch.
    c.command(code::SET_OPTION, &[0, 0]);
    Eof::decode(&c.read().unwrap()).unwrap();
    assert_eq!(c.error("SELECT nope; SELECT 2"), 1054);
    assert_eq!(c.rows("SELECT 3"), "3");
}

#[test]
fn prepared_statements_take_parameters_and_remember_their_types() {
    let server = server();
    let mut c = Client::root(&server);
    let ok = c.prepare("SELECT CAST(? AS SIGNED) + 1, ?");
    assert_eq!((ok.parameters, ok.columns), (2, 2));
    let types =
        [ParameterType::new(ColumnType::LongLong, false), ParameterType::new(ColumnType::VarString, false)];
    for (n, with_types) in [(41, true), (1, false)] {
        let mut body = Vec::new();
        let values = [BinaryValue::Int(n), BinaryValue::Bytes(b"text")];
        Execute::encode(&mut body, ok.statement_id, 0, with_types.then_some(&types[..]), &values);
        c.command(code::STMT_EXECUTE, &body);
        let header = ResultHeader::decode(&c.read().unwrap(), c.caps).unwrap();
        // The definitions came with the prepare.
        assert_eq!((header.columns, header.definitions_follow), (2, false));
        Eof::decode(&c.read().unwrap()).unwrap();
        let row = c.read().unwrap();
        let row = decode_binary_row(&row, &[(ColumnType::LongLong, false), (ColumnType::VarString, false)]);
        assert_eq!(row.unwrap(), [BinaryValue::Int(n + 1), BinaryValue::Bytes(b"text")]);
        Eof::decode(&c.read().unwrap()).unwrap();
    }
    c.command(code::STMT_CLOSE, &ok.statement_id.to_le_bytes());
    let mut body = Vec::new();
    Execute::encode(&mut body, ok.statement_id, 0, None, &[]);
    c.command(code::STMT_EXECUTE, &body);
    assert!(matches!(c.reply(), Reply::Error(1243, _)));
    assert_eq!(server.prepared_count(), 0);
}

#[test]
fn long_data_and_cursors() {
    let server = server();
    let mut c = Client::root(&server);
    let ok = c.prepare("SELECT CHAR_LENGTH(?) UNION ALL SELECT 2 UNION ALL SELECT 3");
    let mut data = ok.statement_id.to_le_bytes().to_vec();
    data.extend_from_slice(&[0, 0]);
    data.extend_from_slice(b"0123456789");
    c.command(code::STMT_SEND_LONG_DATA, &data);
    c.command(code::STMT_SEND_LONG_DATA, &data);
    let types = [ParameterType::new(ColumnType::Blob, false)];
    let mut body = Vec::new();
    Execute::encode(&mut body, ok.statement_id, 1, Some(&types), &[BinaryValue::Null]);
    c.command(code::STMT_EXECUTE, &body);
    let header = ResultHeader::decode(&c.read().unwrap(), c.caps).unwrap();
    assert_eq!(header.columns, 1);
    let eof = Eof::decode(&c.read().unwrap()).unwrap();
    assert!(eof.status.contains(Status::CURSOR_EXISTS));
    let mut got = Vec::new();
    for last in [false, true] {
        let mut fetch = ok.statement_id.to_le_bytes().to_vec();
        fetch.extend_from_slice(&2u32.to_le_bytes());
        c.command(code::STMT_FETCH, &fetch);
        loop {
            let packet = c.read().unwrap();
            if let Ok(eof) = Eof::decode(&packet) {
                assert_eq!(eof.status.contains(Status::LAST_ROW_SENT), last);
                break;
            }
            got.push(packet);
        }
    }
    assert_eq!(got.len(), 3);
    let first = decode_binary_row(&got[0], &[(ColumnType::Long, false)]).unwrap();
    assert_eq!(first, [BinaryValue::Int(20)]);
}

#[test]
fn long_data_that_is_not_taken_is_told_at_the_execute() {
    let server = server();
    let mut c = Client::root(&server);
    c.status("SET GLOBAL max_allowed_packet = 1024");
    let mut c = Client::root(&server);
    let ok = c.prepare("SELECT CHAR_LENGTH(?)");
    let types = [ParameterType::new(ColumnType::Blob, false)];
    let mut execute = Vec::new();
    Execute::encode(&mut execute, ok.statement_id, 0, Some(&types), &[BinaryValue::Bytes(b"abc")]);
    let chunk = |parameter: u8, size: usize| {
        let mut data = ok.statement_id.to_le_bytes().to_vec();
        data.extend_from_slice(&[parameter, 0]);
        data.resize(data.len() + size, b'x');
        data
    };
    for (chunks, errno) in [(&[(0, 600), (0, 600), (0, 10)][..], 1105), (&[(0, 3), (1, 3)], 1210)] {
        for &(parameter, size) in chunks {
            c.command(code::STMT_SEND_LONG_DATA, &chunk(parameter, size));
        }
        for _ in 0..2 {
            c.command(code::STMT_EXECUTE, &execute);
            assert!(matches!(c.reply(), Reply::Error(got, _) if got == errno));
        }
        c.command(code::STMT_RESET, &ok.statement_id.to_le_bytes());
        assert!(matches!(c.reply(), Reply::Ok { .. }));
    }
    c.command(code::STMT_EXECUTE, &execute);
    ResultHeader::decode(&c.read().unwrap(), c.caps).expect("a reset forgets what was wrong");
}

#[test]
fn prepare_by_name() {
    let server = server();
    let mut c = Client::root(&server);
    c.status("PREPARE s FROM 'SELECT ? * 2'");
    c.status("SET @a = 21");
    assert_eq!(c.rows("EXECUTE s USING @a"), "42");
    assert_eq!(c.error("EXECUTE s"), 1210);
    assert_eq!(c.error("EXECUTE nope"), 1243);
    assert_eq!(c.error("PREPARE t FROM 'PREPARE u FROM \"SELECT 1\"'"), 1295);
    assert_eq!(c.rows("EXECUTE IMMEDIATE 'SELECT 7'"), "7");
    c.status("DEALLOCATE PREPARE s");
    assert_eq!(c.error("DEALLOCATE PREPARE s"), 1243);
    assert_eq!(server.prepared_count(), 0);
}

#[test]
fn simple_commands_answer() {
    let server = server();
    let mut c = Client::root(&server);
    c.command(code::PING, b"");
    assert!(matches!(c.reply(), Reply::Ok { .. }));
    c.command(code::STATISTICS, b"");
    assert!(c.read().unwrap().starts_with(b"Uptime: "));
    c.status("SET @a = 1, wait_timeout = 5");
    c.command(code::RESET_CONNECTION, b"");
    assert!(matches!(c.reply(), Reply::Ok { .. }));
    assert_eq!(c.rows("SELECT @a, @@wait_timeout"), "NULL,28800");
    c.command(0x77, b"");
    assert!(matches!(c.reply(), Reply::Error(1047, _)));
    c.command(code::STMT_FETCH, &[1]);
    assert!(matches!(c.reply(), Reply::Error(1835, _)));
    assert_eq!(c.rows("SELECT 1"), "1", "a malformed packet does no harm");
    c.command(code::QUIT, b"");
    assert_eq!(c.read(), None);
}

#[test]
fn change_user_logs_in_again() {
    let server = server();
    let mut c = Client::root(&server);
    c.status("SET @a = 1");
    let change = wire::ChangeUser {
        user: b"alice",
        auth: b"",
        database: b"",
        collation: 45,
        auth_plugin: b"",
        attributes: b"",
    };
    let mut body = Vec::new();
    change.encode(&mut body, c.caps);
    c.command(code::CHANGE_USER, &body);
    let packet = c.read().unwrap();
    let switch = AuthSwitch::decode(&packet).unwrap();
    let answer = wire::auth::respond(&switch.scramble, b"secret");
    c.send(2, &answer);
    assert!(matches!(c.reply(), Reply::Ok { .. }));
    assert_eq!(c.rows("SELECT CURRENT_USER(), @a"), "alice@%,NULL");
}

#[test]
fn a_killed_connection_is_closed() {
    let server = server();
    let (mut a, mut b) = (Client::root(&server), Client::root(&server));
    b.status(&format!("KILL {}", a.greeting_id));
    assert_eq!(a.read(), None);
    // Its own kill ends the statement with an error.
    assert_eq!(b.error(&format!("KILL {}", b.greeting_id)), 1927);
}

#[test]
fn bytes_that_are_no_log_in_are_refused() {
    let server = server();
    for bytes in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[5, 0, 0, 1, 1, 2, 3, 4, 5], &[0, 0, 0, 1], &[255, 255, 255, 1]]
    {
        let end = open(&server);
        let mut greeting = [0; 512];
        assert!(end.read(&mut greeting).unwrap() > 0);
        end.write_all(bytes).unwrap();
        let mut rest = [0; 512];
        let n = end.read(&mut rest).unwrap();
        assert!(n > 4 && rest[4] == 0xff, "{bytes:?}");
        assert_eq!(end.read(&mut rest).unwrap(), 0);
    }
    assert_eq!(Client::root(&server).rows("SELECT 1"), "1");
}

#[test]
fn a_packet_over_the_limit_ends_the_connection_with_its_error() {
    let server = server();
    server.variables.set(Var::MAX_ALLOWED_PACKET, Setting::UInt(1024));
    let mut c = Client::root(&server);
    c.command(code::QUERY, &[b' '; 2000]);
    assert!(matches!(c.reply(), Reply::Error(1153, _)));
    assert_eq!(c.read(), None);
}

#[test]
fn tracked_changes_come_with_the_ok() {
    let server = server();
    let mut c = Client::root(&server);
    c.command(code::QUERY, b"SET autocommit = 0");
    let packet = c.read().unwrap();
    let ok = OkPacket::decode(&packet).unwrap();
    assert!(ok.status.contains(Status::SESSION_STATE_CHANGED));
    assert_eq!(ok.session_state, b"\x00\x0f\x0aautocommit\x03OFF");
}

/// A connection to a server with a table `test.t (a INT PRIMARY KEY, b INT)` of three rows.
fn with_table(server: &Arc<Server>) -> Client {
    let mut c = Client::root(server);
    c.status("USE test");
    c.status("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    c.status("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
    c
}

#[test]
fn transactions_end_as_they_are_told() {
    let server = server();
    let mut c = with_table(&server);
    c.status("BEGIN");
    c.status("UPDATE t SET b = 11 WHERE a = 1");
    c.status("SAVEPOINT s");
    c.status("DELETE FROM t");
    c.status("ROLLBACK TO s");
    assert_eq!(c.rows("SELECT b FROM t WHERE a = 1"), "11");
    // A statement that fails undoes itself only.
    assert_eq!(c.error("INSERT INTO t VALUES (4, 40), (1, 1)"), 1062);
    assert_eq!(c.rows("SELECT COUNT(*) FROM t"), "3");
    c.status("ROLLBACK");
    assert_eq!(c.rows("SELECT b FROM t WHERE a = 1"), "10");
    c.status("BEGIN");
    c.status("UPDATE t SET b = 12 WHERE a = 1");
    // DDL commits what came before.
    c.status("CREATE TABLE u (a INT)");
    c.status("ROLLBACK");
    assert_eq!(c.rows("SELECT b FROM t WHERE a = 1"), "12");
    c.status("SET TRANSACTION READ ONLY");
    // A statement without tables and one that is refused are no transactions: the next one still is read only.
    c.rows("SELECT 1");
    assert_eq!(c.error("UPDATE t SET b = 1"), 1792);
    assert_eq!(c.error("UPDATE t SET b = 1"), 1792);
    c.rows("SELECT * FROM t");
    c.status("UPDATE t SET b = 13 WHERE a = 1");
}

#[test]
fn commits_are_numbered_when_they_are_logged() {
    let server = server();
    let mut c = with_table(&server);
    let before = c.rows("SELECT @@gtid_binlog_pos");
    assert_eq!(before, "0-1-2");
    c.status("SET sql_log_bin = 0");
    c.status("UPDATE t SET b = 1 WHERE a = 1");
    assert_eq!(c.rows("SELECT @@gtid_binlog_pos"), before);
    c.status("SET sql_log_bin = 1, gtid_domain_id = 5, gtid_seq_no = 100");
    c.status("UPDATE t SET b = 2 WHERE a = 1");
    assert_eq!(c.rows("SELECT @@last_gtid, @@gtid_binlog_pos, @@gtid_seq_no"), "5-1-100,0-1-2,5-1-100,0");
    c.status("UPDATE t SET b = 3 WHERE a = 1");
    assert_eq!(c.rows("SELECT @@last_gtid"), "5-1-101");
}

#[test]
fn a_kill_wakes_a_sleeping_statement() {
    let server = server();
    let (mut killer, mut sleeper) = (Client::root(&server), Client::root(&server));
    sleeper.command(code::QUERY, b"SELECT SLEEP(100)");
    let entry = server.connections.get(u64::from(sleeper.greeting_id)).unwrap();
    while !entry.is_busy() {
        std::thread::yield_now();
    }
    killer.status(&format!("KILL QUERY {}", sleeper.greeting_id));
    assert!(matches!(sleeper.reply(), Reply::Error(1317, _)));
    assert_eq!(sleeper.rows("SELECT 1"), "1");
}

#[test]
fn a_kill_reaches_a_lock_wait_and_frees_the_locks() {
    let server = server();
    let mut holder = with_table(&server);
    holder.status("BEGIN");
    holder.status("UPDATE t SET b = 1 WHERE a = 1");
    for (command, row) in [("KILL QUERY", 2), ("KILL", 3)] {
        let mut waiter = Client::root(&server);
        waiter.status("USE test");
        waiter.status("BEGIN");
        waiter.status(&format!("UPDATE t SET b = 2 WHERE a = {row}"));
        waiter.command(code::QUERY, b"UPDATE t SET b = 2 WHERE a = 1");
        while server.backend().kernel.locks.counters.current_waits.load(std::sync::atomic::Ordering::Relaxed)
            == 0
        {
            std::thread::yield_now();
        }
        holder.status(&format!("{command} {}", waiter.greeting_id));
        let expected = if command == "KILL" { 1927 } else { 1317 };
        assert!(matches!(waiter.reply(), Reply::Error(code, _) if code == expected));
        if command == "KILL" {
            assert_eq!(waiter.read(), None);
        } else {
            waiter.status("ROLLBACK");
        }
        // The waiter's own lock is gone.
        holder.status(&format!("UPDATE t SET b = 3 WHERE a = {row}"));
    }
}

#[test]
fn a_bulk_execution_is_one() {
    let server = server();
    let mut c = with_table(&server);
    let ok = c.prepare("INSERT INTO t VALUES (?, ?)");
    let bulk = |rows: &[(u8, u8)]| {
        let mut body = ok.statement_id.to_le_bytes().to_vec();
        body.extend_from_slice(&[128, 0, 1, 0, 1, 0]);
        rows.iter().for_each(|(a, b)| body.extend_from_slice(&[0, *a, 0, *b]));
        body
    };
    c.command(code::STMT_BULK_EXECUTE, &bulk(&[(4, 40), (1, 1)]));
    assert!(matches!(c.reply(), Reply::Error(1062, _)));
    assert_eq!(c.rows("SELECT COUNT(*) FROM t"), "3");
    c.command(code::STMT_BULK_EXECUTE, &bulk(&[(4, 40), (5, 50)]));
    assert!(matches!(c.reply(), Reply::Ok { affected: 2, status, .. } if status == Status::AUTOCOMMIT));
    assert_eq!(c.rows("SELECT a, b FROM t WHERE a > 3"), "4,40;5,50");
}

#[test]
fn show_describes_what_is_there() {
    let server = server();
    let mut c = with_table(&server);
    assert_eq!(c.rows("SHOW TABLES"), "t");
    assert_eq!(c.rows("SHOW COLUMNS FROM t"), "a,int(11),NO,PRI,NULL,;b,int(11),YES,,NULL,");
    assert_eq!(c.rows("SHOW VARIABLES WHERE Variable_name = 'autocommit'"), "autocommit,ON");
    assert_eq!(c.rows("SHOW TABLES LIKE 'x%'"), "");
    assert_eq!(c.rows("SHOW CREATE DATABASE test").split(',').next(), Some("test"));
    assert!(c.rows("SHOW CREATE TABLE t").contains("PRIMARY KEY (`a`)"));
    assert!(c.rows("SHOW INDEX FROM t").starts_with("t,0,PRIMARY,1,a,A,3,"));
    assert!(c.rows("SHOW ENGINE INNODB STATUS").contains("Log sequence number"));
    assert_eq!(c.rows("SHOW STATUS LIKE 'com_create_table'"), "Com_create_table,1");
    assert_eq!(c.error("SHOW COLUMNS FROM nope"), 1146);
    for sql in [
        "SHOW DATABASES",
        "SHOW ENGINES",
        "SHOW PLUGINS",
        "SHOW CHARACTER SET",
        "SHOW COLLATION",
        "SHOW PRIVILEGES",
        "SHOW GRANTS",
        "SHOW MASTER STATUS",
        "SHOW BINARY LOGS",
        "SHOW SLAVE HOSTS",
        "SHOW TABLE STATUS",
        "SHOW OPEN TABLES",
        "SHOW TRIGGERS",
        "SHOW EVENTS",
        "SHOW PROCEDURE STATUS",
        "SHOW FULL PROCESSLIST",
        "EXPLAIN SELECT * FROM t WHERE a = 1",
    ] {
        c.rows(sql);
    }
}

#[test]
fn each_plugin_lets_in_who_knows_the_password() {
    let server = server();
    let mut root = Client::root(&server);
    root.query("CREATE USER e IDENTIFIED VIA ed25519 USING PASSWORD('pe')");
    root.query("CREATE USER s IDENTIFIED VIA caching_sha2_password USING PASSWORD('ps')");
    root.query(
        "CREATE USER m IDENTIFIED VIA ed25519 USING PASSWORD('a') OR mysql_native_password USING PASSWORD('b')",
    );
    let log_in = |user: &str, password: &[u8]| {
        let outcome = Client::log_in(&server, user, password, wire::auth::NATIVE_PASSWORD);
        outcome.map(|mut c| c.rows("SELECT CURRENT_USER()")).map_err(|(code, _)| code)
    };
    for (user, right) in [("e", b"pe"), ("s", b"ps")] {
        assert_eq!(log_in(user, b"wrong"), Err(1045), "{user}");
        assert_eq!(log_in(user, b""), Err(1045), "{user}");
        assert_eq!(log_in(user, right), Ok(format!("{user}@%")));
    }
    assert_eq!(log_in("m", b"a"), Ok("m@%".to_owned()));
    root.query("ALTER USER s IDENTIFIED VIA caching_sha2_password USING PASSWORD('new')");
    assert_eq!(log_in("s", b"ps"), Err(1045));
    assert_eq!(log_in("s", b"new"), Ok("s@%".to_owned()));
}
