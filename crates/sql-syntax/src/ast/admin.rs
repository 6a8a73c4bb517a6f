//! Maintenance of tables and of the server, replication, XA.

use super::{Expr, Ident, NameValue, ObjectName};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableAdmin<'a> {
    pub action: AdminAction<'a>,
    /// `NO_WRITE_TO_BINLOG` or `LOCAL`
    pub local: bool,
    pub tables: &'a [ObjectName<'a>],
    /// CHECK and REPAIR VIEW
    pub view: bool,
    pub wait: super::LockWait,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AdminAction<'a> {
    /// QUICK, FAST, MEDIUM, EXTENDED, CHANGED, FOR UPGRADE
    Check(&'a [CheckOption]),
    /// `QUICK`: live checksum only; `EXTENDED`: always scan.
    Checksum {
        quick: bool,
        extended: bool,
    },
    Analyze(PersistentFor<'a>),
    Optimize,
    /// QUICK, EXTENDED, USE_FRM, FORCE, FOR UPGRADE, FROM MYSQL
    Repair(&'a [CheckOption]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckOption {
    Quick,
    Fast,
    Medium,
    Extended,
    Changed,
    ForUpgrade,
    UseFrm,
    Force,
    FromMysql,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PersistentFor<'a> {
    Default,
    All,
    /// `None`: ALL of that kind.
    Parts {
        columns: Option<&'a [Ident<'a>]>,
        indexes: Option<&'a [Ident<'a>]>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flush<'a> {
    pub local: bool,
    pub what: FlushWhat<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlushWhat<'a> {
    Tables { tables: &'a [ObjectName<'a>], mode: FlushTables, wait: super::LockWait },
    Items(&'a [FlushItem<'a>]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlushTables {
    Close,
    WithReadLock,
    ForExport,
    WithReadLockAndDisableCheckpoint,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlushItem<'a> {
    Logs,
    BinaryLogs {
        delete_domains: Option<&'a [u64]>,
    },
    ErrorLogs,
    EngineLogs,
    GeneralLogs,
    SlowLogs,
    RelayLogs {
        connection: Option<&'a [u8]>,
    },
    Hosts,
    Privileges,
    QueryCache,
    Status {
        global: bool,
        session: bool,
    },
    Slave {
        connection: Option<&'a [u8]>,
    },
    Master,
    UserResources,
    Ssl,
    DesKeyFile,
    /// By the name of a plugin: USER_STATISTICS ...
    Plugin(Ident<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reset<'a> {
    pub items: &'a [ResetItem<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResetItem<'a> {
    Master { to: Option<u64> },
    Slave { connection: Option<&'a [u8]>, all: bool },
    QueryCache,
}

/// `CACHE INDEX ... IN cache`, `LOAD INDEX INTO CACHE ...`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheIndex<'a> {
    /// `None`: LOAD INDEX INTO CACHE.
    pub cache: Option<Ident<'a>>,
    pub tables: &'a [CacheTable<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheTable<'a> {
    pub name: ObjectName<'a>,
    pub indexes: &'a [Ident<'a>],
    pub ignore_leaves: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plugin<'a> {
    pub install: bool,
    pub if_exists: bool,
    /// `None`: all of the library.
    pub name: Option<Ident<'a>>,
    pub soname: Option<&'a [u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Backup<'a> {
    /// START, FLUSH, BLOCK_DDL, BLOCK_COMMIT, END
    Stage(Ident<'a>),
    Lock(&'a ObjectName<'a>),
    Unlock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xid<'a> {
    pub gtrid: &'a [u8],
    pub bqual: &'a [u8],
    pub format: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Xa<'a> {
    Start { xid: &'a Xid<'a>, join: bool, resume: bool },
    End { xid: &'a Xid<'a>, suspend: bool, for_migrate: bool },
    Prepare(&'a Xid<'a>),
    Commit { xid: &'a Xid<'a>, one_phase: bool },
    Rollback(&'a Xid<'a>),
    Recover { sql_format: bool },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PurgeLogs<'a> {
    To(&'a [u8]),
    Before(Expr<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeMaster<'a> {
    pub connection: Option<&'a [u8]>,
    pub options: &'a [MasterOption<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MasterOption<'a> {
    /// MASTER_HOST, MASTER_LOG_FILE, MASTER_PORT, ... = text or number or word or DEFAULT
    Value(NameValue<'a>),
    /// IGNORE_DOMAIN_IDS, IGNORE_SERVER_IDS, DO_DOMAIN_IDS
    Ids { name: Ident<'a>, ids: &'a [u64] },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlaveStatement<'a> {
    pub start: bool,
    /// `ALL SLAVES`
    pub all: bool,
    pub connection: Option<&'a [u8]>,
    /// Neither: both.
    pub sql_thread: bool,
    pub io_thread: bool,
    pub until: Option<SlaveUntil<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlaveUntil<'a> {
    /// MASTER_LOG_FILE, MASTER_LOG_POS, RELAY_LOG_FILE, RELAY_LOG_POS
    Positions(&'a [NameValue<'a>]),
    GtidPosition {
        position: &'a [u8],
        before: bool,
    },
}
