//! Table maintenance, FLUSH, RESET, key caches, plugins, BACKUP, XA, BINLOG.

use super::*;

impl<'a> Parser<'a> {
    pub(super) fn table_admin(&mut self) -> R<Statement<'a>> {
        let kw = self.token.kw;
        self.bump();
        let local = kw != Kw::CHECK && kw != Kw::CHECKSUM && self.no_binlog();
        let view = self.is_kw(Kw::VIEW) && matches!(kw, Kw::CHECK | Kw::REPAIR);
        if view {
            self.bump();
        } else {
            self.one_of(&[Kw::TABLE, Kw::TABLES])?;
        }
        let mut tables: &[_] = &[];
        let mut action = AdminAction::Optimize;
        if kw == Kw::ANALYZE {
            (tables, action) = self.analyze_tables()?;
        } else {
            tables = if tables.is_empty() { self.object_names()? } else { tables };
        }
        let wait = if kw == Kw::OPTIMIZE { self.lock_wait()? } else { LockWait::Default };
        match kw {
            Kw::CHECK | Kw::REPAIR if view => {
                let wanted = if kw == Kw::CHECK { (Kw::FOR, Kw::UPGRADE) } else { (Kw::FROM, Kw::MYSQL) };
                let upgrade = self.eat_kws(wanted.0, wanted.1);
                action = match kw {
                    Kw::CHECK if upgrade => AdminAction::Check(&[CheckOption::ForUpgrade]),
                    Kw::CHECK => AdminAction::Check(&[]),
                    _ if upgrade => AdminAction::Repair(&[CheckOption::FromMysql]),
                    _ => AdminAction::Repair(&[]),
                };
            }
            Kw::CHECK => action = AdminAction::Check(self.check_options()?),
            Kw::REPAIR => action = AdminAction::Repair(self.check_options()?),
            Kw::CHECKSUM => {
                let quick = self.eat_kw(Kw::QUICK);
                let extended = !quick && self.eat_kw(Kw::EXTENDED);
                action = AdminAction::Checksum { quick, extended };
            }
            _ => {}
        }
        Ok(Statement::TableAdmin(self.alloc(TableAdmin { action, local, tables, view, wait })))
    }

    /// `[NO_WRITE_TO_BINLOG | LOCAL]`
    fn no_binlog(&mut self) -> bool {
        let found = self.is_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]);
        if found {
            self.bump();
        }
        found
    }

    /// `t [PERSISTENT FOR ...], ...`: the last PERSISTENT counts for all.
    fn analyze_tables(&mut self) -> R<(&'a [ObjectName<'a>], AdminAction<'a>)> {
        let mut tables = self.vec();
        let mut persistent = PersistentFor::Default;
        loop {
            tables.push(self.object_name()?);
            if self.eat_kw(Kw::PERSISTENT) {
                self.expect_kw(Kw::FOR)?;
                persistent = self.persistent_for()?;
            }
            if !self.eat(b',') {
                break;
            }
        }
        Ok((tables.into_bump_slice(), AdminAction::Analyze(persistent)))
    }

    fn persistent_for(&mut self) -> R<PersistentFor<'a>> {
        if self.eat_kw(Kw::ALL) {
            return Ok(PersistentFor::All);
        }
        self.expect_kw(Kw::COLUMNS)?;
        let columns = self.all_or_names(Self::ident)?;
        self.expect_kw(Kw::INDEXES)?;
        let indexes = self.all_or_names(Self::index_name)?;
        Ok(PersistentFor::Parts { columns, indexes })
    }

    fn all_or_names(&mut self, name: fn(&mut Self) -> R<Ident<'a>>) -> R<Option<&'a [Ident<'a>]>> {
        if self.eat_kw(Kw::ALL) {
            return Ok(None);
        }
        Ok(Some(self.paren_list_or_empty(name)?))
    }

    pub(super) fn check_options(&mut self) -> R<&'a [CheckOption]> {
        let mut options = self.vec();
        loop {
            options.push(match self.token.kw {
                Kw::QUICK => CheckOption::Quick,
                Kw::FAST => CheckOption::Fast,
                Kw::MEDIUM => CheckOption::Medium,
                Kw::EXTENDED => CheckOption::Extended,
                Kw::CHANGED => CheckOption::Changed,
                Kw::USE_FRM => CheckOption::UseFrm,
                Kw::FORCE => CheckOption::Force,
                Kw::FOR => {
                    self.bump();
                    self.is_kw(Kw::UPGRADE).then_some(()).ok_or(Fail::Syntax)?;
                    CheckOption::ForUpgrade
                }
                _ => return Ok(options.into_bump_slice()),
            });
            self.bump();
        }
    }

    // FLUSH and RESET.

    pub(super) fn flush(&mut self) -> R<Statement<'a>> {
        self.bump();
        let local = self.no_binlog();
        let what = if self.is_any(&[Kw::TABLE, Kw::TABLES]) {
            self.bump();
            self.flush_tables()?
        } else {
            FlushWhat::Items(self.comma_list(Self::flush_item)?)
        };
        Ok(Statement::Flush(self.alloc(Flush { local, what })))
    }

    fn flush_tables(&mut self) -> R<FlushWhat<'a>> {
        let tables = if self.is_ident() { self.object_names()? } else { &[] };
        let wait = self.lock_wait()?;
        let mut mode = FlushTables::Close;
        if self.eat_kw(Kw::WITH) {
            self.expect_kw(Kw::READ)?;
            self.expect_kw(Kw::LOCK)?;
            mode = FlushTables::WithReadLock;
            if self.eat_kw(Kw::AND) {
                self.expect_kw(Kw::DISABLE)?;
                self.expect_kw(Kw::CHECKPOINT)?;
                mode = FlushTables::WithReadLockAndDisableCheckpoint;
            }
        } else if !tables.is_empty() && self.eat_kw(Kw::FOR) {
            self.expect_kw(Kw::EXPORT)?;
            mode = FlushTables::ForExport;
        }
        Ok(FlushWhat::Tables { tables, mode, wait })
    }

    fn flush_item(&mut self) -> R<FlushItem<'a>> {
        let kw = self.token.kw;
        let name = Ident(self.token_text());
        if !self.is_tok(Tok::Word) || kw == Kw::TABLES {
            return Err(Fail::Syntax);
        }
        self.bump();
        Ok(match kw {
            Kw::LOGS => FlushItem::Logs,
            Kw::BINARY => {
                self.expect_kw(Kw::LOGS)?;
                FlushItem::BinaryLogs { delete_domains: self.delete_domains()? }
            }
            Kw::ERROR | Kw::ENGINE | Kw::GENERAL | Kw::SLOW => {
                self.expect_kw(Kw::LOGS)?;
                match kw {
                    Kw::ERROR => FlushItem::ErrorLogs,
                    Kw::ENGINE => FlushItem::EngineLogs,
                    Kw::GENERAL => FlushItem::GeneralLogs,
                    _ => FlushItem::SlowLogs,
                }
            }
            Kw::RELAY => {
                self.expect_kw(Kw::LOGS)?;
                let connection = self.optional_connection()?;
                FlushItem::RelayLogs { connection: self.for_channel(connection)? }
            }
            Kw::HOSTS => FlushItem::Hosts,
            Kw::PRIVILEGES => FlushItem::Privileges,
            Kw::QUERY => {
                self.expect_kw(Kw::CACHE)?;
                FlushItem::QueryCache
            }
            Kw::STATUS => FlushItem::Status { global: false, session: false },
            Kw::GLOBAL | Kw::SESSION | Kw::LOCAL => {
                self.expect_kw(Kw::STATUS)?;
                FlushItem::Status { global: kw == Kw::GLOBAL, session: kw != Kw::GLOBAL }
            }
            Kw::SLAVE | Kw::REPLICA => {
                let connection = self.optional_connection()?;
                FlushItem::Slave { connection: self.for_channel(connection)? }
            }
            Kw::MASTER => FlushItem::Master,
            Kw::USER_RESOURCES => FlushItem::UserResources,
            Kw::SSL => FlushItem::Ssl,
            Kw::DES_KEY_FILE => FlushItem::DesKeyFile,
            _ if !kw.is_reserved() => FlushItem::Plugin(name),
            _ => return Err(Fail::Syntax),
        })
    }

    /// `[FOR CHANNEL 'name']`
    pub(super) fn for_channel(&mut self, connection: Option<&'a [u8]>) -> R<Option<&'a [u8]>> {
        if self.is_kw(Kw::FOR) && self.peek().kw == Kw::CHANNEL {
            self.bump();
            self.bump();
            return Ok(Some(self.string()?));
        }
        Ok(connection)
    }

    /// `[DELETE_DOMAIN_ID = (n, ...)]`
    fn delete_domains(&mut self) -> R<Option<&'a [u64]>> {
        if !self.eat_kw(Kw::DELETE_DOMAIN_ID) {
            return Ok(None);
        }
        self.expect_equals()?;
        Ok(Some(self.paren_list_or_empty(Self::integer)?))
    }

    pub(super) fn reset(&mut self) -> R<Statement<'a>> {
        self.bump();
        let items = self.comma_list(|p| {
            Ok(match p.one_of(&[Kw::MASTER, Kw::SLAVE, Kw::REPLICA, Kw::QUERY])? {
                Kw::MASTER => {
                    ResetItem::Master { to: if p.eat_kw(Kw::TO) { Some(p.integer()?) } else { None } }
                }
                Kw::QUERY => {
                    p.expect_kw(Kw::CACHE)?;
                    ResetItem::QueryCache
                }
                _ => {
                    let connection = p.optional_connection()?;
                    let all = p.eat_kw(Kw::ALL);
                    ResetItem::Slave { connection: p.for_channel(connection)?, all }
                }
            })
        })?;
        Ok(Statement::Reset(self.alloc(Reset { items })))
    }

    // Key caches.

    pub(super) fn cache_index(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.expect_kw(Kw::INDEX)?;
        let tables = self.comma_list(|p| p.cache_table(false))?;
        self.expect_kw(Kw::IN)?;
        let cache = Some(self.word_or_default()?);
        Ok(Statement::Cache(self.alloc(CacheIndex { cache, tables })))
    }

    /// After LOAD INDEX.
    pub(super) fn load_index(&mut self) -> R<Statement<'a>> {
        self.expect_kw(Kw::INTO)?;
        self.expect_kw(Kw::CACHE)?;
        let tables = self.comma_list(|p| p.cache_table(true))?;
        Ok(Statement::Cache(self.alloc(CacheIndex { cache: None, tables })))
    }

    fn cache_table(&mut self, load: bool) -> R<CacheTable<'a>> {
        let name = self.object_name()?;
        if self.eat_kw(Kw::PARTITION) {
            self.expect(b'(')?;
            if !self.eat_kw(Kw::ALL) {
                self.idents()?;
            }
            self.expect(b')')?;
        }
        let indexes = if self.is_any(&[Kw::INDEX, Kw::KEY]) {
            self.bump();
            self.paren_list_or_empty(Self::index_name)?
        } else {
            &[]
        };
        let ignore_leaves = load && self.eat_kw(Kw::IGNORE);
        if ignore_leaves {
            self.expect_kw(Kw::LEAVES)?;
        }
        Ok(CacheTable { name, indexes, ignore_leaves })
    }

    pub(super) fn plugin(&mut self) -> R<Statement<'a>> {
        let install = self.is_kw(Kw::INSTALL);
        self.bump();
        if self.eat_kw(Kw::SONAME) {
            let if_exists = !install && self.if_exists()?;
            let soname = Some(self.string()?);
            return Ok(Statement::Plugin(self.alloc(Plugin { install, if_exists, name: None, soname })));
        }
        self.expect_kw(Kw::PLUGIN)?;
        let if_exists = if install { self.if_not_exists()? } else { self.if_exists()? };
        let name = Some(self.ident()?);
        let mut soname = None;
        if install {
            self.expect_kw(Kw::SONAME)?;
            soname = Some(self.string()?);
        }
        Ok(Statement::Plugin(self.alloc(Plugin { install, if_exists, name, soname })))
    }

    pub(super) fn backup(&mut self) -> R<Statement<'a>> {
        self.bump();
        Ok(Statement::Backup(match self.one_of(&[Kw::STAGE, Kw::LOCK, Kw::UNLOCK])? {
            Kw::STAGE => Backup::Stage(self.ident()?),
            Kw::LOCK => {
                let table = self.object_name()?;
                Backup::Lock(self.alloc(table))
            }
            _ => Backup::Unlock,
        }))
    }

    // XA and BINLOG.

    pub(super) fn xa(&mut self) -> R<Statement<'a>> {
        self.bump();
        let words = [Kw::START, Kw::BEGIN, Kw::END, Kw::PREPARE, Kw::COMMIT, Kw::ROLLBACK, Kw::RECOVER];
        Ok(Statement::Xa(match self.one_of(&words)? {
            Kw::START | Kw::BEGIN => {
                let xid = self.xid()?;
                let join = self.eat_kw(Kw::JOIN);
                let resume = !join && self.eat_kw(Kw::RESUME);
                Xa::Start { xid, join, resume }
            }
            Kw::END => {
                let xid = self.xid()?;
                let suspend = self.eat_kw(Kw::SUSPEND);
                let mut for_migrate = false;
                if suspend && self.eat_kw(Kw::FOR) {
                    self.expect_kw(Kw::MIGRATE)?;
                    for_migrate = true;
                }
                Xa::End { xid, suspend, for_migrate }
            }
            Kw::PREPARE => Xa::Prepare(self.xid()?),
            Kw::COMMIT => {
                let xid = self.xid()?;
                let one_phase = self.eat_kw(Kw::ONE);
                if one_phase {
                    self.expect_kw(Kw::PHASE)?;
                }
                Xa::Commit { xid, one_phase }
            }
            Kw::ROLLBACK => Xa::Rollback(self.xid()?),
            _ => {
                let mut sql_format = false;
                if self.eat_kw(Kw::FORMAT) {
                    self.expect_equals()?;
                    let name = self.string()?;
                    sql_format = name.eq_ignore_ascii_case(b"sql");
                }
                Xa::Recover { sql_format }
            }
        }))
    }

    /// `'gtrid' [, 'bqual' [, format]]`
    fn xid(&mut self) -> R<&'a Xid<'a>> {
        let gtrid = self.file_text()?;
        let mut xid = Xid { gtrid, bqual: &[], format: 1 };
        if self.eat(b',') {
            xid.bqual = self.file_text()?;
            if self.eat(b',') {
                let at = self.token;
                xid.format = self.number()?;
                if i32::try_from(xid.format).is_err() {
                    self.token = at;
                    return Err(Fail::Syntax);
                }
            }
        }
        if xid.gtrid.len() > 64 || xid.bqual.len() > 64 {
            return Err(Fail::Syntax);
        }
        Ok(self.alloc(xid))
    }

    pub(super) fn binlog(&mut self) -> R<Statement<'a>> {
        self.bump();
        if self.is_tok(Tok::String) {
            return Ok(Statement::Binlog { first: self.string()?, second: None });
        }
        // Two fragments in variables.
        let first = self.at_name()?;
        self.expect(b',')?;
        let second = self.at_name()?;
        Ok(Statement::Binlog { first: first.0, second: Some(second.0) })
    }
}
