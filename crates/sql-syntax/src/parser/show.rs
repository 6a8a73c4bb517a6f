//! SHOW.

use super::*;

impl<'a> Parser<'a> {
    pub(super) fn show(&mut self) -> R<Statement<'a>> {
        self.bump();
        let kind = self.show_kind()?;
        let filter = if filtered(&kind) { self.show_filter()? } else { None };
        Ok(Statement::Show(self.alloc(Show { kind, filter })))
    }

    fn show_filter(&mut self) -> R<Option<ShowFilter<'a>>> {
        if self.eat_kw(Kw::LIKE) {
            return Ok(Some(ShowFilter::Like(self.string()?)));
        }
        Ok(self.filter()?.map(ShowFilter::Where))
    }

    fn show_kind(&mut self) -> R<ShowKind<'a>> {
        let kw = self.token.kw;
        if self.is_tok(Tok::Word) {
            let name = Ident(self.token_text());
            let mark = self.mark();
            self.bump();
            return self.show_word(kw, name, mark);
        }
        if self.is_tok(Tok::Function) {
            return self.show_count();
        }
        Err(Fail::Syntax)
    }

    /// `COUNT(*) WARNINGS | ERRORS`
    fn show_count(&mut self) -> R<ShowKind<'a>> {
        if !self.is_kw(Kw::COUNT) {
            return Err(Fail::Syntax);
        }
        self.bump();
        self.expect(b'(')?;
        self.expect(b'*')?;
        self.expect(b')')?;
        Ok(match self.one_of(&[Kw::WARNINGS, Kw::ERRORS])? {
            Kw::WARNINGS => ShowKind::WarningCount,
            _ => ShowKind::ErrorCount,
        })
    }

    /// After the first word.
    fn show_word(&mut self, kw: Kw, name: Ident<'a>, start: Mark<'a>) -> R<ShowKind<'a>> {
        Ok(match kw {
            Kw::DATABASES | Kw::SCHEMAS => ShowKind::Databases,
            Kw::TABLES => ShowKind::Tables { full: false, database: self.in_database()? },
            Kw::FULL => return self.show_full(),
            Kw::TABLE => {
                self.expect_kw(Kw::STATUS)?;
                ShowKind::TableStatus { database: self.in_database()? }
            }
            Kw::OPEN => {
                self.expect_kw(Kw::TABLES)?;
                ShowKind::OpenTables { database: self.in_database()? }
            }
            Kw::TRIGGERS => ShowKind::Triggers { full: false, database: self.in_database()? },
            Kw::EVENTS => ShowKind::Events { database: self.in_database()? },
            Kw::COLUMNS | Kw::FIELDS => ShowKind::Columns { full: false, table: self.in_table()? },
            Kw::INDEX | Kw::INDEXES | Kw::KEYS => ShowKind::Index { table: self.in_table()? },
            Kw::VARIABLES => ShowKind::Variables(Scope::Session),
            Kw::STATUS => ShowKind::Status(Scope::Session),
            Kw::GLOBAL | Kw::SESSION | Kw::LOCAL => {
                let scope = if kw == Kw::GLOBAL { Scope::Global } else { Scope::Session };
                match self.one_of(&[Kw::VARIABLES, Kw::STATUS])? {
                    Kw::VARIABLES => ShowKind::Variables(scope),
                    _ => ShowKind::Status(scope),
                }
            }
            Kw::CREATE => return self.show_create(),
            Kw::PROCEDURE | Kw::FUNCTION | Kw::PACKAGE => return self.show_routine(kw),
            Kw::PROCESSLIST => ShowKind::ProcessList { full: false },
            Kw::WARNINGS => ShowKind::Warnings { limit: self.limit()?.copied() },
            Kw::ERRORS => ShowKind::Errors { limit: self.limit()?.copied() },
            Kw::CHARSET => ShowKind::CharacterSets,
            Kw::CHAR | Kw::CHARACTER => {
                self.expect_kw(Kw::SET)?;
                ShowKind::CharacterSets
            }
            Kw::COLLATION => ShowKind::Collations,
            Kw::ENGINES => ShowKind::Engines,
            Kw::ENGINE => return self.show_engine(),
            Kw::STORAGE => {
                self.expect_kw(Kw::ENGINES)?;
                ShowKind::Engines
            }
            Kw::GRANTS => {
                let account = if self.eat_kw(Kw::FOR) { Some(self.role_or_user()?) } else { None };
                ShowKind::Grants(account)
            }
            _ => return self.show_server(kw, name, start),
        })
    }

    fn show_server(&mut self, kw: Kw, name: Ident<'a>, start: Mark<'a>) -> R<ShowKind<'a>> {
        Ok(match kw {
            Kw::PRIVILEGES => ShowKind::Privileges,
            Kw::PLUGINS => {
                if !self.eat_kw(Kw::SONAME) {
                    ShowKind::Plugins
                } else if self.is_tok(Tok::String) {
                    ShowKind::PluginsSoname(Some(self.string()?))
                } else {
                    ShowKind::PluginsSoname(None)
                }
            }
            Kw::PROFILES => ShowKind::Profiles,
            Kw::PROFILE => return self.show_profile(),
            Kw::AUTHORS => ShowKind::Authors,
            Kw::CONTRIBUTORS => ShowKind::Contributors,
            Kw::BINARY => match self.one_of(&[Kw::LOGS, Kw::LOG])? {
                Kw::LOGS => ShowKind::BinaryLogs,
                _ => {
                    self.expect_kw(Kw::STATUS)?;
                    ShowKind::BinlogStatus
                }
            },
            Kw::MASTER => match self.one_of(&[Kw::LOGS, Kw::STATUS])? {
                Kw::LOGS => ShowKind::BinaryLogs,
                _ => ShowKind::BinlogStatus,
            },
            Kw::BINLOG => match self.one_of(&[Kw::EVENTS, Kw::STATUS])? {
                Kw::STATUS => ShowKind::BinlogStatus,
                _ => return self.show_binlog_events(false),
            },
            Kw::RELAYLOG => return self.show_binlog_events(true),
            Kw::SLAVE | Kw::REPLICA => {
                if self.eat_kw(Kw::HOSTS) {
                    return Ok(ShowKind::SlaveHosts);
                }
                let connection = self.optional_connection()?;
                self.expect_kw(Kw::STATUS)?;
                let connection = if self.eat_kw(Kw::FOR) {
                    self.expect_kw(Kw::CHANNEL)?;
                    Some(self.string()?)
                } else {
                    connection
                };
                ShowKind::SlaveStatus { connection, all: false }
            }
            Kw::ALL => {
                self.one_of(&[Kw::SLAVES, Kw::REPLICAS])?;
                self.expect_kw(Kw::STATUS)?;
                ShowKind::SlaveStatus { connection: None, all: true }
            }
            Kw::EXPLAIN | Kw::ANALYZE => return self.show_explain(kw),
            _ if name.is("LOCALES") => ShowKind::Locales,
            _ if is_show_plugin(name) => ShowKind::Plugin(name),
            _ => {
                self.rewind(start);
                return Err(Fail::Syntax);
            }
        })
    }

    fn show_explain(&mut self, kw: Kw) -> R<ShowKind<'a>> {
        let mut format = ExplainFormat::Table;
        if self.is_kw(Kw::FORMAT) {
            self.bump();
            self.expect_equals()?;
            if self.ident_or_text()?.is("json") {
                format = ExplainFormat::Json;
            }
        }
        self.expect_kw(Kw::FOR)?;
        let connection = self.expr()?;
        Ok(match kw {
            Kw::EXPLAIN if format == ExplainFormat::Table => ShowKind::ExplainFor(connection),
            _ => ShowKind::AnalyzeFor { format, connection },
        })
    }

    fn show_full(&mut self) -> R<ShowKind<'a>> {
        Ok(match self.one_of(&[Kw::TABLES, Kw::COLUMNS, Kw::FIELDS, Kw::PROCESSLIST, Kw::TRIGGERS])? {
            Kw::TABLES => ShowKind::Tables { full: true, database: self.in_database()? },
            Kw::TRIGGERS => ShowKind::Triggers { full: true, database: self.in_database()? },
            Kw::PROCESSLIST => ShowKind::ProcessList { full: true },
            _ => ShowKind::Columns { full: true, table: self.in_table()? },
        })
    }

    /// `[FROM | IN database]`
    fn in_database(&mut self) -> R<Option<Ident<'a>>> {
        if self.is_any(&[Kw::FROM, Kw::IN]) {
            self.bump();
            return Ok(Some(self.ident()?));
        }
        Ok(None)
    }

    /// `FROM table [FROM database]`
    fn in_table(&mut self) -> R<ObjectName<'a>> {
        self.one_of(&[Kw::FROM, Kw::IN])?;
        let mut table = self.object_name()?;
        if let Some(database) = self.in_database()? {
            table.database = Some(database);
        }
        Ok(table)
    }

    fn show_create(&mut self) -> R<ShowKind<'a>> {
        let kw = self.token.kw;
        self.bump();
        Ok(match kw {
            Kw::DATABASE | Kw::SCHEMA => {
                let if_not_exists = self.if_not_exists()?;
                ShowKind::CreateDatabase { if_not_exists, name: self.ident()? }
            }
            Kw::TABLE => ShowKind::CreateTable(self.object_name()?),
            Kw::VIEW => ShowKind::CreateView(self.object_name()?),
            Kw::SEQUENCE => ShowKind::CreateSequence(self.object_name()?),
            Kw::PROCEDURE => ShowKind::CreateProcedure(self.object_name()?),
            Kw::FUNCTION => ShowKind::CreateFunction(self.object_name()?),
            Kw::PACKAGE if self.eat_kw(Kw::BODY) => ShowKind::CreatePackageBody(self.object_name()?),
            Kw::PACKAGE => ShowKind::CreatePackage(self.object_name()?),
            Kw::TRIGGER => ShowKind::CreateTrigger(self.object_name()?),
            Kw::EVENT => ShowKind::CreateEvent(self.object_name()?),
            Kw::SERVER => ShowKind::CreateServer(self.ident_or_text()?),
            Kw::USER => {
                let given = self.is_text_or_ident() || self.is_kw(Kw::CURRENT_USER);
                ShowKind::CreateUser(if given { Some(self.account()?) } else { None })
            }
            _ => return Err(Fail::Syntax),
        })
    }

    fn show_routine(&mut self, kw: Kw) -> R<ShowKind<'a>> {
        let body = kw == Kw::PACKAGE && self.eat_kw(Kw::BODY);
        if self.eat_kw(Kw::STATUS) {
            return Ok(match kw {
                Kw::PROCEDURE => ShowKind::ProcedureStatus,
                Kw::FUNCTION => ShowKind::FunctionStatus,
                _ if body => ShowKind::PackageBodyStatus,
                _ => ShowKind::PackageStatus,
            });
        }
        self.expect_kw(Kw::CODE)?;
        let name = self.object_name()?;
        Ok(match kw {
            Kw::PROCEDURE => ShowKind::ProcedureCode(name),
            Kw::FUNCTION => ShowKind::FunctionCode(name),
            _ if body => ShowKind::PackageBodyCode(name),
            _ => return Err(Fail::Syntax),
        })
    }

    fn show_engine(&mut self) -> R<ShowKind<'a>> {
        let name = if self.eat_kw(Kw::ALL) { None } else { Some(self.ident_or_text()?) };
        let what = match self.one_of(&[Kw::STATUS, Kw::MUTEX, Kw::LOGS])? {
            Kw::STATUS => EngineReport::Status,
            Kw::MUTEX => EngineReport::Mutex,
            _ => EngineReport::Logs,
        };
        Ok(ShowKind::Engine { name, what })
    }

    fn show_profile(&mut self) -> R<ShowKind<'a>> {
        #[rustfmt::skip]
        const KINDS: &[Kw] = &[
            Kw::ALL, Kw::BLOCK, Kw::CONTEXT, Kw::CPU, Kw::IPC, Kw::MEMORY, Kw::PAGE, Kw::SOURCE, Kw::SWAPS,
        ];
        let mut kinds = self.vec();
        while self.is_any(KINDS) {
            let start = self.token.start;
            match self.one_of(KINDS)? {
                Kw::BLOCK => self.expect_kw(Kw::IO)?,
                Kw::CONTEXT => self.expect_kw(Kw::SWITCHES)?,
                Kw::PAGE => self.expect_kw(Kw::FAULTS)?,
                _ => {}
            }
            kinds.push(Ident(self.text_since(start)));
            if !self.eat(b',') {
                break;
            }
        }
        let query = if self.eat_kw(Kw::FOR) {
            self.expect_kw(Kw::QUERY)?;
            Some(self.integer()?)
        } else {
            None
        };
        let limit = self.limit()?.copied();
        Ok(ShowKind::Profile { kinds: kinds.into_bump_slice(), query, limit })
    }

    fn show_binlog_events(&mut self, relay: bool) -> R<ShowKind<'a>> {
        let mut connection = None;
        if relay {
            connection = self.optional_connection()?;
            self.expect_kw(Kw::EVENTS)?;
        }
        let log = if self.eat_kw(Kw::IN) { Some(self.string()?) } else { None };
        let from = if self.eat_kw(Kw::FROM) { Some(self.integer()?) } else { None };
        let limit = self.limit()?.copied();
        if relay && self.eat_kw(Kw::FOR) {
            self.expect_kw(Kw::CHANNEL)?;
            connection = Some(self.string()?);
        }
        Ok(ShowKind::BinlogEvents { connection, log, from, limit, relay })
    }

    pub(super) fn optional_connection(&mut self) -> R<Option<&'a [u8]>> {
        if self.is_tok(Tok::String) { Ok(Some(self.string()?)) } else { Ok(None) }
    }
}

/// Whether LIKE or WHERE may follow.
fn filtered(kind: &ShowKind<'_>) -> bool {
    use ShowKind as K;
    matches!(
        kind,
        K::Databases
            | K::Tables { .. }
            | K::TableStatus { .. }
            | K::OpenTables { .. }
            | K::Triggers { .. }
            | K::Events { .. }
            | K::Columns { .. }
            | K::Index { .. }
            | K::Variables(_)
            | K::Status(_)
            | K::ProcedureStatus
            | K::FunctionStatus
            | K::PackageStatus
            | K::PackageBodyStatus
            | K::CharacterSets
            | K::Collations
            | K::PluginsSoname(None)
            | K::ProcessList { .. }
            | K::Locales
            | K::Plugin(_)
    )
}

/// Tables of INFORMATION_SCHEMA plugins that SHOW knows by name.
fn is_show_plugin(name: Ident<'_>) -> bool {
    const NAMES: [&str; 8] = [
        "CLIENT_STATISTICS",
        "INDEX_STATISTICS",
        "TABLE_STATISTICS",
        "USER_STATISTICS",
        "USER_VARIABLES",
        "QUERY_CACHE_INFO",
        "QUERY_RESPONSE_TIME",
        "WSREP_STATUS",
    ];
    NAMES.iter().any(|n| name.is(n))
}
