//! The syntax tree: what a statement says, before any name in it is looked up.
//!
//! Every node is `Copy`, borrows from the arena and from the statement text (`'a`), and owns nothing: a list is
//! `&'a [T]`, a rare or large part is `&'a T`. Nothing is dropped one by one; the arena goes as a whole.
//!
//! | module | statements |
//! | --- | --- |
//! | `expr` | expressions, literals, function calls |
//! | `query` | SELECT, VALUES, WITH, set operations, joins |
//! | `dml` | INSERT, REPLACE, UPDATE, DELETE, LOAD DATA, HANDLER, CALL, DO |
//! | `ddl` | databases, tables, indexes, views, sequences, servers |
//! | `types` | column types, character set attributes |
//! | `session` | SET, SHOW, EXPLAIN, transactions, locks, prepared statements, KILL |
//! | `admin` | table maintenance, FLUSH, plugins, replication, XA |
//! | `account` | users, roles, privileges |
//! | `routine` | stored programs, triggers, events |
//!
//! Invariants:
//! 1. Text is the client's bytes. Identifiers are unquoted, string literals unescaped; neither is checked against a
//!    character set.
//! 2. The height of an expression tree is bounded by `MAX_NESTING`, so recursive consumers need no guard of their own.
//!    AND, OR and set operations are lists: their length is not bounded.

mod account;
mod admin;
mod ddl;
mod dml;
mod expr;
mod query;
mod routine;
mod session;
mod types;

pub use account::*;
pub use admin::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use query::*;
pub use routine::*;
pub use session::*;
pub use types::*;

use std::fmt;

/// An identifier without its quotes, in the client's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ident<'a>(pub &'a [u8]);

impl<'a> Ident<'a> {
    /// Whether this is the ASCII `word`, whatever the case of its letters.
    pub fn is(self, word: &str) -> bool {
        self.0.eq_ignore_ascii_case(word.as_bytes())
    }

    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// For messages: bytes that are not UTF-8 are replaced.
    pub fn text(self) -> std::borrow::Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }
}

impl fmt::Debug for Ident<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.text())
    }
}

impl fmt::Display for Ident<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// `[database.]name` of a table, view, routine, event or sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName<'a> {
    pub database: Option<Ident<'a>>,
    pub name: Ident<'a>,
}

/// `name = value` where the parser does not know the name: engine attributes, server options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NameValue<'a> {
    pub name: Ident<'a>,
    /// `None` is `DEFAULT`.
    pub value: Option<OptionValue<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionValue<'a> {
    Word(Ident<'a>),
    Text(&'a [u8]),
    Number(u64),
}

/// How a CREATE treats an object that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CreateMode {
    pub or_replace: bool,
    pub if_not_exists: bool,
}

/// One statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statement<'a> {
    /// Nothing but comments. A text without even those is error 1065.
    Empty,
    // query
    Query(&'a Query<'a>),
    // dml
    Insert(&'a Insert<'a>),
    Update(&'a Update<'a>),
    Delete(&'a Delete<'a>),
    LoadData(&'a LoadData<'a>),
    Handler(&'a Handler<'a>),
    Call(&'a CallStatement<'a>),
    Do(&'a [Expr<'a>]),
    // ddl
    CreateDatabase(&'a CreateDatabase<'a>),
    AlterDatabase(&'a AlterDatabase<'a>),
    DropDatabase {
        name: Ident<'a>,
        if_exists: bool,
    },
    CreateTable(&'a CreateTable<'a>),
    AlterTable(&'a AlterTable<'a>),
    DropTable(&'a DropTable<'a>),
    TruncateTable(&'a TruncateTable<'a>),
    RenameTable(&'a RenameTable<'a>),
    CreateIndex(&'a CreateIndex<'a>),
    DropIndex(&'a DropIndex<'a>),
    CreateView(&'a CreateView<'a>),
    DropView(&'a DropObjects<'a>),
    CreateSequence(&'a CreateSequence<'a>),
    AlterSequence(&'a AlterSequence<'a>),
    DropSequence(&'a DropObjects<'a>),
    CreateServer(&'a CreateServer<'a>),
    AlterServer(&'a AlterServer<'a>),
    DropServer {
        name: Ident<'a>,
        if_exists: bool,
    },
    // session
    Set(&'a [SetItem<'a>]),
    SetStatement(&'a SetStatement<'a>),
    Show(&'a Show<'a>),
    Explain(&'a Explain<'a>),
    Describe(&'a Describe<'a>),
    Help(&'a [u8]),
    Use(Ident<'a>),
    Transaction(TransactionStatement<'a>),
    LockTables(&'a LockTables<'a>),
    UnlockTables,
    Prepare(&'a Prepare<'a>),
    Execute(&'a Execute<'a>),
    Deallocate(Ident<'a>),
    Kill(&'a Kill<'a>),
    Signal(&'a Signal<'a>),
    GetDiagnostics(&'a GetDiagnostics<'a>),
    // admin
    TableAdmin(&'a TableAdmin<'a>),
    Flush(&'a Flush<'a>),
    Reset(&'a Reset<'a>),
    Cache(&'a CacheIndex<'a>),
    Plugin(&'a Plugin<'a>),
    Backup(Backup<'a>),
    Xa(Xa<'a>),
    Binlog {
        first: &'a [u8],
        second: Option<&'a [u8]>,
    },
    PurgeLogs(&'a PurgeLogs<'a>),
    ChangeMaster(&'a ChangeMaster<'a>),
    Slave(&'a SlaveStatement<'a>),
    Shutdown {
        wait_for_slaves: bool,
    },
    // account
    CreateUser(&'a CreateUser<'a>),
    AlterUser(&'a AlterUser<'a>),
    DropUser(&'a DropUser<'a>),
    RenameUser(&'a [(Account<'a>, Account<'a>)]),
    CreateRole(&'a CreateRole<'a>),
    DropRole(&'a DropUser<'a>),
    Grant(&'a Grant<'a>),
    Revoke(&'a Revoke<'a>),
    // routine
    CreateRoutine(&'a CreateRoutine<'a>),
    AlterRoutine(&'a AlterRoutine<'a>),
    DropRoutine(&'a DropRoutine<'a>),
    CreateTrigger(&'a CreateTrigger<'a>),
    DropTrigger(&'a DropObject<'a>),
    CreateEvent(&'a CreateEvent<'a>),
    AlterEvent(&'a AlterEvent<'a>),
    DropEvent(&'a DropObject<'a>),
    CreatePackage(&'a CreatePackage<'a>),
    /// `BEGIN NOT ATOMIC ... END`, and IF, CASE, LOOP ... outside a routine.
    Compound(&'a ProgramStatement<'a>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_stay_small() {
        assert!(size_of::<Expr<'_>>() <= 40, "Expr: {}", size_of::<Expr<'_>>());
        assert!(size_of::<Statement<'_>>() <= 40, "Statement: {}", size_of::<Statement<'_>>());
        assert!(size_of::<TableRef<'_>>() <= 24);
    }
}
