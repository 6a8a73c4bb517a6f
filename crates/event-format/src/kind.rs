//! The type byte of an event.

use std::fmt;

/// The type byte of an event; values without a name are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventKind(pub u8);

macro_rules! kinds {
    ($($name:ident = $code:literal $text:literal;)*) => {
        impl EventKind {
            $(pub const $name: Self = Self($code);)*

            /// The name that `SHOW BINLOG EVENTS` shows.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    QUERY = 2 "Query";
    STOP = 3 "Stop";
    ROTATE = 4 "Rotate";
    INTVAR = 5 "Intvar";
    APPEND_BLOCK = 9 "Append_block";
    DELETE_FILE = 11 "Delete_file";
    RAND = 13 "RAND";
    USER_VAR = 14 "User var";
    FORMAT_DESCRIPTION = 15 "Format_desc";
    XID = 16 "Xid";
    BEGIN_LOAD_QUERY = 17 "Begin_load_query";
    EXECUTE_LOAD_QUERY = 18 "Execute_load_query";
    TABLE_MAP = 19 "Table_map";
    WRITE_ROWS_V1 = 23 "Write_rows_v1";
    UPDATE_ROWS_V1 = 24 "Update_rows_v1";
    DELETE_ROWS_V1 = 25 "Delete_rows_v1";
    INCIDENT = 26 "Incident";
    HEARTBEAT = 27 "Heartbeat";
    IGNORABLE = 28 "Ignorable";
    ROWS_QUERY = 29 "MySQL Rows_query";
    WRITE_ROWS = 30 "Write_rows";
    UPDATE_ROWS = 31 "Update_rows";
    DELETE_ROWS = 32 "Delete_rows";
    XA_PREPARE = 38 "XA_prepare";
    ANNOTATE = 160 "Annotate_rows";
    BINLOG_CHECKPOINT = 161 "Binlog_checkpoint";
    GTID = 162 "Gtid";
    GTID_LIST = 163 "Gtid_list";
    START_ENCRYPTION = 164 "Start_encryption";
    QUERY_COMPRESSED = 165 "Query_compressed";
    WRITE_ROWS_COMPRESSED_V1 = 166 "Write_rows_compressed_v1";
    UPDATE_ROWS_COMPRESSED_V1 = 167 "Update_rows_compressed_v1";
    DELETE_ROWS_COMPRESSED_V1 = 168 "Delete_rows_compressed_v1";
    WRITE_ROWS_COMPRESSED = 169 "Write_rows_compressed";
    UPDATE_ROWS_COMPRESSED = 170 "Update_rows_compressed";
    DELETE_ROWS_COMPRESSED = 171 "Delete_rows_compressed";
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Unknown({})", self.0),
        }
    }
}
