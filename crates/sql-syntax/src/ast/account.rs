//! Users, roles and privileges.

use super::{CreateMode, Ident, ObjectName};

/// A user or role as named in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account<'a> {
    CurrentUser,
    CurrentRole,
    /// `user@host`; a role, or a user at `%`, when there is no host.
    Name {
        user: &'a [u8],
        host: Option<&'a [u8]>,
    },
    /// `PUBLIC`
    Public,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserSpec<'a> {
    pub account: Account<'a>,
    /// Tried in order (`VIA a OR b`); empty: unchanged, or no password.
    pub auth: &'a [Authentication<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Authentication<'a> {
    /// `None`: `IDENTIFIED BY`, the default plugin.
    pub plugin: Option<Ident<'a>>,
    pub secret: Secret<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secret<'a> {
    None,
    /// `BY 'text'`, `USING PASSWORD('text')`
    Plain(&'a [u8]),
    /// `BY PASSWORD 'hash'`, `USING 'hash'`
    Hash(&'a [u8]),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateUser<'a> {
    pub mode: CreateMode,
    pub users: &'a [UserSpec<'a>],
    pub options: UserOptions<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterUser<'a> {
    pub if_exists: bool,
    pub users: &'a [UserSpec<'a>],
    pub options: UserOptions<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct UserOptions<'a> {
    pub tls: Option<Tls<'a>>,
    pub limits: &'a [(ResourceLimit, u64)],
    pub max_statement_time: Option<&'a [u8]>,
    pub locked: Option<bool>,
    pub expire: Option<PasswordExpire>,
    /// Of GRANT.
    pub grant_option: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tls<'a> {
    None,
    Any,
    X509,
    Specific { cipher: Option<&'a [u8]>, issuer: Option<&'a [u8]>, subject: Option<&'a [u8]> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceLimit {
    QueriesPerHour,
    UpdatesPerHour,
    ConnectionsPerHour,
    UserConnections,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PasswordExpire {
    Now,
    Never,
    Default,
    Days(u64),
}

/// DROP USER, DROP ROLE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropUser<'a> {
    pub if_exists: bool,
    pub accounts: &'a [Account<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateRole<'a> {
    pub mode: CreateMode,
    pub roles: &'a [Account<'a>],
    pub admin: Option<Account<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grant<'a> {
    Privileges {
        privileges: &'a [Privilege<'a>],
        on: GrantObject<'a>,
        to: &'a [UserSpec<'a>],
        options: UserOptions<'a>,
    },
    Roles {
        roles: &'a [Account<'a>],
        to: &'a [UserSpec<'a>],
        admin_option: bool,
    },
    Proxy {
        on: Account<'a>,
        to: &'a [UserSpec<'a>],
        grant_option: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Revoke<'a> {
    Privileges {
        privileges: &'a [Privilege<'a>],
        on: GrantObject<'a>,
        from: &'a [Account<'a>],
    },
    /// `REVOKE ALL PRIVILEGES, GRANT OPTION FROM ...`
    All {
        from: &'a [Account<'a>],
    },
    Roles {
        roles: &'a [Account<'a>],
        from: &'a [Account<'a>],
        admin_option: bool,
    },
    Proxy {
        on: Account<'a>,
        from: &'a [Account<'a>],
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Privilege<'a> {
    pub kind: PrivilegeKind,
    /// Column privileges.
    pub columns: &'a [Ident<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrivilegeKind {
    All,
    Usage,
    Select,
    Insert,
    Update,
    Delete,
    References,
    Index,
    Alter,
    Create,
    Drop,
    Execute,
    Reload,
    Shutdown,
    Process,
    File,
    GrantOption,
    ShowDatabases,
    Super,
    CreateTemporaryTables,
    LockTables,
    ReplicationSlave,
    /// `REPLICATION CLIENT`, `BINLOG MONITOR`
    BinlogMonitor,
    CreateView,
    ShowView,
    CreateRoutine,
    AlterRoutine,
    CreateUser,
    Event,
    Trigger,
    CreateTablespace,
    DeleteHistory,
    SetUser,
    FederatedAdmin,
    ConnectionAdmin,
    ReadOnlyAdmin,
    ReplicationSlaveAdmin,
    ReplicationMasterAdmin,
    BinlogAdmin,
    BinlogReplay,
    SlaveMonitor,
    ShowCreateRoutine,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrantObject<'a> {
    pub kind: GrantObjectKind,
    pub target: GrantTarget<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GrantObjectKind {
    Table,
    Function,
    Procedure,
    Package,
    PackageBody,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GrantTarget<'a> {
    /// `*.*`
    Global,
    /// `*`
    CurrentDatabase,
    /// `db.*`; the name may hold wildcards.
    Database(Ident<'a>),
    Object(ObjectName<'a>),
}
