//! CREATE, DROP, TRUNCATE and RENAME: dispatch, databases, indexes, views, sequences, servers.

use super::*;

/// What may stand between CREATE and the kind of object.
#[derive(Clone, Copy, Default)]
pub(super) struct CreatePrefix<'a> {
    pub(super) mode: CreateMode,
    pub(super) algorithm: Option<Ident<'a>>,
    pub(super) definer: Option<Account<'a>>,
    pub(super) invoker: Option<bool>,
}

impl<'a> Parser<'a> {
    pub(super) fn create(&mut self) -> R<Statement<'a>> {
        self.bump();
        let mut prefix = CreatePrefix::default();
        if self.is_kw(Kw::OR) {
            self.bump();
            self.expect_kw(Kw::REPLACE)?;
            prefix.mode.or_replace = true;
        }
        match self.token.kw {
            Kw::TABLE | Kw::TEMPORARY => self.create_table_or_sequence(prefix.mode),
            Kw::DATABASE | Kw::SCHEMA => self.create_database(prefix.mode),
            Kw::UNIQUE | Kw::FULLTEXT | Kw::SPATIAL | Kw::VECTOR | Kw::INDEX => {
                self.create_index(prefix.mode)
            }
            Kw::SEQUENCE => self.create_sequence(prefix.mode, false),
            Kw::SERVER => self.create_server(prefix.mode),
            Kw::USER => self.create_user(prefix.mode),
            Kw::ROLE => self.create_role(prefix.mode),
            _ => {
                self.create_prefix(&mut prefix)?;
                self.create_program(prefix)
            }
        }
    }

    /// `ALGORITHM = x`, `DEFINER = x`, `SQL SECURITY x`
    fn create_prefix(&mut self, prefix: &mut CreatePrefix<'a>) -> R<()> {
        if self.eat_kw(Kw::ALGORITHM) {
            self.expect_equals()?;
            prefix.algorithm = Some(Ident(self.token_text()));
            self.one_of(&[Kw::UNDEFINED, Kw::MERGE, Kw::TEMPTABLE])?;
        }
        if self.eat_kw(Kw::DEFINER) {
            self.expect_equals()?;
            prefix.definer = Some(self.role_or_user()?);
        }
        if self.is_kw(Kw::SQL) {
            prefix.invoker = Some(self.sql_security()?);
        }
        Ok(())
    }

    /// `SQL SECURITY DEFINER | INVOKER`: whether INVOKER.
    pub(super) fn sql_security(&mut self) -> R<bool> {
        self.expect_kw(Kw::SQL)?;
        self.expect_kw(Kw::SECURITY)?;
        Ok(self.one_of(&[Kw::DEFINER, Kw::INVOKER])? == Kw::INVOKER)
    }

    fn create_program(&mut self, prefix: CreatePrefix<'a>) -> R<Statement<'a>> {
        let plain = prefix.algorithm.is_none() && prefix.invoker.is_none();
        match self.token.kw {
            Kw::VIEW => self.create_view(prefix, false),
            Kw::PROCEDURE | Kw::FUNCTION | Kw::AGGREGATE if plain => self.create_routine(prefix),
            Kw::TRIGGER if plain => self.create_trigger(prefix),
            Kw::EVENT if plain => self.create_event(prefix),
            Kw::PACKAGE if plain => self.create_package(prefix),
            _ => Err(Fail::Syntax),
        }
    }

    fn create_table_or_sequence(&mut self, mode: CreateMode) -> R<Statement<'a>> {
        let temporary = self.eat_kw(Kw::TEMPORARY);
        if self.is_kw(Kw::SEQUENCE) {
            return self.create_sequence(mode, temporary);
        }
        self.expect_kw(Kw::TABLE)?;
        self.create_table(mode, temporary)
    }

    // Databases.

    fn create_database(&mut self, mut mode: CreateMode) -> R<Statement<'a>> {
        self.bump();
        mode.if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        let options = self.database_options()?;
        Ok(Statement::CreateDatabase(self.alloc(CreateDatabase { mode, name, options })))
    }

    fn database_options(&mut self) -> R<DatabaseOptions<'a>> {
        let mut options = DatabaseOptions::default();
        loop {
            let default = self.is_kw(Kw::DEFAULT);
            if default {
                self.bump();
            }
            if self.eat_charset_word()? {
                self.eat_equals();
                options.charset = Some(self.charset_or_default()?);
            } else if self.eat_kw(Kw::COLLATE) {
                self.eat_equals();
                options.collation = Some(self.charset_or_default()?);
            } else if !default && self.eat_kw(Kw::COMMENT) {
                self.eat_equals();
                options.comment = Some(self.string()?);
            } else if default {
                return Err(Fail::Syntax);
            } else {
                return Ok(options);
            }
        }
    }

    pub(super) fn charset_or_default(&mut self) -> R<DefaultOr<'a>> {
        if self.eat_kw(Kw::DEFAULT) {
            return Ok(DefaultOr::Default);
        }
        Ok(DefaultOr::Name(self.charset_name()?))
    }

    pub(super) fn alter_database(&mut self) -> R<Statement<'a>> {
        self.bump();
        let option_word = |p: &Self| {
            p.is_any(&[Kw::DEFAULT, Kw::CHAR, Kw::CHARACTER, Kw::COLLATE])
                || (p.is_any(&[Kw::CHARSET, Kw::COMMENT]) && p.database_option_ahead())
        };
        let name = if option_word(self) { None } else { Some(self.ident()?) };
        if name.is_some() && self.eat_kw(Kw::UPGRADE) {
            self.expect_kw(Kw::DATA)?;
            self.expect_kw(Kw::DIRECTORY)?;
            self.expect_kw(Kw::NAME)?;
            let options = DatabaseOptions::default();
            return Ok(Statement::AlterDatabase(self.alloc(AlterDatabase {
                name,
                options,
                upgrade_name: true,
            })));
        }
        let options = self.database_options()?;
        if options == DatabaseOptions::default() {
            return Err(Fail::Syntax);
        }
        Ok(Statement::AlterDatabase(self.alloc(AlterDatabase { name, options, upgrade_name: false })))
    }

    /// At CHARSET or COMMENT, which may be a database's name.
    fn database_option_ahead(&self) -> bool {
        let next = self.peek();
        matches!(next.tok, Tok::Char(b'=') | Tok::String)
            || (next.tok == Tok::Word && self.is_kw(Kw::CHARSET))
    }

    // Indexes.

    fn create_index(&mut self, mut mode: CreateMode) -> R<Statement<'a>> {
        let kind = match self.token.kw {
            Kw::UNIQUE => IndexKind::Unique,
            Kw::FULLTEXT => IndexKind::Fulltext,
            Kw::SPATIAL => IndexKind::Spatial,
            Kw::VECTOR => IndexKind::Vector,
            _ => IndexKind::Plain,
        };
        if kind != IndexKind::Plain {
            self.bump();
        }
        self.expect_kw(Kw::INDEX)?;
        mode.if_not_exists = self.if_not_exists()?;
        let name = Some(self.ident()?);
        let mut options = self.vec();
        while self.is_any(&[Kw::USING, Kw::TYPE]) {
            options.push(self.index_using()?);
        }
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let (parts, without_overlaps) = self.index_parts_of(kind)?;
        while let Some(option) = self.index_option()? {
            options.push(option);
        }
        let options = options.into_bump_slice();
        let constraint = None;
        let if_not_exists = mode.if_not_exists;
        let index = IndexDef { kind, constraint, if_not_exists, name, parts, without_overlaps, options };
        let wait = self.lock_wait()?;
        let (algorithm, lock) = self.index_alter_options()?;
        Ok(Statement::CreateIndex(self.alloc(CreateIndex { mode, table, index, wait, algorithm, lock })))
    }

    /// `[ALGORITHM = x] [LOCK = x]`, in any order.
    fn index_alter_options(&mut self) -> R<(Option<Ident<'a>>, Option<Ident<'a>>)> {
        let (mut algorithm, mut lock) = (None, None);
        loop {
            if self.eat_kw(Kw::ALGORITHM) {
                self.eat_equals();
                algorithm = Some(self.word_or_default()?);
            } else if self.eat_kw(Kw::LOCK) {
                self.eat_equals();
                lock = Some(self.word_or_default()?);
            } else {
                return Ok((algorithm, lock));
            }
        }
    }

    pub(super) fn word_or_default(&mut self) -> R<Ident<'a>> {
        if self.is_kw(Kw::DEFAULT) { self.name_token() } else { self.ident() }
    }

    // DROP.

    pub(super) fn drop(&mut self) -> R<Statement<'a>> {
        self.bump();
        match self.token.kw {
            Kw::TABLE | Kw::TABLES => self.drop_table(false),
            Kw::TEMPORARY => {
                self.bump();
                match self.token.kw {
                    Kw::SEQUENCE => self.drop_objects(true),
                    Kw::TABLE | Kw::TABLES => self.drop_table(true),
                    _ => Err(Fail::Syntax),
                }
            }
            Kw::DATABASE | Kw::SCHEMA => {
                self.bump();
                let if_exists = self.if_exists()?;
                Ok(Statement::DropDatabase { name: self.ident()?, if_exists })
            }
            Kw::INDEX => self.drop_index(),
            Kw::VIEW | Kw::SEQUENCE => self.drop_objects(false),
            Kw::PREPARE => {
                self.bump();
                Ok(Statement::Deallocate(self.ident()?))
            }
            Kw::SERVER => {
                self.bump();
                let if_exists = self.if_exists()?;
                Ok(Statement::DropServer { name: self.ident_or_text()?, if_exists })
            }
            Kw::USER | Kw::ROLE => self.drop_user(),
            _ => self.drop_program(),
        }
    }

    fn drop_table(&mut self, temporary: bool) -> R<Statement<'a>> {
        self.bump();
        let if_exists = self.if_exists()?;
        let names = self.object_names()?;
        let wait = self.lock_wait()?;
        if self.is_any(&[Kw::RESTRICT, Kw::CASCADE]) {
            self.bump();
        }
        Ok(Statement::DropTable(self.alloc(DropTable { temporary, if_exists, names, wait })))
    }

    fn drop_objects(&mut self, temporary: bool) -> R<Statement<'a>> {
        let view = self.is_kw(Kw::VIEW);
        self.bump();
        let if_exists = self.if_exists()?;
        let names = self.object_names()?;
        if view && self.is_any(&[Kw::RESTRICT, Kw::CASCADE]) {
            self.bump();
        }
        let drop = self.alloc(DropObjects { temporary, if_exists, names });
        Ok(if view { Statement::DropView(drop) } else { Statement::DropSequence(drop) })
    }

    fn drop_index(&mut self) -> R<Statement<'a>> {
        self.bump();
        let if_exists = self.if_exists()?;
        let name = self.ident()?;
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let wait = self.lock_wait()?;
        let (algorithm, lock) = self.index_alter_options()?;
        Ok(Statement::DropIndex(self.alloc(DropIndex { if_exists, name, table, wait, algorithm, lock })))
    }

    pub(super) fn truncate(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.eat_kw(Kw::TABLE);
        let name = self.object_name()?;
        let wait = self.lock_wait()?;
        Ok(Statement::TruncateTable(self.alloc(TruncateTable { name, wait })))
    }

    /// RENAME TABLE, RENAME USER.
    pub(super) fn rename(&mut self) -> R<Statement<'a>> {
        self.bump();
        if self.is_kw(Kw::USER) {
            return self.rename_user();
        }
        self.one_of(&[Kw::TABLE, Kw::TABLES])?;
        let if_exists = self.if_exists()?;
        let mut wait = LockWait::Default;
        let mut first = true;
        let renames = self.comma_list(|p| {
            let from = p.object_name()?;
            if std::mem::take(&mut first) {
                wait = p.lock_wait()?;
            }
            p.expect_kw(Kw::TO)?;
            Ok((from, p.object_name()?))
        })?;
        Ok(Statement::RenameTable(self.alloc(RenameTable { if_exists, wait, renames })))
    }

    // Views.

    pub(super) fn create_view(&mut self, prefix: CreatePrefix<'a>, alter: bool) -> R<Statement<'a>> {
        self.expect_kw(Kw::VIEW)?;
        let mut mode = prefix.mode;
        mode.if_not_exists = !alter && self.if_not_exists()?;
        let name = self.object_name()?;
        let columns = if self.is(b'(') { self.paren_list(Self::ident)? } else { &[] };
        self.expect_kw(Kw::AS)?;
        let start = self.token.start;
        let query = self.query_or_parens()?;
        let text = self.text_since(start);
        let mut check = None;
        if self.eat_kw(Kw::WITH) {
            check = Some(ViewCheck::Cascaded);
            if self.eat_kw(Kw::LOCAL) {
                check = Some(ViewCheck::Local);
            } else {
                self.eat_kw(Kw::CASCADED);
            }
            self.expect_kw(Kw::CHECK)?;
            self.expect_kw(Kw::OPTION)?;
        }
        let CreatePrefix { algorithm, definer, invoker, .. } = prefix;
        Ok(Statement::CreateView(self.alloc(CreateView {
            mode,
            alter,
            algorithm,
            definer,
            invoker,
            name,
            columns,
            query,
            text,
            check,
        })))
    }

    /// ALTER [ALGORITHM ...] [DEFINER ...] VIEW | EVENT
    pub(super) fn alter_view_or_event(&mut self) -> R<Statement<'a>> {
        let mut prefix = CreatePrefix::default();
        self.create_prefix(&mut prefix)?;
        match self.token.kw {
            Kw::VIEW => self.create_view(prefix, true),
            Kw::EVENT if prefix.algorithm.is_none() && prefix.invoker.is_none() => self.alter_event(prefix),
            _ => Err(Fail::Syntax),
        }
    }

    // Sequences.

    fn create_sequence(&mut self, mut mode: CreateMode, temporary: bool) -> R<Statement<'a>> {
        self.bump();
        mode.if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let data_type = self.sequence_type()?;
        let sequence = self.sequence_options(false)?;
        let options = self.table_options()?;
        let create = CreateSequence { mode, temporary, name, data_type, sequence, options };
        Ok(Statement::CreateSequence(self.alloc(create)))
    }

    fn sequence_type(&mut self) -> R<Option<DataType<'a>>> {
        if self.eat_kw(Kw::AS) { Ok(Some(self.data_type()?)) } else { Ok(None) }
    }

    pub(super) fn alter_sequence(&mut self) -> R<Statement<'a>> {
        self.bump();
        let if_exists = self.if_exists()?;
        let name = self.object_name()?;
        let data_type = self.sequence_type()?;
        let sequence = self.sequence_options(true)?;
        if sequence.is_empty() && data_type.is_none() {
            return Err(Fail::Syntax);
        }
        Ok(Statement::AlterSequence(self.alloc(AlterSequence { if_exists, name, data_type, sequence })))
    }

    fn sequence_options(&mut self, alter: bool) -> R<&'a [SequenceOption]> {
        let mut list = self.vec();
        while let Some(option) = self.sequence_option(alter)? {
            list.push(option);
        }
        Ok(list.into_bump_slice())
    }

    fn sequence_option(&mut self, alter: bool) -> R<Option<SequenceOption>> {
        use SequenceOption as O;
        let kw = self.token.kw;
        match kw {
            Kw::NO => {
                let option = match self.peek().kw {
                    Kw::MINVALUE => O::MinValue(None),
                    Kw::MAXVALUE => O::MaxValue(None),
                    Kw::CACHE => O::Cache(0),
                    Kw::CYCLE => O::Cycle(false),
                    _ => return Ok(None),
                };
                self.bump();
                self.bump();
                return Ok(Some(option));
            }
            Kw::START | Kw::INCREMENT | Kw::MINVALUE | Kw::MAXVALUE | Kw::CACHE => self.bump(),
            Kw::RESTART if alter => self.bump(),
            Kw::NOMINVALUE | Kw::NOMAXVALUE | Kw::NOCACHE | Kw::CYCLE | Kw::NOCYCLE => {
                self.bump();
                return Ok(Some(match kw {
                    Kw::NOMINVALUE => O::MinValue(None),
                    Kw::NOMAXVALUE => O::MaxValue(None),
                    Kw::NOCACHE => O::Cache(0),
                    _ => O::Cycle(kw == Kw::CYCLE),
                }));
            }
            _ => return Ok(None),
        }
        if kw == Kw::RESTART
            && !self.is_kw(Kw::WITH)
            && !self.is(b'=')
            && !self.is_tok(Tok::Int)
            && !self.is(b'-')
        {
            return Ok(Some(O::Restart(None)));
        }
        let lead = match kw {
            Kw::INCREMENT => Kw::BY,
            Kw::START | Kw::RESTART => Kw::WITH,
            _ => Kw::ANY_OTHER,
        };
        if !self.eat_equals() && lead != Kw::ANY_OTHER {
            self.eat_kw(lead);
        }
        let n = self.signed_integer()?;
        Ok(Some(match kw {
            Kw::START => O::Start(n),
            Kw::INCREMENT => O::Increment(n),
            Kw::MINVALUE => O::MinValue(Some(n)),
            Kw::MAXVALUE => O::MaxValue(Some(n)),
            Kw::CACHE => O::Cache(n),
            _ => O::Restart(Some(n)),
        }))
    }

    // Servers.

    fn create_server(&mut self, mut mode: CreateMode) -> R<Statement<'a>> {
        self.bump();
        mode.if_not_exists = self.if_not_exists()?;
        let name = self.ident_or_text()?;
        self.expect_kw(Kw::FOREIGN)?;
        self.expect_kw(Kw::DATA)?;
        self.expect_kw(Kw::WRAPPER)?;
        let wrapper = self.ident_or_text()?;
        let options = self.server_options()?;
        Ok(Statement::CreateServer(self.alloc(CreateServer { mode, name, wrapper, options })))
    }

    pub(super) fn alter_server(&mut self) -> R<Statement<'a>> {
        self.bump();
        let name = self.ident_or_text()?;
        let options = self.server_options()?;
        Ok(Statement::AlterServer(self.alloc(AlterServer { name, options })))
    }

    fn server_options(&mut self) -> R<&'a [NameValue<'a>]> {
        self.expect_kw(Kw::OPTIONS)?;
        self.paren_list(|p| {
            let name = p.ident()?;
            let value = if p.is_tok(Tok::Int) {
                OptionValue::Number(p.integer()?)
            } else {
                OptionValue::Text(p.string()?)
            };
            Ok(NameValue { name, value: Some(value) })
        })
    }
}
