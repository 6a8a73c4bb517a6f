//! Bodies of stored programs: blocks, flow control, cursors, handlers.

use super::routine::with_collation;
use super::*;

impl<'a> Parser<'a> {
    /// The one statement that is the body of a routine, trigger or event.
    pub(super) fn program_body(&mut self) -> R<ProgramStatement<'a>> {
        let outer = std::mem::replace(&mut self.in_program, true);
        let body = self.program_statement();
        self.in_program = outer;
        body
    }

    /// A compound statement by itself.
    pub(super) fn compound(&mut self) -> R<Statement<'a>> {
        let block = self.is_kw(Kw::BEGIN);
        let body = if block {
            self.bump();
            self.expect_kw(Kw::NOT)?;
            self.expect_kw(Kw::ATOMIC)?;
            let outer = std::mem::replace(&mut self.in_program, true);
            let body = self.block(None);
            self.in_program = outer;
            body?
        } else {
            self.program_body()?
        };
        Ok(Statement::Compound(self.alloc(body)))
    }

    pub(super) fn label_follows(&self) -> bool {
        self.peek().tok == Tok::Char(b':')
    }

    fn program_statement(&mut self) -> R<ProgramStatement<'a>> {
        self.enter()?;
        let statement = self.program_statement_inner()?;
        self.leave();
        Ok(statement)
    }

    fn program_statement_inner(&mut self) -> R<ProgramStatement<'a>> {
        if self.is_ident() && !starts_statement(self.token.kw) && self.label_follows() {
            let label = self.ident()?;
            self.bump();
            return match self.token.kw {
                Kw::BEGIN => {
                    self.bump();
                    self.block(Some(label))
                }
                Kw::LOOP | Kw::WHILE | Kw::REPEAT | Kw::FOR => self.loop_statement(Some(label)),
                _ => Err(Fail::Syntax),
            };
        }
        match self.token.kw {
            Kw::BEGIN => {
                self.bump();
                if self.eat_kw(Kw::NOT) {
                    self.expect_kw(Kw::ATOMIC)?;
                }
                self.block(None)
            }
            Kw::IF => self.if_statement(),
            Kw::CASE => self.case_statement(),
            Kw::LOOP | Kw::WHILE | Kw::REPEAT | Kw::FOR => self.loop_statement(None),
            Kw::LEAVE => {
                self.bump();
                Ok(ProgramStatement::Leave(self.ident()?))
            }
            Kw::ITERATE => {
                self.bump();
                Ok(ProgramStatement::Iterate(self.ident()?))
            }
            Kw::RETURN => {
                self.bump();
                Ok(ProgramStatement::Return(self.expr()?))
            }
            Kw::OPEN => {
                self.bump();
                let cursor = self.ident()?;
                let args = if self.is(b'(') { self.paren_list_or_empty(Self::expr)? } else { &[] };
                Ok(ProgramStatement::Open { cursor, args })
            }
            Kw::CLOSE => {
                self.bump();
                Ok(ProgramStatement::Close(self.ident()?))
            }
            Kw::FETCH => self.fetch(),
            _ => {
                let start = self.token.start;
                let statement = self.statement()?;
                Ok(ProgramStatement::Sql { statement, text: self.text_since(start) })
            }
        }
    }

    fn fetch(&mut self) -> R<ProgramStatement<'a>> {
        self.bump();
        if self.is_kw(Kw::GROUP) {
            self.bump();
            self.expect_kw(Kw::NEXT)?;
            self.expect_kw(Kw::ROW)?;
            return Ok(ProgramStatement::FetchGroupNextRow);
        }
        if self.is_kw(Kw::NEXT) && self.peek().kw == Kw::FROM {
            self.bump();
        }
        self.eat_kw(Kw::FROM);
        let cursor = self.ident()?;
        self.expect_kw(Kw::INTO)?;
        let into = self.comma_list(Self::target_variable)?;
        Ok(ProgramStatement::Fetch { cursor, into })
    }

    /// Statements, each with its `;`, until one of `ends`.
    fn statements(&mut self, ends: &[Kw]) -> R<&'a [ProgramStatement<'a>]> {
        let mut list = self.vec();
        while !self.is_any(ends) {
            list.push(self.program_statement()?);
            self.expect(b';')?;
        }
        Ok(list.into_bump_slice())
    }

    fn some_statements(&mut self, ends: &[Kw]) -> R<&'a [ProgramStatement<'a>]> {
        let list = self.statements(ends)?;
        if list.is_empty() { Err(Fail::Syntax) } else { Ok(list) }
    }

    /// After BEGIN.
    fn block(&mut self, label: Option<Ident<'a>>) -> R<ProgramStatement<'a>> {
        let mut declarations = self.vec();
        while self.is_kw(Kw::DECLARE) {
            declarations.push(self.declaration()?);
            self.expect(b';')?;
        }
        let statements = self.statements(&[Kw::END])?;
        self.bump();
        self.end_label(label)?;
        let declarations = declarations.into_bump_slice();
        Ok(ProgramStatement::Block(self.alloc(Block { label, declarations, statements })))
    }

    fn end_label(&mut self, label: Option<Ident<'a>>) -> R<()> {
        if !self.is_ident() {
            return Ok(());
        }
        let end = self.ident()?;
        match label {
            Some(label) if label.0.eq_ignore_ascii_case(end.0) => Ok(()),
            _ => Err(Fail::Other(1310, format!("End-label {} without match", end.text()))),
        }
    }

    fn if_statement(&mut self) -> R<ProgramStatement<'a>> {
        let ends = [Kw::ELSEIF, Kw::ELSE, Kw::END];
        let mut branches = self.vec();
        self.bump();
        loop {
            let condition = self.expr()?;
            self.expect_kw(Kw::THEN)?;
            branches.push((condition, self.some_statements(&ends)?));
            if !self.eat_kw(Kw::ELSEIF) {
                break;
            }
        }
        let otherwise = if self.eat_kw(Kw::ELSE) { self.some_statements(&[Kw::END])? } else { &[] };
        self.expect_kw(Kw::END)?;
        self.expect_kw(Kw::IF)?;
        Ok(ProgramStatement::If { branches: branches.into_bump_slice(), otherwise })
    }

    fn case_statement(&mut self) -> R<ProgramStatement<'a>> {
        self.bump();
        let operand = if self.is_kw(Kw::WHEN) { None } else { Some(self.expr()?) };
        let mut whens = self.vec();
        while self.eat_kw(Kw::WHEN) {
            let value = self.expr()?;
            self.expect_kw(Kw::THEN)?;
            whens.push((value, self.some_statements(&[Kw::WHEN, Kw::ELSE, Kw::END])?));
        }
        if whens.is_empty() {
            return Err(Fail::Syntax);
        }
        let otherwise = if self.eat_kw(Kw::ELSE) { Some(self.some_statements(&[Kw::END])?) } else { None };
        self.expect_kw(Kw::END)?;
        self.expect_kw(Kw::CASE)?;
        let case = CaseStatement { operand, whens: whens.into_bump_slice(), otherwise };
        Ok(ProgramStatement::Case(self.alloc(case)))
    }

    fn loop_statement(&mut self, label: Option<Ident<'a>>) -> R<ProgramStatement<'a>> {
        let kw = self.token.kw;
        self.bump();
        let (kind, statements);
        match kw {
            Kw::LOOP => {
                kind = LoopKind::Loop;
                statements = self.some_statements(&[Kw::END])?;
                self.end_of(Kw::LOOP)?;
            }
            Kw::WHILE => {
                kind = LoopKind::While(self.expr()?);
                self.expect_kw(Kw::DO)?;
                statements = self.some_statements(&[Kw::END])?;
                self.end_of(Kw::WHILE)?;
            }
            Kw::REPEAT => {
                statements = self.some_statements(&[Kw::UNTIL])?;
                self.expect_kw(Kw::UNTIL)?;
                kind = LoopKind::Repeat(self.expr()?);
                self.end_of(Kw::REPEAT)?;
            }
            _ => {
                kind = self.for_header()?;
                self.expect_kw(Kw::DO)?;
                statements = self.some_statements(&[Kw::END])?;
                self.end_of(Kw::FOR)?;
            }
        }
        self.end_label(label)?;
        Ok(ProgramStatement::Loop(self.alloc(LoopStatement { label, kind, statements })))
    }

    fn end_of(&mut self, kw: Kw) -> R<()> {
        self.expect_kw(Kw::END)?;
        self.expect_kw(kw)
    }

    /// After FOR: `i IN [REVERSE] low .. high`, `r IN cursor [(args)]`, `r IN (query)`
    fn for_header(&mut self) -> R<LoopKind<'a>> {
        let variable = self.ident()?;
        self.expect_kw(Kw::IN)?;
        if self.is(b'(') && self.query_in_parens_ahead() {
            return Ok(LoopKind::ForQuery { variable, query: self.paren_query()? });
        }
        let reverse = self.is_kw(Kw::REVERSE) && self.peek().tok != Tok::DotDot && self.eat_kw(Kw::REVERSE);
        let low = self.expr()?;
        if self.eat_tok(Tok::DotDot) {
            let high = self.expr()?;
            return Ok(LoopKind::ForRange { variable, reverse, low, high });
        }
        match low {
            Expr::Column(ColumnRef { table: None, name }) if !reverse => {
                Ok(LoopKind::ForCursor { variable, cursor: name, args: &[] })
            }
            Expr::Call(call) if !reverse && call.database.is_none() => {
                Ok(LoopKind::ForCursor { variable, cursor: call.name, args: call.args })
            }
            _ => Err(Fail::Syntax),
        }
    }

    // Declarations.

    fn declaration(&mut self) -> R<Declaration<'a>> {
        self.bump();
        if self.is_any(&[Kw::CONTINUE, Kw::EXIT, Kw::UNDO]) {
            return self.handler_declaration();
        }
        let name = self.ident()?;
        if self.is_kw(Kw::CONDITION) {
            self.bump();
            self.expect_kw(Kw::FOR)?;
            let value = self.condition_value(false)?;
            return Ok(Declaration::Condition { name, value });
        }
        if self.is_kw(Kw::CURSOR) {
            self.bump();
            let params = if self.is(b'(') { self.paren_list_or_empty(Self::cursor_param)? } else { &[] };
            self.expect_kw(Kw::FOR)?;
            let query = if self.is(b'(') || self.is_any(&[Kw::SELECT, Kw::WITH, Kw::VALUES]) {
                CursorQuery::Query(self.query_or_parens()?)
            } else {
                CursorQuery::Prepared(self.ident()?)
            };
            return Ok(Declaration::Cursor { name, params, query });
        }
        let mut names = self.vec();
        names.push(name);
        while self.eat(b',') {
            names.push(self.ident()?);
        }
        let data_type = self.variable_type()?;
        let default = self.variable_default()?;
        Ok(Declaration::Variables { names: names.into_bump_slice(), data_type, default })
    }

    fn cursor_param(&mut self) -> R<Param<'a>> {
        self.eat_kw(Kw::IN);
        let name = self.ident()?;
        let data_type = self.variable_type()?;
        Ok(Param { mode: ParamMode::In, name, data_type, default: None })
    }

    /// `[DEFAULT expr]`
    pub(super) fn variable_default(&mut self) -> R<Option<Expr<'a>>> {
        if self.eat_kw(Kw::DEFAULT) || self.eat_tok(Tok::Assign) {
            return Ok(Some(self.expr()?));
        }
        Ok(None)
    }

    pub(super) fn variable_type(&mut self) -> R<VariableType<'a>> {
        if self.is_kw(Kw::TYPE) && self.peek().kw == Kw::OF {
            self.bump();
            self.bump();
            return Ok(VariableType::TypeOf(self.column_ref()?));
        }
        if self.is_kw(Kw::ROW) {
            self.bump();
            if self.eat_kw(Kw::TYPE) {
                self.expect_kw(Kw::OF)?;
                return Ok(VariableType::RowTypeOf(self.object_name()?));
            }
            return Ok(VariableType::Row(self.paren_list(|p| Ok((p.ident()?, p.collated_type()?)))?));
        }
        Ok(VariableType::Type(self.collated_type()?))
    }

    fn collated_type(&mut self) -> R<DataType<'a>> {
        let data_type = self.data_type()?;
        if self.eat_kw(Kw::COLLATE) {
            let collation = self.charset_name()?;
            return Ok(with_collation(data_type, collation));
        }
        Ok(data_type)
    }

    fn handler_declaration(&mut self) -> R<Declaration<'a>> {
        let kind = match self.one_of(&[Kw::CONTINUE, Kw::EXIT, Kw::UNDO])? {
            Kw::CONTINUE => HandlerKind::Continue,
            Kw::EXIT => HandlerKind::Exit,
            _ => HandlerKind::Undo,
        };
        self.expect_kw(Kw::HANDLER)?;
        self.expect_kw(Kw::FOR)?;
        let conditions = self.comma_list(|p| p.condition_value(true))?;
        let statement = self.program_statement()?;
        Ok(Declaration::Handler { kind, conditions, statement })
    }

    fn condition_value(&mut self, handler: bool) -> R<ConditionValue<'a>> {
        match self.token.kw {
            Kw::SQLSTATE => return Ok(ConditionValue::SqlState(self.sqlstate()?)),
            Kw::SQLWARNING if handler => {
                self.bump();
                return Ok(ConditionValue::SqlWarning);
            }
            Kw::SQLEXCEPTION if handler => {
                self.bump();
                return Ok(ConditionValue::SqlException);
            }
            Kw::NOT if handler => {
                self.bump();
                self.expect_kw(Kw::FOUND)?;
                return Ok(ConditionValue::NotFound);
            }
            _ => {}
        }
        if self.is_tok(Tok::Int) {
            return Ok(ConditionValue::ErrorCode(self.integer()?));
        }
        if handler { Ok(ConditionValue::Name(self.ident()?)) } else { Err(Fail::Syntax) }
    }
}

/// Words that start statements and so are no labels.
fn starts_statement(kw: Kw) -> bool {
    #[rustfmt::skip]
    const WORDS: &[Kw] = &[
        Kw::ASCII, Kw::BACKUP, Kw::BEGIN, Kw::BINLOG, Kw::BYTE, Kw::CACHE, Kw::CHARSET, Kw::CHECKPOINT, Kw::CHECKSUM,
        Kw::CLOSE, Kw::COLUMN_ADD, Kw::COLUMN_CHECK, Kw::COLUMN_CREATE, Kw::COLUMN_DELETE, Kw::COLUMN_GET, Kw::COMMENT,
        Kw::COMMIT, Kw::COMPRESSED, Kw::CONTAINS, Kw::DEALLOCATE, Kw::DO, Kw::END, Kw::EXAMINED, Kw::EXCLUDE,
        Kw::EXECUTE, Kw::FLUSH, Kw::FOLLOWING, Kw::FOLLOWS, Kw::FORMAT, Kw::GET, Kw::HANDLER, Kw::INSTALL, Kw::LANGUAGE,
        Kw::NO, Kw::OPEN, Kw::OPTION, Kw::OPTIONS, Kw::OTHERS, Kw::PARSER, Kw::PERIOD, Kw::PORT, Kw::PRECEDES,
        Kw::PRECEDING, Kw::PREPARE, Kw::REMOVE, Kw::REPAIR, Kw::REPLICA, Kw::REPLICAS, Kw::RESET, Kw::RESTORE,
        Kw::ROLLBACK, Kw::SAVEPOINT, Kw::SECURITY, Kw::SERVER, Kw::SHUTDOWN, Kw::SIGNED, Kw::SLAVE, Kw::SLAVES,
        Kw::SONAME, Kw::START, Kw::STOP, Kw::STORED, Kw::TIES, Kw::TRUNCATE, Kw::UNBOUNDED, Kw::UNICODE, Kw::UNINSTALL,
        Kw::UPGRADE, Kw::WINDOW, Kw::WITHIN, Kw::WRAPPER, Kw::XA,
    ];
    WORDS.contains(&kw)
}
