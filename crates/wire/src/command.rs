//! Commands: the first byte of a client's packet and what follows it.

use crate::Capabilities;
use crate::lenenc::nul_string;
use crate::login::ChangeUser;
use crate::statement::{BulkExecute, Execute};
use base::{Corruption, Put, Reader};

/// Command bytes.
pub mod code {
    pub const SLEEP: u8 = 0x00;
    pub const QUIT: u8 = 0x01;
    pub const INIT_DB: u8 = 0x02;
    pub const QUERY: u8 = 0x03;
    pub const FIELD_LIST: u8 = 0x04;
    pub const CREATE_DB: u8 = 0x05;
    pub const DROP_DB: u8 = 0x06;
    pub const REFRESH: u8 = 0x07;
    pub const SHUTDOWN: u8 = 0x08;
    pub const STATISTICS: u8 = 0x09;
    pub const PROCESS_INFO: u8 = 0x0a;
    pub const PROCESS_KILL: u8 = 0x0c;
    pub const DEBUG: u8 = 0x0d;
    pub const PING: u8 = 0x0e;
    pub const CHANGE_USER: u8 = 0x11;
    pub const BINLOG_DUMP: u8 = 0x12;
    pub const REGISTER_SLAVE: u8 = 0x15;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const STMT_RESET: u8 = 0x1a;
    pub const SET_OPTION: u8 = 0x1b;
    pub const STMT_FETCH: u8 = 0x1c;
    pub const RESET_CONNECTION: u8 = 0x1f;
    pub const STMT_BULK_EXECUTE: u8 = 0xfa;
}

/// Bits of the flags of COM_BINLOG_DUMP.
pub mod dump_flags {
    /// An EOF packet at the end of the log instead of waiting.
    pub const NON_BLOCK: u16 = 1;
    pub const SEND_ANNOTATE_ROWS: u16 = 2;
}

/// One decoded command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command<'a> {
    Quit,
    InitDb(&'a [u8]),
    Query(&'a [u8]),
    FieldList {
        table: &'a [u8],
        wild: &'a [u8],
    },
    Refresh(u8),
    Shutdown,
    Statistics,
    ProcessInfo,
    ProcessKill(u32),
    Debug,
    Ping,
    ChangeUser(ChangeUser<'a>),
    /// `position u32 | flags u16 (see [`dump_flags`]) | server id u32 | file, to the end; a name of NULs only is no name`
    BinlogDump {
        position: u32,
        flags: u16,
        server_id: u32,
        file: &'a [u8],
    },
    /// `server id u32 | host, user, password: length u8 and bytes | port u16 | rank u32 = 0 | master's id u32 = 0`
    RegisterSlave {
        server_id: u32,
        host: &'a [u8],
        user: &'a [u8],
        password: &'a [u8],
        port: u16,
    },
    StmtPrepare(&'a [u8]),
    StmtExecute(Execute<'a>),
    StmtBulkExecute(BulkExecute<'a>),
    StmtSendLongData {
        statement_id: u32,
        parameter: u16,
        data: &'a [u8],
    },
    StmtClose(u32),
    StmtReset(u32),
    StmtFetch {
        statement_id: u32,
        rows: u32,
    },
    /// 0 = multi statements on, 1 = off.
    SetOption(u16),
    ResetConnection,
    /// A command byte that is not known or not served here.
    Unknown(u8),
}

impl<'a> Command<'a> {
    /// `caps` are the agreed capabilities: they shape COM_CHANGE_USER.
    pub fn decode(payload: &'a [u8], caps: Capabilities) -> Result<Self, Corruption> {
        let mut r = Reader::new(payload);
        let command = r.u8("command")?;
        let rest = r.rest();
        Ok(match command {
            code::QUIT => Self::Quit,
            code::INIT_DB => Self::InitDb(rest),
            code::QUERY => Self::Query(rest),
            code::FIELD_LIST => Self::FieldList { table: nul_string(&mut r, "table")?, wild: r.rest() },
            code::REFRESH => Self::Refresh(r.u8("refresh flags")?),
            code::SHUTDOWN => Self::Shutdown,
            code::STATISTICS => Self::Statistics,
            code::PROCESS_INFO => Self::ProcessInfo,
            code::PROCESS_KILL => Self::ProcessKill(r.u32("connection id")?),
            code::DEBUG => Self::Debug,
            code::PING => Self::Ping,
            code::CHANGE_USER => Self::ChangeUser(ChangeUser::decode(rest, caps)?),
            code::BINLOG_DUMP => Self::BinlogDump {
                position: r.u32("position")?,
                flags: r.u16("flags")?,
                server_id: r.u32("server id")?,
                file: if r.rest().iter().all(|b| *b == 0) { b"" } else { r.rest() },
            },
            code::REGISTER_SLAVE => register_slave(&mut r)?,
            code::STMT_PREPARE => Self::StmtPrepare(rest),
            code::STMT_EXECUTE => Self::StmtExecute(Execute::decode(rest)?),
            code::STMT_BULK_EXECUTE => Self::StmtBulkExecute(BulkExecute::decode(rest)?),
            code::STMT_SEND_LONG_DATA => Self::StmtSendLongData {
                statement_id: r.u32("statement id")?,
                parameter: r.u16("parameter")?,
                data: r.rest(),
            },
            code::STMT_CLOSE => Self::StmtClose(r.u32("statement id")?),
            code::STMT_RESET => Self::StmtReset(r.u32("statement id")?),
            code::STMT_FETCH => {
                Self::StmtFetch { statement_id: r.u32("statement id")?, rows: r.u32("rows")? }
            }
            code::SET_OPTION => Self::SetOption(r.u16("option")?),
            code::RESET_CONNECTION => Self::ResetConnection,
            other => Self::Unknown(other),
        })
    }

    /// The client's side for commands without a structure of their own: command byte and body.
    pub fn encode_raw(out: &mut Vec<u8>, command: u8, body: &[u8]) {
        out.put_u8(command);
        out.put(body);
    }

    /// The replica's COM_BINLOG_DUMP.
    pub fn encode_binlog_dump(out: &mut Vec<u8>, position: u32, flags: u16, server_id: u32, file: &[u8]) {
        out.put_u8(code::BINLOG_DUMP);
        out.put_u32(position);
        out.put_u16(flags);
        out.put_u32(server_id);
        out.put(file);
    }

    /// The replica's COM_REGISTER_SLAVE; texts have at most 255 bytes.
    pub fn encode_register_slave(out: &mut Vec<u8>, server_id: u32, texts: [&[u8]; 3], port: u16) {
        out.put_u8(code::REGISTER_SLAVE);
        out.put_u32(server_id);
        for text in texts {
            assert!(text.len() <= 255, "a text of {} bytes", text.len());
            out.put_u8(text.len() as u8);
            out.put(text);
        }
        out.put_u16(port);
        out.put_u32(0);
        out.put_u32(0);
    }
}

fn register_slave<'a>(r: &mut Reader<'a>) -> Result<Command<'a>, Corruption> {
    let server_id = r.u32("server id")?;
    let mut text = |field| {
        let len = usize::from(r.u8(field)?);
        r.bytes(len, field)
    };
    let (host, user, password) = (text("host")?, text("user")?, text("password")?);
    let port = r.u16("port")?;
    Ok(Command::RegisterSlave { server_id, host, user, password, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_commands_decode() {
        let caps = Capabilities::SERVER;
        assert_eq!(Command::decode(b"\x03SELECT 1", caps), Ok(Command::Query(b"SELECT 1")));
        assert_eq!(Command::decode(b"\x0e", caps), Ok(Command::Ping));
        assert_eq!(
            Command::decode(b"\x04t1\0a%", caps),
            Ok(Command::FieldList { table: b"t1", wild: b"a%" })
        );
        assert_eq!(Command::decode(b"\x0c\x05\0\0\0", caps), Ok(Command::ProcessKill(5)));
        let mut dump = Vec::new();
        Command::encode_binlog_dump(&mut dump, 4, dump_flags::SEND_ANNOTATE_ROWS, 7, b"\0\0");
        assert_eq!(
            Command::decode(&dump, caps),
            Ok(Command::BinlogDump { position: 4, flags: 2, server_id: 7, file: b"" })
        );
        let mut register = Vec::new();
        Command::encode_register_slave(&mut register, 7, [b"h", b"", b"p"], 3306);
        assert_eq!(register[1..], *b"\x07\0\0\0\x01h\0\x01p\xea\x0c\0\0\0\0\0\0\0\0");
        assert_eq!(
            Command::decode(&register, caps),
            Ok(Command::RegisterSlave { server_id: 7, host: b"h", user: b"", password: b"p", port: 3306 })
        );
        assert!(Command::decode(&register[..9], caps).is_err());
        assert_eq!(Command::decode(b"\x77", caps), Ok(Command::Unknown(0x77)));
        assert!(Command::decode(b"", caps).is_err());
        assert!(Command::decode(b"\x1c\x01\0\0\0", caps).is_err());
    }
}
