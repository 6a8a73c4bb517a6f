//! The first words of a statement, and the small statements.

use super::*;

impl<'a> Parser<'a> {
    pub(super) fn statement(&mut self) -> R<Statement<'a>> {
        self.enter()?;
        let statement = match self.token.tok {
            Tok::Char(b'(') => self.query_statement()?,
            Tok::Word => self.statement_by_word()?,
            _ => return Err(Fail::Syntax),
        };
        self.leave();
        Ok(statement)
    }

    fn statement_by_word(&mut self) -> R<Statement<'a>> {
        match self.token.kw {
            Kw::SELECT | Kw::VALUES | Kw::WITH => self.query_statement(),
            Kw::INSERT | Kw::REPLACE => self.insert(),
            Kw::UPDATE => self.update(),
            Kw::DELETE => self.delete(),
            Kw::SET => self.set(),
            Kw::BEGIN => self.begin(),
            Kw::START => self.start(),
            Kw::COMMIT | Kw::ROLLBACK => self.commit_or_rollback(),
            Kw::SAVEPOINT => {
                self.bump();
                Ok(Statement::Transaction(TransactionStatement::Savepoint(self.ident()?)))
            }
            Kw::RELEASE => {
                self.bump();
                self.expect_kw(Kw::SAVEPOINT)?;
                Ok(Statement::Transaction(TransactionStatement::Release(self.ident()?)))
            }
            Kw::SHOW => self.show(),
            Kw::USE => {
                self.bump();
                Ok(Statement::Use(self.ident()?))
            }
            Kw::CREATE => self.create(),
            Kw::DROP => self.drop(),
            Kw::ALTER => self.alter(),
            Kw::TRUNCATE => self.truncate(),
            Kw::RENAME => self.rename(),
            Kw::EXPLAIN | Kw::DESCRIBE | Kw::DESC => self.explain(),
            Kw::LOCK | Kw::UNLOCK => self.lock_tables(),
            Kw::PREPARE => self.prepare(),
            Kw::EXECUTE => self.execute(),
            Kw::DEALLOCATE => {
                self.bump();
                self.expect_kw(Kw::PREPARE)?;
                Ok(Statement::Deallocate(self.ident()?))
            }
            Kw::KILL => self.kill(),
            Kw::CALL => self.call_statement(),
            Kw::DO => self.do_statement(),
            Kw::LOAD => self.load(),
            Kw::HANDLER => self.handler(),
            _ => self.admin_statement(),
        }
    }

    fn admin_statement(&mut self) -> R<Statement<'a>> {
        match self.token.kw {
            Kw::ANALYZE if !self.analyze_table_ahead() => self.analyze_statement(),
            Kw::CHECK | Kw::CHECKSUM | Kw::ANALYZE | Kw::OPTIMIZE | Kw::REPAIR => self.table_admin(),
            Kw::FLUSH => self.flush(),
            Kw::RESET => self.reset(),
            Kw::CACHE => self.cache_index(),
            Kw::INSTALL | Kw::UNINSTALL => self.plugin(),
            Kw::GRANT => self.grant(),
            Kw::REVOKE => self.revoke(),
            Kw::XA => self.xa(),
            Kw::BINLOG => self.binlog(),
            Kw::PURGE => self.purge(),
            Kw::CHANGE => self.change_master(),
            Kw::STOP => self.stop(),
            Kw::BACKUP => self.backup(),
            Kw::HELP => {
                self.bump();
                Ok(Statement::Help(self.ident_or_text()?.0))
            }
            Kw::SHUTDOWN => {
                self.bump();
                let mut wait_for_slaves = false;
                if self.eat_kw(Kw::WAIT) {
                    self.expect_kw(Kw::FOR)?;
                    self.expect_kw(Kw::ALL)?;
                    self.one_of(&[Kw::SLAVES, Kw::REPLICAS])?;
                    wait_for_slaves = true;
                }
                Ok(Statement::Shutdown { wait_for_slaves })
            }
            Kw::SIGNAL | Kw::RESIGNAL => self.signal(),
            Kw::GET => self.get_diagnostics(),
            Kw::IF | Kw::CASE | Kw::LOOP | Kw::WHILE | Kw::REPEAT | Kw::FOR => self.compound(),
            _ => Err(Fail::Syntax),
        }
    }

    // Transactions.

    fn begin(&mut self) -> R<Statement<'a>> {
        if self.peek().kw == Kw::NOT {
            return self.compound();
        }
        self.bump();
        self.eat_kw(Kw::WORK);
        Ok(Statement::Transaction(TransactionStatement::Begin { consistent_snapshot: false, access: None }))
    }

    /// START TRANSACTION, START SLAVE.
    fn start(&mut self) -> R<Statement<'a>> {
        if self.peek().kw != Kw::TRANSACTION {
            return self.start_slave();
        }
        self.bump();
        self.bump();
        let (mut consistent_snapshot, mut access) = (false, None);
        if self.is_any(&[Kw::WITH, Kw::READ]) {
            loop {
                if self.eat_kw(Kw::WITH) {
                    self.expect_kw(Kw::CONSISTENT)?;
                    self.expect_kw(Kw::SNAPSHOT)?;
                    consistent_snapshot = true;
                } else {
                    let mode = self.access_mode()?;
                    if access.is_some_and(|a| a != mode) {
                        return Err(Fail::Syntax);
                    }
                    access = Some(mode);
                }
                if !self.eat(b',') {
                    break;
                }
            }
        }
        Ok(Statement::Transaction(TransactionStatement::Begin { consistent_snapshot, access }))
    }

    /// `READ ONLY`, `READ WRITE`
    pub(super) fn access_mode(&mut self) -> R<AccessMode> {
        self.expect_kw(Kw::READ)?;
        Ok(match self.one_of(&[Kw::ONLY, Kw::WRITE])? {
            Kw::ONLY => AccessMode::ReadOnly,
            _ => AccessMode::ReadWrite,
        })
    }

    fn commit_or_rollback(&mut self) -> R<Statement<'a>> {
        let rollback = self.is_kw(Kw::ROLLBACK);
        self.bump();
        self.eat_kw(Kw::WORK);
        if rollback && self.eat_kw(Kw::TO) {
            self.eat_kw(Kw::SAVEPOINT);
            return Ok(Statement::Transaction(TransactionStatement::RollbackTo(self.ident()?)));
        }
        let chain = self.completion_word(Kw::AND, Kw::CHAIN)?;
        let release = self.completion_word(Kw::NO, Kw::RELEASE)?;
        if chain == Some(true) && release == Some(true) {
            return Err(Fail::Syntax);
        }
        let completion = Completion { chain, release };
        Ok(Statement::Transaction(match rollback {
            true => TransactionStatement::Rollback(completion),
            false => TransactionStatement::Commit(completion),
        }))
    }

    /// `[AND [NO] CHAIN]` or `[[NO] RELEASE]`
    fn completion_word(&mut self, lead: Kw, word: Kw) -> R<Option<bool>> {
        if lead == Kw::AND {
            if !self.eat_kw(Kw::AND) {
                return Ok(None);
            }
        } else if !self.is_any(&[Kw::NO, Kw::RELEASE]) {
            return Ok(None);
        }
        let no = self.eat_kw(Kw::NO);
        self.expect_kw(word)?;
        Ok(Some(!no))
    }

    fn lock_tables(&mut self) -> R<Statement<'a>> {
        let unlock = self.is_kw(Kw::UNLOCK);
        self.bump();
        self.one_of(&[Kw::TABLES, Kw::TABLE])?;
        if unlock {
            return Ok(Statement::UnlockTables);
        }
        let tables = self.comma_list(Self::lock_table)?;
        let wait = self.lock_wait()?;
        Ok(Statement::LockTables(self.alloc(LockTables { tables, wait })))
    }

    fn lock_table(&mut self) -> R<LockTable<'a>> {
        let name = self.object_name()?;
        let alias = self.table_alias()?;
        let kind = match self.one_of(&[Kw::READ, Kw::WRITE, Kw::LOW_PRIORITY])? {
            Kw::READ if self.eat_kw(Kw::LOCAL) => TableLock::ReadLocal,
            Kw::READ => TableLock::Read,
            Kw::WRITE if self.eat_kw(Kw::CONCURRENT) => TableLock::WriteConcurrent,
            Kw::WRITE => TableLock::Write,
            _ => {
                self.expect_kw(Kw::WRITE)?;
                TableLock::LowPriorityWrite
            }
        };
        Ok(LockTable { name, alias, kind })
    }

    // Prepared statements.

    fn prepare(&mut self) -> R<Statement<'a>> {
        self.bump();
        let name = self.ident()?;
        self.expect_kw(Kw::FROM)?;
        let source = self.expr()?;
        Ok(Statement::Prepare(self.alloc(Prepare { name, source })))
    }

    fn execute(&mut self) -> R<Statement<'a>> {
        self.bump();
        let source =
            if self.is_kw(Kw::IMMEDIATE) && !matches!(self.peek().kw, Kw::USING) && !self.at_end_next() {
                self.bump();
                ExecuteSource::Immediate(self.expr()?)
            } else {
                ExecuteSource::Name(self.ident()?)
            };
        let params = if self.eat_kw(Kw::USING) { self.comma_list(Self::insert_value)? } else { &[] };
        Ok(Statement::Execute(self.alloc(Execute { source, params })))
    }

    fn at_end_next(&self) -> bool {
        matches!(self.peek().tok, Tok::Eof | Tok::Char(b';'))
    }

    fn kill(&mut self) -> R<Statement<'a>> {
        self.bump();
        let soft = self.is_kw(Kw::SOFT);
        if self.is_any(&[Kw::SOFT, Kw::HARD]) {
            self.bump();
        }
        let mut query = false;
        if self.is_kw(Kw::CONNECTION) {
            self.bump();
        } else if self.eat_kw(Kw::QUERY) {
            query = true;
            if self.eat_kw(Kw::ID) {
                let target = KillTarget::QueryId(self.expr()?);
                return Ok(Statement::Kill(self.alloc(Kill { query, soft, target })));
            }
        }
        let target = if self.eat_kw(Kw::USER) {
            KillTarget::User(self.account()?)
        } else {
            KillTarget::Connection(self.expr()?)
        };
        Ok(Statement::Kill(self.alloc(Kill { query, soft, target })))
    }

    // EXPLAIN and its kin.

    fn explain(&mut self) -> R<Statement<'a>> {
        self.bump();
        let mut kind = ExplainKind::Plain;
        let mut format = ExplainFormat::Table;
        match self.token.kw {
            Kw::EXTENDED if self.peek().tok != Tok::Eof => {
                self.bump();
                kind = ExplainKind::Extended;
            }
            Kw::PARTITIONS if self.peek().tok != Tok::Eof => {
                self.bump();
                kind = ExplainKind::Partitions;
            }
            Kw::FORMAT if self.peek().tok == Tok::Char(b'=') => format = self.explain_format()?,
            _ => {}
        }
        if self.is_kw(Kw::ANALYZE) {
            self.bump();
            kind = ExplainKind::Analyze;
        }
        if self.eat_kw(Kw::FOR) {
            self.expect_kw(Kw::CONNECTION)?;
            let target = ExplainTarget::Connection(self.expr()?);
            return Ok(Statement::Explain(self.alloc(Explain { kind, format, target })));
        }
        if let Some(statement) = self.explainable()? {
            let target = ExplainTarget::Statement(statement);
            return Ok(Statement::Explain(self.alloc(Explain { kind, format, target })));
        }
        if kind != ExplainKind::Plain || format != ExplainFormat::Table {
            return Err(Fail::Syntax);
        }
        let table = self.object_name()?;
        let column = if self.is_text_or_ident() { Some(self.ident_or_text()?.0) } else { None };
        Ok(Statement::Describe(self.alloc(Describe { table, column })))
    }

    fn explain_format(&mut self) -> R<ExplainFormat> {
        self.bump();
        self.expect_equals()?;
        let name = self.ident_or_text()?;
        if name.is("json") {
            Ok(ExplainFormat::Json)
        } else if name.is("traditional") {
            Ok(ExplainFormat::Table)
        } else {
            Err(Fail::Other(1791, format!("Unknown EXPLAIN format name: '{}'", name.text())))
        }
    }

    fn explainable(&mut self) -> R<Option<Statement<'a>>> {
        Ok(Some(match self.token.kw {
            Kw::SELECT | Kw::VALUES | Kw::WITH => self.query_statement()?,
            Kw::INSERT | Kw::REPLACE => self.insert()?,
            Kw::UPDATE => self.update()?,
            Kw::DELETE => self.delete()?,
            _ if self.is(b'(') => self.query_statement()?,
            _ => return Ok(None),
        }))
    }

    /// At ANALYZE: whether it is the statement about tables.
    fn analyze_table_ahead(&self) -> bool {
        matches!(self.peek().kw, Kw::TABLE | Kw::TABLES | Kw::LOCAL | Kw::NO_WRITE_TO_BINLOG)
    }

    /// `ANALYZE [FORMAT = json] statement`
    fn analyze_statement(&mut self) -> R<Statement<'a>> {
        self.bump();
        let format = if self.is_kw(Kw::FORMAT) { self.explain_format()? } else { ExplainFormat::Table };
        let target = ExplainTarget::Statement(self.explainable()?.ok_or(Fail::Syntax)?);
        Ok(Statement::Explain(self.alloc(Explain { kind: ExplainKind::Analyze, format, target })))
    }

    // Diagnostics.

    fn signal(&mut self) -> R<Statement<'a>> {
        let resignal = self.is_kw(Kw::RESIGNAL);
        self.bump();
        let condition = if self.is_kw(Kw::SQLSTATE) {
            Some(SignalCondition::SqlState(self.sqlstate()?))
        } else if self.is_ident() {
            Some(SignalCondition::Name(self.ident()?))
        } else if resignal {
            None
        } else {
            return Err(Fail::Syntax);
        };
        let items = if self.eat_kw(Kw::SET) { self.comma_list(Self::signal_item)? } else { &[] };
        Ok(Statement::Signal(self.alloc(Signal { resignal, condition, items })))
    }

    /// `SQLSTATE [VALUE] 'xxxxx'`
    pub(super) fn sqlstate(&mut self) -> R<&'a [u8]> {
        self.bump();
        self.eat_kw(Kw::VALUE);
        let state = self.string()?;
        let valid = state.len() == 5 && state.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
        if !valid || state.starts_with(b"00") {
            return Err(Fail::Other(1407, format!("Bad SQLSTATE: '{}'", String::from_utf8_lossy(state))));
        }
        Ok(state)
    }

    fn signal_item(&mut self) -> R<(Ident<'a>, Expr<'a>)> {
        #[rustfmt::skip]
        const NAMES: &[Kw] = &[
            Kw::CLASS_ORIGIN, Kw::SUBCLASS_ORIGIN, Kw::CONSTRAINT_CATALOG, Kw::CONSTRAINT_SCHEMA, Kw::CONSTRAINT_NAME,
            Kw::CATALOG_NAME, Kw::SCHEMA_NAME, Kw::TABLE_NAME, Kw::COLUMN_NAME, Kw::CURSOR_NAME, Kw::MESSAGE_TEXT,
            Kw::MYSQL_ERRNO,
        ];
        let name = Ident(self.token_text());
        if !self.is_word("ROW_NUMBER") {
            self.one_of(NAMES)?;
        } else {
            self.bump();
        }
        self.expect_equals()?;
        Ok((name, self.signal_value()?))
    }

    fn get_diagnostics(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.eat_kw(Kw::CURRENT);
        self.expect_kw(Kw::DIAGNOSTICS)?;
        let condition = if self.eat_kw(Kw::CONDITION) { Some(self.condition_number()?) } else { None };
        let items = self.comma_list(|p| p.diagnostics_item(condition.is_some()))?;
        Ok(Statement::GetDiagnostics(self.alloc(GetDiagnostics { condition, items })))
    }

    /// A number, `@variable` or program variable.
    fn condition_number(&mut self) -> R<Expr<'a>> {
        match self.token.tok {
            Tok::AtName => Ok(Expr::UserVariable(self.at_name()?)),
            _ if self.is_ident() => Ok(Expr::Column(self.column_ref()?)),
            Tok::Param | Tok::Char(_) => Err(Fail::Syntax),
            _ => self.primary(),
        }
    }

    /// What SIGNAL assigns: a literal, a variable or a name.
    fn signal_value(&mut self) -> R<Expr<'a>> {
        match self.token.tok {
            Tok::Char(_) | Tok::Function => Err(Fail::Syntax),
            Tok::Word if !self.is_ident() && !self.is_any(&[Kw::NULL, Kw::TRUE, Kw::FALSE]) => {
                Err(Fail::Syntax)
            }
            _ => self.primary(),
        }
    }

    fn diagnostics_item(&mut self, of_condition: bool) -> R<(IntoTarget<'a>, Ident<'a>)> {
        let target = self.target_variable()?;
        self.expect_equals()?;
        let name = Ident(self.token_text());
        #[rustfmt::skip]
        let known: &[Kw] = if of_condition {
            &[
                Kw::CLASS_ORIGIN, Kw::SUBCLASS_ORIGIN, Kw::CONSTRAINT_CATALOG, Kw::CONSTRAINT_SCHEMA,
                Kw::CONSTRAINT_NAME, Kw::CATALOG_NAME, Kw::SCHEMA_NAME, Kw::TABLE_NAME, Kw::COLUMN_NAME,
                Kw::CURSOR_NAME, Kw::MESSAGE_TEXT, Kw::MYSQL_ERRNO, Kw::RETURNED_SQLSTATE, Kw::ROW_NUMBER,
            ]
        } else {
            &[Kw::NUMBER, Kw::ROW_COUNT]
        };
        self.one_of(known)?;
        Ok((target, name))
    }
}
