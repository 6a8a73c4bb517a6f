//! ALTER: dispatch, and ALTER TABLE.

use super::*;

impl<'a> Parser<'a> {
    pub(super) fn alter(&mut self) -> R<Statement<'a>> {
        self.bump();
        match self.token.kw {
            Kw::TABLE | Kw::ONLINE | Kw::IGNORE => self.alter_table(),
            Kw::DATABASE | Kw::SCHEMA => self.alter_database(),
            Kw::USER => self.alter_user(),
            Kw::SEQUENCE => self.alter_sequence(),
            Kw::SERVER => self.alter_server(),
            Kw::PROCEDURE | Kw::FUNCTION => self.alter_routine(),
            _ => self.alter_view_or_event(),
        }
    }

    fn alter_table(&mut self) -> R<Statement<'a>> {
        let online = self.eat_kw(Kw::ONLINE);
        let ignore = self.eat_kw(Kw::IGNORE);
        self.expect_kw(Kw::TABLE)?;
        let if_exists = self.if_exists()?;
        let name = self.object_name()?;
        let wait = self.lock_wait()?;
        let mut actions = self.vec();
        if let Some(action) = self.standalone_partition_action()? {
            actions.push(AlterAction::Partition(action));
        } else if !self.at_statement_end() {
            self.alter_actions(&mut actions)?;
        }
        let actions = actions.into_bump_slice();
        Ok(Statement::AlterTable(self.alloc(AlterTable { online, ignore, if_exists, name, wait, actions })))
    }

    pub(super) fn at_statement_end(&self) -> bool {
        matches!(self.token.tok, Tok::Eof | Tok::Char(b';'))
    }

    fn alter_actions(&mut self, actions: &mut ArenaVec<'a, AlterAction<'a>>) -> R<()> {
        loop {
            if let Some(action) = self.partition_by_or_remove()? {
                actions.push(AlterAction::Partition(action));
                return Ok(());
            }
            self.alter_action(actions)?;
            // Options may follow one another without a comma, and PARTITION BY comes without one.
            while !self.is_any(&[Kw::PARTITION, Kw::REMOVE]) {
                match self.table_option()? {
                    Some(option) => actions.push(AlterAction::Option(option)),
                    None => break,
                }
            }
            if self.is_any(&[Kw::PARTITION, Kw::REMOVE]) {
                continue;
            }
            if !self.eat(b',') {
                return Ok(());
            }
        }
    }

    fn alter_action(&mut self, actions: &mut ArenaVec<'a, AlterAction<'a>>) -> R<()> {
        let kw = self.token.kw;
        if kw == Kw::ADD {
            return self.alter_add(actions);
        }
        let action = match kw {
            Kw::DROP => self.alter_drop()?,
            Kw::MODIFY => {
                self.bump();
                self.eat_kw(Kw::COLUMN);
                let if_exists = self.if_exists()?;
                let column = self.column_def()?;
                AlterAction::ModifyColumn { if_exists, column, position: self.column_position()? }
            }
            Kw::CHANGE => {
                self.bump();
                self.eat_kw(Kw::COLUMN);
                let if_exists = self.if_exists()?;
                let old = self.ident()?;
                let column = self.column_def()?;
                AlterAction::ChangeColumn { if_exists, old, column, position: self.column_position()? }
            }
            Kw::RENAME => self.alter_rename()?,
            Kw::ALTER => self.alter_alter()?,
            Kw::CONVERT => {
                self.bump();
                self.expect_kw(Kw::TO)?;
                if !self.eat_charset_word()? {
                    return Err(Fail::Syntax);
                }
                let charset = self.charset_or_default()?;
                let collation = if self.eat_kw(Kw::COLLATE) {
                    self.eat_equals();
                    if self.eat_kw(Kw::DEFAULT) { None } else { Some(self.charset_name()?) }
                } else {
                    None
                };
                AlterAction::ConvertCharset { charset, collation }
            }
            Kw::ORDER => {
                self.bump();
                self.expect_kw(Kw::BY)?;
                AlterAction::OrderBy(self.comma_list(Self::order_column)?)
            }
            Kw::FORCE => self.word_action(AlterAction::Force),
            Kw::ALGORITHM | Kw::LOCK => {
                self.bump();
                self.eat_equals();
                let value = self.word_or_default()?;
                if kw == Kw::LOCK { AlterAction::Lock(value) } else { AlterAction::Algorithm(value) }
            }
            Kw::DISABLE | Kw::ENABLE => {
                self.bump();
                self.expect_kw(Kw::KEYS)?;
                if kw == Kw::ENABLE { AlterAction::EnableKeys } else { AlterAction::DisableKeys }
            }
            Kw::DISCARD | Kw::IMPORT => {
                self.bump();
                self.expect_kw(Kw::TABLESPACE)?;
                if kw == Kw::IMPORT { AlterAction::ImportTablespace } else { AlterAction::DiscardTablespace }
            }
            _ => AlterAction::Option(self.table_option()?.ok_or(Fail::Syntax)?),
        };
        actions.push(action);
        Ok(())
    }

    fn order_column(&mut self) -> R<OrderItem<'a>> {
        let expr = Expr::Column(self.column_ref()?);
        let descending = self.eat_kw(Kw::DESC);
        if !descending {
            self.eat_kw(Kw::ASC);
        }
        Ok(OrderItem { expr, descending })
    }

    fn word_action(&mut self, action: AlterAction<'a>) -> AlterAction<'a> {
        self.bump();
        action
    }

    fn alter_add(&mut self, actions: &mut ArenaVec<'a, AlterAction<'a>>) -> R<()> {
        self.bump();
        match self.token.kw {
            Kw::PERIOD if self.period_ahead() => {
                let (if_not_exists, name, start, end) = self.period()?;
                actions.push(AlterAction::AddPeriod { if_not_exists, name, start, end });
                return Ok(());
            }
            Kw::SYSTEM if self.peek().kw == Kw::VERSIONING => {
                self.bump();
                self.bump();
                actions.push(AlterAction::AddSystemVersioning);
                return Ok(());
            }
            Kw::CONSTRAINT | Kw::CHECK | Kw::FOREIGN | Kw::PRIMARY | Kw::UNIQUE | Kw::INDEX | Kw::KEY => {
                actions.push(added(self.constraint()?));
                return Ok(());
            }
            Kw::FULLTEXT | Kw::SPATIAL | Kw::VECTOR => {
                actions.push(added(self.constraint()?));
                return Ok(());
            }
            _ => {}
        }
        self.eat_kw(Kw::COLUMN);
        let if_not_exists = self.if_not_exists()?;
        let position = ColumnPosition::Last;
        if self.eat(b'(') {
            loop {
                if self.is_ident() {
                    let column = self.column_def()?;
                    actions.push(AlterAction::AddColumn { if_not_exists, column, position });
                } else {
                    actions.push(added(self.constraint()?));
                }
                if !self.eat(b',') {
                    break;
                }
            }
            return self.expect(b')');
        }
        let column = self.column_def()?;
        let position = self.column_position()?;
        actions.push(AlterAction::AddColumn { if_not_exists, column, position });
        Ok(())
    }

    fn column_position(&mut self) -> R<ColumnPosition<'a>> {
        if self.eat_kw(Kw::FIRST) {
            return Ok(ColumnPosition::First);
        }
        if self.eat_kw(Kw::AFTER) {
            return Ok(ColumnPosition::After(self.ident()?));
        }
        Ok(ColumnPosition::Last)
    }

    fn alter_drop(&mut self) -> R<AlterAction<'a>> {
        self.bump();
        let kw = self.token.kw;
        match kw {
            Kw::FOREIGN => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                let if_exists = self.if_exists()?;
                Ok(AlterAction::DropForeignKey { if_exists, name: self.ident()? })
            }
            Kw::PRIMARY => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                Ok(AlterAction::DropPrimaryKey { if_exists: false })
            }
            Kw::INDEX | Kw::KEY => {
                self.bump();
                let if_exists = self.if_exists()?;
                Ok(AlterAction::DropIndex { if_exists, name: self.index_name()? })
            }
            Kw::CONSTRAINT => {
                self.bump();
                let if_exists = self.if_exists()?;
                if self.is_kw(Kw::PRIMARY) && self.peek().kw == Kw::KEY {
                    self.bump();
                    self.bump();
                    return Ok(AlterAction::DropPrimaryKey { if_exists });
                }
                Ok(AlterAction::DropConstraint { if_exists, name: self.index_name()? })
            }
            Kw::PERIOD if self.period_ahead() => {
                self.bump();
                let if_exists = self.if_exists()?;
                self.expect_kw(Kw::FOR)?;
                Ok(AlterAction::DropPeriod { if_exists, name: self.ident()? })
            }
            Kw::SYSTEM if self.peek().kw == Kw::VERSIONING => {
                self.bump();
                self.bump();
                Ok(AlterAction::DropSystemVersioning)
            }
            _ => {
                self.eat_kw(Kw::COLUMN);
                let if_exists = self.if_exists()?;
                let name = self.ident()?;
                let cascade = self.eat_kw(Kw::CASCADE);
                if !cascade {
                    self.eat_kw(Kw::RESTRICT);
                }
                Ok(AlterAction::DropColumn { if_exists, name, cascade })
            }
        }
    }

    /// `RENAME [TO | AS] name`, `RENAME COLUMN a TO b`, `RENAME INDEX a TO b`
    fn alter_rename(&mut self) -> R<AlterAction<'a>> {
        self.bump();
        let kw = self.token.kw;
        if matches!(kw, Kw::COLUMN | Kw::INDEX | Kw::KEY) {
            self.bump();
            let if_exists = self.if_exists()?;
            let old = self.ident()?;
            self.expect_kw(Kw::TO)?;
            let new = self.ident()?;
            return Ok(match kw {
                Kw::COLUMN => AlterAction::RenameColumn { if_exists, old, new },
                _ => AlterAction::RenameIndex { if_exists, old, new },
            });
        }
        let if_exists = self.if_exists()?;
        if self.is_any(&[Kw::TO, Kw::AS]) || self.is(b'=') {
            self.bump();
        }
        Ok(AlterAction::Rename { if_exists, new: self.object_name()? })
    }

    /// `ALTER [COLUMN] c SET DEFAULT x | DROP DEFAULT`, `ALTER INDEX i [NOT] IGNORED`
    fn alter_alter(&mut self) -> R<AlterAction<'a>> {
        self.bump();
        if self.is_any(&[Kw::INDEX, Kw::KEY]) {
            self.bump();
            let if_exists = self.if_exists()?;
            let name = self.ident()?;
            let ignored = !self.eat_kw(Kw::NOT);
            self.expect_kw(Kw::IGNORED)?;
            return Ok(AlterAction::IndexIgnored { if_exists, name, ignored });
        }
        self.eat_kw(Kw::COLUMN);
        let if_exists = self.if_exists()?;
        let column = self.ident()?;
        if self.eat_kw(Kw::SET) {
            self.expect_kw(Kw::DEFAULT)?;
            let value = self.default_value()?;
            return Ok(AlterAction::SetDefault { if_exists, column, value });
        }
        self.expect_kw(Kw::DROP)?;
        self.expect_kw(Kw::DEFAULT)?;
        Ok(AlterAction::DropDefault { if_exists, column })
    }
}

fn added(element: TableElement<'_>) -> AlterAction<'_> {
    match element {
        TableElement::Index(index) => AlterAction::AddIndex(index),
        TableElement::ForeignKey(key) => AlterAction::AddForeignKey(key),
        TableElement::Check(check) => AlterAction::AddCheck(check),
        TableElement::Column(column) => {
            AlterAction::AddColumn { if_not_exists: false, column, position: ColumnPosition::Last }
        }
        TableElement::Period { name, start, end } => {
            AlterAction::AddPeriod { if_not_exists: false, name, start, end }
        }
    }
}
