//! INSERT, REPLACE, UPDATE, DELETE, CALL, DO.

use super::*;

impl<'a> Parser<'a> {
    pub(super) fn insert(&mut self) -> R<Statement<'a>> {
        let replace = self.is_kw(Kw::REPLACE);
        self.bump();
        let priority = match self.token.kw {
            Kw::LOW_PRIORITY => Priority::Low,
            Kw::DELAYED => Priority::Delayed,
            Kw::HIGH_PRIORITY if !replace => Priority::High,
            _ => Priority::Normal,
        };
        if priority != Priority::Normal {
            self.bump();
        }
        let ignore = !replace && self.eat_kw(Kw::IGNORE);
        self.eat_kw(Kw::INTO);
        let table = self.object_name()?;
        let partitions = self.partition_list()?;
        let (columns, has_columns, source) = self.insert_content()?;
        let mut on_duplicate: &[_] = &[];
        if !replace && self.is_kw(Kw::ON) {
            self.bump();
            self.expect_kw(Kw::DUPLICATE)?;
            self.expect_kw(Kw::KEY)?;
            self.expect_kw(Kw::UPDATE)?;
            let outer = std::mem::replace(&mut self.on_duplicate, true);
            on_duplicate = self.assignments()?;
            self.on_duplicate = outer;
        }
        let returning = self.returning()?;
        Ok(Statement::Insert(self.alloc(Insert {
            replace,
            priority,
            ignore,
            table,
            partitions,
            columns,
            has_columns,
            source,
            on_duplicate,
            returning,
        })))
    }

    fn insert_content(&mut self) -> R<(&'a [ColumnRef<'a>], bool, InsertSource<'a>)> {
        if self.eat_kw(Kw::SET) {
            let mut columns = self.vec();
            let mut values = self.vec();
            loop {
                let item = self.assignment()?;
                columns.push(item.column);
                values.push(item.value);
                if !self.eat(b',') {
                    break;
                }
            }
            return Ok((columns.into_bump_slice(), true, InsertSource::Set(values.into_bump_slice())));
        }
        let mut columns: &[_] = &[];
        let mut has_columns = false;
        if self.is(b'(') && !self.query_in_parens_ahead() {
            columns = self.paren_list_or_empty(Self::column_ref)?;
            has_columns = true;
        }
        if self.is_any(&[Kw::VALUES, Kw::VALUE]) {
            self.bump();
            let rows = self.comma_list(|p| p.paren_list_or_empty(Self::insert_value))?;
            if self.is_any(&[Kw::UNION, Kw::EXCEPT, Kw::INTERSECT, Kw::ORDER, Kw::LIMIT]) {
                let query = self.query_from(None, QueryBody::Values(rows))?;
                return Ok((columns, has_columns, InsertSource::Query(query)));
            }
            return Ok((columns, has_columns, InsertSource::Values(rows)));
        }
        Ok((columns, has_columns, InsertSource::Query(self.query_or_parens()?)))
    }

    /// At `(`: whether a query stands inside, behind any number of parentheses.
    pub(super) fn query_in_parens_ahead(&self) -> bool {
        let mut lexer = self.lexer;
        for _ in 0..MAX_NESTING {
            let token = lexer.next();
            if token.tok != Tok::Char(b'(') {
                return matches!(token.kw, Kw::SELECT | Kw::WITH | Kw::VALUES);
            }
        }
        false
    }

    /// A query at statement level; it may be wholly in parentheses.
    pub(super) fn query_or_parens(&mut self) -> R<&'a Query<'a>> {
        if !self.is(b'(') {
            if !self.is_any(&[Kw::SELECT, Kw::WITH, Kw::VALUES]) {
                return Err(Fail::Syntax);
            }
            return self.query();
        }
        let inner = self.paren_query()?;
        self.query_from(None, QueryBody::Nested(inner))
    }

    pub(super) fn insert_value(&mut self) -> R<Expr<'a>> {
        if self.is_kw(Kw::DEFAULT) && self.peek().tok != Tok::Char(b'(') {
            self.bump();
            return Ok(Expr::Default);
        }
        if self.eat_kw(Kw::IGNORE) {
            return Ok(Expr::Ignore);
        }
        self.expr()
    }

    pub(super) fn assignments(&mut self) -> R<&'a [Assignment<'a>]> {
        self.comma_list(Self::assignment)
    }

    fn assignment(&mut self) -> R<Assignment<'a>> {
        let column = self.column_ref()?;
        if !self.eat_tok(Tok::Assign) {
            self.expect_equals()?;
        }
        Ok(Assignment { column, value: self.insert_value()? })
    }

    fn returning(&mut self) -> R<&'a [SelectItem<'a>]> {
        if self.eat_kw(Kw::RETURNING) { self.select_items() } else { Ok(&[]) }
    }

    pub(super) fn update(&mut self) -> R<Statement<'a>> {
        self.bump();
        let low_priority = self.eat_kw(Kw::LOW_PRIORITY);
        let ignore = self.eat_kw(Kw::IGNORE);
        let tables = self.table_refs()?;
        let portion = self.portion()?;
        self.expect_kw(Kw::SET)?;
        let assignments = self.assignments()?;
        let filter = self.filter()?;
        let order_by = self.order_by()?;
        let limit = self.row_limit()?;
        Ok(Statement::Update(self.alloc(Update {
            low_priority,
            ignore,
            tables,
            portion,
            assignments,
            filter,
            order_by,
            limit,
        })))
    }

    /// `[LIMIT n]` of UPDATE and DELETE: no offset.
    fn row_limit(&mut self) -> R<Option<&'a Limit<'a>>> {
        if !self.eat_kw(Kw::LIMIT) {
            return Ok(None);
        }
        let count = Some(self.limit_value()?);
        Ok(Some(self.alloc(Limit { count, offset: None, with_ties: false, rows_examined: None })))
    }

    /// `[FOR PORTION OF period FROM a TO b]`
    fn portion(&mut self) -> R<Option<&'a PeriodPortion<'a>>> {
        if !self.eat_kw(Kw::FOR) {
            return Ok(None);
        }
        self.expect_kw(Kw::PORTION)?;
        self.expect_kw(Kw::OF)?;
        let period = self.ident()?;
        self.expect_kw(Kw::FROM)?;
        let from = self.bit_expr()?;
        self.expect_kw(Kw::TO)?;
        let to = self.bit_expr()?;
        Ok(Some(self.alloc(PeriodPortion { period, from, to })))
    }

    pub(super) fn delete(&mut self) -> R<Statement<'a>> {
        self.bump();
        let mut delete = Delete {
            low_priority: false,
            quick: false,
            ignore: false,
            history: None,
            targets: &[],
            tables: &[],
            portion: None,
            filter: None,
            order_by: &[],
            limit: None,
            returning: &[],
        };
        if self.is_kw(Kw::HISTORY) && self.peek().kw == Kw::FROM {
            self.bump();
            return self.delete_history(delete);
        }
        loop {
            match self.token.kw {
                Kw::LOW_PRIORITY => delete.low_priority = true,
                Kw::QUICK => delete.quick = true,
                Kw::IGNORE => delete.ignore = true,
                _ => break,
            }
            self.bump();
        }
        if !self.eat_kw(Kw::FROM) {
            // DELETE a, b FROM tables
            delete.targets = self.comma_list(Self::delete_target)?;
            self.expect_kw(Kw::FROM)?;
            delete.tables = self.table_refs()?;
            return self.finish_delete(delete);
        }
        let mark = self.mark();
        let first = self.delete_target()?;
        if self.is(b',') || self.is_kw(Kw::USING) {
            // DELETE FROM a, b USING tables
            let mut targets = self.vec();
            targets.push(first);
            while self.eat(b',') {
                targets.push(self.delete_target()?);
            }
            self.expect_kw(Kw::USING)?;
            delete.targets = targets.into_bump_slice();
            delete.tables = self.table_refs()?;
            return self.finish_delete(delete);
        }
        self.rewind(mark);
        self.single_delete(delete)
    }

    fn finish_delete(&mut self, mut delete: Delete<'a>) -> R<Statement<'a>> {
        delete.filter = self.filter()?;
        delete.order_by = self.order_by()?;
        delete.limit = self.row_limit()?;
        if delete.targets.is_empty() {
            delete.returning = self.returning()?;
        }
        Ok(Statement::Delete(self.alloc(delete)))
    }

    fn single_delete(&mut self, mut delete: Delete<'a>) -> R<Statement<'a>> {
        let name = self.object_name()?;
        let partitions = self.partition_list()?;
        delete.portion = self.portion()?;
        let alias = self.table_alias()?;
        let factor = TableFactor { name, partitions, system_time: None, alias, hints: &[] };
        delete.tables = self.arena.alloc_slice_copy(&[TableRef::Table(self.alloc(factor))]);
        self.finish_delete(delete)
    }

    fn delete_history(&mut self, mut delete: Delete<'a>) -> R<Statement<'a>> {
        self.expect_kw(Kw::FROM)?;
        let name = self.object_name()?;
        let partitions = self.partition_list()?;
        let factor = TableFactor { name, partitions, system_time: None, alias: None, hints: &[] };
        delete.tables = self.arena.alloc_slice_copy(&[TableRef::Table(self.alloc(factor))]);
        let mut time = SystemTime::All;
        if self.eat_kw(Kw::BEFORE) {
            self.expect_kw(Kw::SYSTEM_TIME)?;
            time = SystemTime::Before(self.system_point()?);
        }
        delete.history = Some(self.alloc(time));
        Ok(Statement::Delete(self.alloc(delete)))
    }

    /// `[database.]table[.*]`
    fn delete_target(&mut self) -> R<ObjectName<'a>> {
        let first = self.ident()?;
        if !self.is(b'.') {
            return Ok(ObjectName { database: None, name: first });
        }
        if self.lexer.follows(b'*') {
            self.bump();
            self.bump();
            return Ok(ObjectName { database: None, name: first });
        }
        let name = self.name_after_dot()?;
        if self.is(b'.') {
            self.bump();
            self.expect(b'*')?;
        }
        Ok(ObjectName { database: Some(first), name })
    }

    pub(super) fn call_statement(&mut self) -> R<Statement<'a>> {
        self.bump();
        let mut procedure = self.object_name()?;
        let mut package = None;
        if self.is(b'.') {
            let name = self.name_after_dot()?;
            package = Some(procedure.name);
            procedure.name = name;
        }
        let args = if self.is(b'(') { self.paren_list_or_empty(Self::expr)? } else { &[] };
        Ok(Statement::Call(self.alloc(CallStatement { procedure, package, args })))
    }

    pub(super) fn do_statement(&mut self) -> R<Statement<'a>> {
        self.bump();
        let mut list = self.vec();
        loop {
            list.push(self.expr()?);
            self.select_alias()?;
            if !self.eat(b',') {
                break;
            }
        }
        Ok(Statement::Do(list.into_bump_slice()))
    }
}
