//! CREATE and ALTER of procedures, functions, triggers, events and packages.

use super::create::CreatePrefix;
use super::*;

impl<'a> Parser<'a> {
    /// At PROCEDURE, FUNCTION or AGGREGATE.
    pub(super) fn create_routine(&mut self, prefix: CreatePrefix<'a>) -> R<Statement<'a>> {
        let aggregate = self.eat_kw(Kw::AGGREGATE);
        if aggregate && self.is_kw(Kw::PROCEDURE) {
            return Err(Fail::Syntax);
        }
        let kind = match self.one_of(&[Kw::PROCEDURE, Kw::FUNCTION])? {
            Kw::PROCEDURE => RoutineKind::Procedure,
            _ => RoutineKind::Function,
        };
        let mut mode = prefix.mode;
        mode.if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        if kind == RoutineKind::Function && prefix.definer.is_none() && self.is_kw(Kw::RETURNS) {
            return self.create_loadable(mode, aggregate, name);
        }
        let function = kind == RoutineKind::Function;
        let start = self.token.start;
        let params = self.paren_list_or_empty(Self::param)?;
        let params_text = self.text_since(start);
        let params_text = &params_text[1.min(params_text.len())..params_text.len().saturating_sub(1).max(1)];
        let returns = if function {
            self.expect_kw(Kw::RETURNS)?;
            Some(self.returns_type()?)
        } else {
            None
        };
        let characteristics = self.characteristics()?;
        let start = self.token.start;
        let statement = self.program_body()?;
        let text = self.text_since(start);
        Ok(Statement::CreateRoutine(self.alloc(CreateRoutine {
            mode,
            kind,
            definer: prefix.definer,
            aggregate,
            name,
            params,
            params_text,
            returns,
            characteristics,
            body: RoutineBody::Sql { statement, text },
        })))
    }

    /// `RETURNS type SONAME 'library'`
    fn create_loadable(
        &mut self,
        mode: CreateMode,
        aggregate: bool,
        name: ObjectName<'a>,
    ) -> R<Statement<'a>> {
        self.bump();
        let kw = self.one_of(&[Kw::STRING, Kw::REAL, Kw::INT, Kw::INTEGER, Kw::DECIMAL])?;
        let plain = Sign::default();
        let returns = Some(match kw {
            Kw::STRING => {
                DataType::Text { size: BlobSize::Normal, length: None, charset: CharsetSpec::default() }
            }
            Kw::REAL => DataType::Double { precision: None, scale: None, sign: plain },
            Kw::DECIMAL => DataType::Decimal { precision: None, scale: None, sign: plain },
            _ => DataType::Int { size: IntSize::Big, width: None, sign: plain },
        });
        self.expect_kw(Kw::SONAME)?;
        let body = RoutineBody::Soname(self.string()?);
        Ok(Statement::CreateRoutine(self.alloc(CreateRoutine {
            mode,
            kind: RoutineKind::Function,
            definer: None,
            aggregate,
            name,
            params: &[],
            params_text: b"",
            returns,
            characteristics: &[],
            body,
        })))
    }

    fn returns_type(&mut self) -> R<DataType<'a>> {
        let data_type = self.data_type()?;
        if self.eat_kw(Kw::COLLATE) {
            let collation = self.charset_name()?;
            return Ok(with_collation(data_type, collation));
        }
        Ok(data_type)
    }

    fn param(&mut self) -> R<Param<'a>> {
        let mut mode = ParamMode::In;
        match self.token.kw {
            Kw::IN => self.bump(),
            Kw::OUT => {
                self.bump();
                mode = ParamMode::Out;
            }
            Kw::INOUT => {
                self.bump();
                mode = ParamMode::InOut;
            }
            _ => {}
        }
        let name = self.ident()?;
        let data_type = self.variable_type()?;
        let default = self.variable_default()?;
        Ok(Param { mode, name, data_type, default })
    }

    pub(super) fn characteristics(&mut self) -> R<&'a [Characteristic<'a>]> {
        let mut list = self.vec();
        loop {
            let characteristic = match self.token.kw {
                Kw::COMMENT => {
                    self.bump();
                    Characteristic::Comment(self.string()?)
                }
                Kw::LANGUAGE => {
                    self.bump();
                    self.expect_kw(Kw::SQL)?;
                    Characteristic::LanguageSql
                }
                Kw::NO if self.peek().kw == Kw::SQL => {
                    self.bump();
                    self.bump();
                    Characteristic::NoSql
                }
                Kw::CONTAINS => {
                    self.bump();
                    self.expect_kw(Kw::SQL)?;
                    Characteristic::ContainsSql
                }
                Kw::READS | Kw::MODIFIES => {
                    let reads = self.is_kw(Kw::READS);
                    self.bump();
                    self.expect_kw(Kw::SQL)?;
                    self.expect_kw(Kw::DATA)?;
                    if reads { Characteristic::ReadsSqlData } else { Characteristic::ModifiesSqlData }
                }
                Kw::SQL => Characteristic::Invoker(self.sql_security()?),
                Kw::DETERMINISTIC => {
                    self.bump();
                    Characteristic::Deterministic(true)
                }
                Kw::NOT if self.peek().kw == Kw::DETERMINISTIC => {
                    self.bump();
                    self.bump();
                    Characteristic::Deterministic(false)
                }
                _ => return Ok(list.into_bump_slice()),
            };
            list.push(characteristic);
        }
    }

    pub(super) fn alter_routine(&mut self) -> R<Statement<'a>> {
        let kind = if self.is_kw(Kw::PROCEDURE) { RoutineKind::Procedure } else { RoutineKind::Function };
        self.bump();
        let name = self.object_name()?;
        let characteristics = self.characteristics()?;
        Ok(Statement::AlterRoutine(self.alloc(AlterRoutine { kind, name, characteristics })))
    }

    /// DROP of routines, packages, triggers and events.
    pub(super) fn drop_program(&mut self) -> R<Statement<'a>> {
        let kind = match self.one_of(&[Kw::PROCEDURE, Kw::FUNCTION, Kw::PACKAGE, Kw::TRIGGER, Kw::EVENT])? {
            kw @ (Kw::TRIGGER | Kw::EVENT) => {
                let if_exists = self.if_exists()?;
                let name = self.object_name()?;
                let drop = self.alloc(DropObject { if_exists, name });
                return Ok(if kw == Kw::EVENT {
                    Statement::DropEvent(drop)
                } else {
                    Statement::DropTrigger(drop)
                });
            }
            Kw::PROCEDURE => DropRoutineKind::Procedure,
            Kw::FUNCTION => DropRoutineKind::Function,
            _ if self.eat_kw(Kw::BODY) => DropRoutineKind::PackageBody,
            _ => DropRoutineKind::Package,
        };
        let if_exists = self.if_exists()?;
        let name = self.object_name()?;
        Ok(Statement::DropRoutine(self.alloc(DropRoutine { kind, if_exists, name })))
    }

    /// At TRIGGER.
    pub(super) fn create_trigger(&mut self, prefix: CreatePrefix<'a>) -> R<Statement<'a>> {
        let head = self.token.start;
        self.bump();
        let mut mode = prefix.mode;
        mode.if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let before = self.one_of(&[Kw::BEFORE, Kw::AFTER])? == Kw::BEFORE;
        let event = match self.one_of(&[Kw::INSERT, Kw::UPDATE, Kw::DELETE])? {
            Kw::INSERT => TriggerEvent::Insert,
            Kw::UPDATE => TriggerEvent::Update,
            _ => TriggerEvent::Delete,
        };
        let on = self.token.start;
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let tail = self.token.start;
        self.expect_kw(Kw::FOR)?;
        self.expect_kw(Kw::EACH)?;
        self.expect_kw(Kw::ROW)?;
        let follows = self.token.start;
        let order = match self.token.kw {
            Kw::FOLLOWS if !self.label_follows() => {
                self.bump();
                Some(TriggerOrder::Follows(self.ident()?))
            }
            Kw::PRECEDES if !self.label_follows() => {
                self.bump();
                Some(TriggerOrder::Precedes(self.ident()?))
            }
            _ => None,
        };
        let start = self.token.start;
        let body = self.program_body()?;
        let text = self.text_since(start);
        let definer = prefix.definer;
        let header = TriggerHeader {
            event: &self.sql[head..on],
            table: &self.sql[on..tail],
            rest: &self.sql[tail..follows],
            order: &self.sql[follows..start],
        };
        let trigger = CreateTrigger { mode, definer, name, before, event, table, order, header, body, text };
        Ok(Statement::CreateTrigger(self.alloc(trigger)))
    }

    /// At EVENT.
    pub(super) fn create_event(&mut self, prefix: CreatePrefix<'a>) -> R<Statement<'a>> {
        let first = self.token.start;
        self.bump();
        let mut mode = prefix.mode;
        mode.if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        self.expect_kw(Kw::ON)?;
        self.expect_kw(Kw::SCHEDULE)?;
        let schedule = self.schedule()?;
        let preserve = self.preserve()?;
        let status = self.event_status()?;
        let comment = if self.eat_kw(Kw::COMMENT) { Some(self.string()?) } else { None };
        self.expect_kw(Kw::DO)?;
        let start = self.token.start;
        let body = self.program_body()?;
        let text = self.text_since(start);
        let definer = prefix.definer;
        let statement = self.text_since(first);
        let event =
            CreateEvent { statement, mode, definer, name, schedule, preserve, status, comment, body, text };
        Ok(Statement::CreateEvent(self.alloc(event)))
    }

    fn schedule(&mut self) -> R<Schedule<'a>> {
        if self.eat_kw(Kw::AT) {
            return Ok(Schedule::At(self.expr()?));
        }
        self.expect_kw(Kw::EVERY)?;
        let amount = self.expr()?;
        let unit = self.interval_unit()?;
        let starts = if self.eat_kw(Kw::STARTS) { Some(self.expr()?) } else { None };
        let ends = if self.eat_kw(Kw::ENDS) { Some(self.expr()?) } else { None };
        Ok(Schedule::Every { amount, unit, starts, ends })
    }

    /// `[ON COMPLETION [NOT] PRESERVE]`
    fn preserve(&mut self) -> R<Option<bool>> {
        if !self.eat_kws(Kw::ON, Kw::COMPLETION) {
            return Ok(None);
        }
        let preserve = !self.eat_kw(Kw::NOT);
        self.expect_kw(Kw::PRESERVE)?;
        Ok(Some(preserve))
    }

    fn event_status(&mut self) -> R<Option<EventStatus>> {
        if self.eat_kw(Kw::ENABLE) {
            return Ok(Some(EventStatus::Enable));
        }
        if !self.eat_kw(Kw::DISABLE) {
            return Ok(None);
        }
        if self.eat_kw(Kw::ON) {
            self.one_of(&[Kw::SLAVE, Kw::REPLICA])?;
            return Ok(Some(EventStatus::DisableOnSlave));
        }
        Ok(Some(EventStatus::Disable))
    }

    /// At EVENT, after ALTER.
    pub(super) fn alter_event(&mut self, prefix: CreatePrefix<'a>) -> R<Statement<'a>> {
        self.bump();
        let name = self.object_name()?;
        let mut event = AlterEvent {
            definer: prefix.definer,
            name,
            schedule: None,
            preserve: None,
            rename: None,
            status: None,
            comment: None,
            body: None,
        };
        let start = self.token.start;
        if self.eat_kws(Kw::ON, Kw::SCHEDULE) {
            event.schedule = Some(self.schedule()?);
        }
        event.preserve = self.preserve()?;
        if self.eat_kw(Kw::RENAME) {
            self.expect_kw(Kw::TO)?;
            event.rename = Some(self.object_name()?);
        }
        event.status = self.event_status()?;
        if self.eat_kw(Kw::COMMENT) {
            event.comment = Some(self.string()?);
        }
        if self.eat_kw(Kw::DO) {
            let start = self.token.start;
            let body = self.program_body()?;
            event.body = Some((body, self.text_since(start)));
        }
        if self.token.start == start {
            return Err(Fail::Syntax);
        }
        Ok(Statement::AlterEvent(self.alloc(event)))
    }

    /// At END: nothing follows but the package's name and a `;`.
    fn last_word_of_package(&self) -> bool {
        let mut lexer = self.lexer;
        let mut next = lexer.next();
        if matches!(next.tok, Tok::Word | Tok::Quoted) {
            next = lexer.next();
        }
        if next.tok == Tok::Char(b';') {
            next = lexer.next();
        }
        next.tok == Tok::Eof
    }

    /// At PACKAGE: the body is kept as text.
    pub(super) fn create_package(&mut self, prefix: CreatePrefix<'a>) -> R<Statement<'a>> {
        self.bump();
        let body = self.eat_kw(Kw::BODY);
        let mut mode = prefix.mode;
        mode.if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let characteristics = self.characteristics()?;
        if self.is_any(&[Kw::AS, Kw::IS]) {
            // sql_mode=ORACLE only.
            return Err(Fail::Syntax);
        }
        let start = self.token.start;
        // END of the package is the last word of the statement.
        while !matches!(self.token.tok, Tok::Eof | Tok::Bad) {
            if self.is_kw(Kw::END) && self.last_word_of_package() {
                let text = self.text_since(start);
                self.bump();
                if self.is_ident() {
                    self.bump();
                }
                let definer = prefix.definer;
                let package = CreatePackage { mode, definer, body, name, characteristics, text };
                return Ok(Statement::CreatePackage(self.alloc(package)));
            }
            self.bump();
        }
        Err(Fail::Syntax)
    }
}

pub(super) fn with_collation<'a>(data_type: DataType<'a>, collation: Ident<'a>) -> DataType<'a> {
    let mut data_type = data_type;
    match &mut data_type {
        DataType::Char { charset, .. }
        | DataType::Varchar { charset, .. }
        | DataType::Text { charset, .. }
        | DataType::Enum { charset, .. }
        | DataType::Set { charset, .. }
        | DataType::Json { charset } => charset.collation = Some(collation),
        _ => {}
    }
    data_type
}
