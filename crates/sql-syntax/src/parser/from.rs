//! What stands in FROM: tables, derived tables, joins.
//!
//! Joins without a condition may stand before joins that have one, and conditions may come late:
//! `a JOIN b JOIN c ON x ON y` is `a JOIN (b JOIN c ON x) ON y`. So joins whose condition has not come are kept on a
//! stack; `ON` and `USING` close the last one. What is left at the end has no condition and joins from the left.

use super::*;

/// A join that waits for its condition.
#[derive(Clone, Copy)]
struct Pending<'a> {
    left: TableRef<'a>,
    kind: JoinKind,
}

enum TableParens<'a> {
    Query(&'a Query<'a>),
    Tables(TableRef<'a>),
}

impl<'a> Parser<'a> {
    pub(super) fn table_refs(&mut self) -> R<&'a [TableRef<'a>]> {
        self.comma_list(Self::table_ref)
    }

    pub(super) fn table_ref(&mut self) -> R<TableRef<'a>> {
        let first = self.table_factor()?;
        self.joins(first)
    }

    fn joins(&mut self, first: TableRef<'a>) -> R<TableRef<'a>> {
        if !self.at_join() {
            return Ok(first);
        }
        let outer = std::mem::take(&mut self.height);
        let mut pending: ArenaVec<'a, Pending<'a>> = self.vec();
        let mut current = first;
        while self.at_join() {
            current = match self.token.kw {
                Kw::NATURAL => self.natural_join(current)?,
                Kw::STRAIGHT_JOIN => self.straight_join(current)?,
                Kw::ON | Kw::USING => {
                    let Some(join) = pending.pop() else { break };
                    let condition = self.join_condition()?;
                    self.join(join.left, current, join.kind, condition)?
                }
                _ => {
                    pending.push(Pending { left: current, kind: self.join_kind()? });
                    self.table_factor()?
                }
            };
        }
        let result = self.unconditional(&pending, current)?;
        self.height = self.height.max(outer);
        Ok(result)
    }

    fn at_join(&self) -> bool {
        self.is_any(&[
            Kw::JOIN,
            Kw::INNER,
            Kw::CROSS,
            Kw::LEFT,
            Kw::RIGHT,
            Kw::NATURAL,
            Kw::STRAIGHT_JOIN,
            Kw::ON,
            Kw::USING,
        ])
    }

    fn join_kind(&mut self) -> R<JoinKind> {
        let kind = match self.token.kw {
            Kw::INNER | Kw::CROSS => {
                self.bump();
                JoinKind::Inner
            }
            Kw::LEFT | Kw::RIGHT => self.outer_kind(),
            _ => JoinKind::Inner,
        };
        self.expect_kw(Kw::JOIN)?;
        Ok(kind)
    }

    /// `LEFT [OUTER]`, `RIGHT [OUTER]`
    fn outer_kind(&mut self) -> JoinKind {
        let kind = if self.is_kw(Kw::LEFT) { JoinKind::Left } else { JoinKind::Right };
        self.bump();
        self.eat_kw(Kw::OUTER);
        kind
    }

    fn join_condition(&mut self) -> R<JoinCondition<'a>> {
        if self.eat_kw(Kw::ON) {
            return Ok(JoinCondition::On(self.expr()?));
        }
        self.bump();
        Ok(JoinCondition::Using(self.paren_list(Self::ident)?))
    }

    fn join(
        &mut self,
        left: TableRef<'a>,
        right: TableRef<'a>,
        kind: JoinKind,
        condition: JoinCondition<'a>,
    ) -> R<TableRef<'a>> {
        self.height += 1;
        if self.height > MAX_HEIGHT {
            return Err(Fail::TooDeep);
        }
        Ok(TableRef::Join(self.alloc(Join { left, right, kind, natural: false, straight: false, condition })))
    }

    fn natural_join(&mut self, left: TableRef<'a>) -> R<TableRef<'a>> {
        self.bump();
        let kind = match self.token.kw {
            Kw::INNER => {
                self.bump();
                JoinKind::Inner
            }
            Kw::LEFT | Kw::RIGHT => self.outer_kind(),
            _ => JoinKind::Inner,
        };
        let straight = self.eat_kw(Kw::STRAIGHT_JOIN);
        if !straight {
            self.expect_kw(Kw::JOIN)?;
        }
        let right = self.table_factor()?;
        let condition = JoinCondition::None;
        self.height += 1;
        Ok(TableRef::Join(self.alloc(Join { left, right, kind, natural: true, straight, condition })))
    }

    fn straight_join(&mut self, left: TableRef<'a>) -> R<TableRef<'a>> {
        self.bump();
        let right = self.table_factor()?;
        let condition =
            if self.is_any(&[Kw::ON, Kw::USING]) { self.join_condition()? } else { JoinCondition::None };
        let kind = JoinKind::Inner;
        self.height += 1;
        Ok(TableRef::Join(self.alloc(Join { left, right, kind, natural: false, straight: true, condition })))
    }

    /// Joins that never got a condition: only inner ones may.
    fn unconditional(&mut self, pending: &[Pending<'a>], last: TableRef<'a>) -> R<TableRef<'a>> {
        let mut left: Option<(TableRef<'a>, JoinKind)> = None;
        for join in pending {
            if join.kind != JoinKind::Inner {
                return Err(Fail::Syntax);
            }
            let right = self.attach(left, join.left)?;
            left = Some((right, join.kind));
        }
        self.attach(left, last)
    }

    /// `left JOIN tree`, where `tree` may be joins: `left` goes to its first table.
    fn attach(&mut self, left: Option<(TableRef<'a>, JoinKind)>, tree: TableRef<'a>) -> R<TableRef<'a>> {
        let Some((left, kind)) = left else { return Ok(tree) };
        let mut spine: ArenaVec<'a, &'a Join<'a>> = self.vec();
        let mut first = tree;
        while let TableRef::Join(join) = first {
            spine.push(join);
            first = join.left;
        }
        let mut result = self.join(left, first, kind, JoinCondition::None)?;
        for join in spine.iter().rev() {
            result = TableRef::Join(self.alloc(Join { left: result, ..**join }));
        }
        Ok(result)
    }

    fn table_factor(&mut self) -> R<TableRef<'a>> {
        if self.is(b'(') {
            self.enter()?;
            let outer = std::mem::take(&mut self.may_select_into);
            let parens = self.table_parens()?;
            self.may_select_into = outer;
            self.leave();
            return match parens {
                TableParens::Query(query) => self.derived(query),
                TableParens::Tables(tables) => Ok(tables),
            };
        }
        if self.is(b'{') {
            self.bump();
            self.ident()?;
            self.enter()?;
            let table = self.table_ref()?;
            self.leave();
            self.expect(b'}')?;
            return Ok(table);
        }
        if self.is_kw(Kw::JSON_TABLE) && self.peek().tok == Tok::Char(b'(') {
            return self.json_table();
        }
        let factor = self.table_name_factor()?;
        Ok(TableRef::Table(self.alloc(factor)))
    }

    /// `(` query or tables `)`
    fn table_parens(&mut self) -> R<TableParens<'a>> {
        self.enter()?;
        self.bump();
        let first = if self.starts_query() {
            let query = self.query()?;
            self.expect(b')')?;
            self.leave();
            return Ok(TableParens::Query(query));
        } else if self.is(b'(') {
            match self.table_parens()? {
                TableParens::Query(query) if self.is(b')') || self.continues_query() => {
                    let query = match self.is(b')') {
                        true => query,
                        false => self.query_from(None, QueryBody::Nested(query))?,
                    };
                    self.expect(b')')?;
                    self.leave();
                    return Ok(TableParens::Query(query));
                }
                TableParens::Query(query) => self.derived(query)?,
                TableParens::Tables(tables) => tables,
            }
        } else {
            self.table_factor()?
        };
        let mut list = self.vec();
        list.push(self.joins(first)?);
        while self.eat(b',') {
            list.push(self.table_ref()?);
        }
        self.expect(b')')?;
        self.leave();
        Ok(TableParens::Tables(TableRef::List(list.into_bump_slice())))
    }

    fn derived(&mut self, query: &'a Query<'a>) -> R<TableRef<'a>> {
        let system_time = self.optional_system_time()?;
        let Some(alias) = self.table_alias()? else {
            return Err(Fail::Syntax);
        };
        let columns = if self.is(b'(') { self.paren_list(Self::ident)? } else { &[] };
        Ok(TableRef::Derived(self.alloc(Derived { query, system_time, alias, columns })))
    }

    pub(super) fn table_alias(&mut self) -> R<Option<Ident<'a>>> {
        let named = self.eat_kw(Kw::AS);
        // WINDOW always starts the clause of that name.
        if self.is_ident() && !self.is_kw(Kw::WINDOW) {
            return Ok(Some(self.ident()?));
        }
        if named { Err(Fail::Syntax) } else { Ok(None) }
    }

    fn table_name_factor(&mut self) -> R<TableFactor<'a>> {
        let name = self.object_name()?;
        let partitions = self.partition_list()?;
        let system_time = self.optional_system_time()?;
        let alias = self.table_alias()?;
        let hints = self.index_hints()?;
        Ok(TableFactor { name, partitions, system_time, alias, hints })
    }

    /// `[PARTITION (p, ...)]`
    pub(super) fn partition_list(&mut self) -> R<&'a [Ident<'a>]> {
        if self.is_kw(Kw::PARTITION) {
            self.bump();
            return self.paren_list(Self::ident);
        }
        Ok(&[])
    }

    /// `[FOR SYSTEM_TIME ...]`
    fn optional_system_time(&mut self) -> R<Option<&'a SystemTime<'a>>> {
        if self.eat_kws(Kw::FOR, Kw::SYSTEM_TIME) { Ok(Some(self.system_time()?)) } else { Ok(None) }
    }

    fn system_time(&mut self) -> R<&'a SystemTime<'a>> {
        let time = match self.token.kw {
            Kw::AS => {
                self.bump();
                self.expect_kw(Kw::OF)?;
                SystemTime::AsOf(self.system_point()?)
            }
            Kw::BETWEEN => {
                self.bump();
                let from = self.system_point()?;
                self.expect_kw(Kw::AND)?;
                SystemTime::Between(from, self.system_point()?)
            }
            Kw::FROM => {
                self.bump();
                let from = self.system_point()?;
                self.expect_kw(Kw::TO)?;
                SystemTime::FromTo(from, self.system_point()?)
            }
            Kw::ALL => {
                self.bump();
                SystemTime::All
            }
            _ => return Err(Fail::Syntax),
        };
        Ok(self.alloc(time))
    }

    pub(super) fn system_point(&mut self) -> R<SystemPoint<'a>> {
        // `TIMESTAMP 'text'` is a literal, `TIMESTAMP expr` a remark.
        if self.is_kw(Kw::TIMESTAMP) && !matches!(self.peek().tok, Tok::String | Tok::Char(b'(')) {
            self.bump();
            return Ok(SystemPoint { transaction: false, value: self.bit_expr()? });
        }
        let transaction = self.is_kw(Kw::TRANSACTION) && self.peek().tok != Tok::Char(b'.');
        if transaction {
            self.bump();
        }
        Ok(SystemPoint { transaction, value: self.bit_expr()? })
    }

    fn index_hints(&mut self) -> R<&'a [IndexHint<'a>]> {
        if !self.at_index_hint() {
            return Ok(&[]);
        }
        let mut hints = self.vec();
        while self.at_index_hint() {
            hints.push(self.index_hint()?);
        }
        Ok(hints.into_bump_slice())
    }

    fn at_index_hint(&self) -> bool {
        self.is_any(&[Kw::USE, Kw::FORCE, Kw::IGNORE]) && matches!(self.peek().kw, Kw::INDEX | Kw::KEY)
    }

    fn index_hint(&mut self) -> R<IndexHint<'a>> {
        let kind = match self.token.kw {
            Kw::USE => IndexHintKind::Use,
            Kw::FORCE => IndexHintKind::Force,
            _ => IndexHintKind::Ignore,
        };
        self.bump();
        self.bump();
        let mut scope = IndexHintScope::All;
        if self.eat_kw(Kw::FOR) {
            scope = match self.one_of(&[Kw::JOIN, Kw::ORDER, Kw::GROUP])? {
                Kw::JOIN => IndexHintScope::Join,
                kw => {
                    self.expect_kw(Kw::BY)?;
                    if kw == Kw::ORDER { IndexHintScope::OrderBy } else { IndexHintScope::GroupBy }
                }
            };
        }
        let indexes = if kind == IndexHintKind::Use {
            self.paren_list_or_empty(Self::index_name)?
        } else {
            self.paren_list(Self::index_name)?
        };
        Ok(IndexHint { kind, scope, indexes })
    }

    /// An index by name; PRIMARY is one.
    pub(super) fn index_name(&mut self) -> R<Ident<'a>> {
        if self.is_kw(Kw::PRIMARY) { self.name_token() } else { self.ident() }
    }

    // JSON_TABLE

    fn json_table(&mut self) -> R<TableRef<'a>> {
        self.bump();
        self.bump();
        let document = self.expr()?;
        self.expect(b',')?;
        let path = self.string()?;
        let columns = self.json_columns()?;
        self.expect(b')')?;
        let Some(alias) = self.table_alias()? else { return Err(Fail::Syntax) };
        Ok(TableRef::JsonTable(self.alloc(JsonTable { document, path, columns, alias })))
    }

    fn json_columns(&mut self) -> R<&'a [JsonColumn<'a>]> {
        self.enter()?;
        self.expect_kw(Kw::COLUMNS)?;
        let columns = self.paren_list(Self::json_column)?;
        self.leave();
        Ok(columns)
    }

    fn json_column(&mut self) -> R<JsonColumn<'a>> {
        if self.is_kw(Kw::NESTED)
            && matches!(self.peek(), Token { kw: Kw::PATH, .. } | Token { tok: Tok::String, .. })
        {
            self.bump();
            self.eat_kw(Kw::PATH);
            let path = self.string()?;
            return Ok(JsonColumn::Nested { path, columns: self.json_columns()? });
        }
        let name = self.ident()?;
        if self.eat_kw(Kw::FOR) {
            self.expect_kw(Kw::ORDINALITY)?;
            return Ok(JsonColumn::Ordinality(name));
        }
        let start = self.token.start;
        let data_type = self.data_type()?;
        let type_text = self.text_since(start);
        if self.eat_kw(Kw::EXISTS) {
            self.expect_kw(Kw::PATH)?;
            return Ok(JsonColumn::Exists { name, data_type, type_text, path: self.string()? });
        }
        self.expect_kw(Kw::PATH)?;
        let path = self.string()?;
        let (mut on_empty, mut on_error) = (JsonOn::Null, JsonOn::Null);
        while self.is_any(&[Kw::NULL, Kw::ERROR, Kw::DEFAULT]) {
            let action = self.json_on()?;
            self.expect_kw(Kw::ON)?;
            match self.one_of(&[Kw::EMPTY, Kw::ERROR])? {
                Kw::EMPTY => on_empty = action,
                _ => on_error = action,
            }
        }
        Ok(JsonColumn::Value { name, data_type, type_text, path, on_empty, on_error })
    }

    fn json_on(&mut self) -> R<JsonOn<'a>> {
        Ok(match self.one_of(&[Kw::NULL, Kw::ERROR, Kw::DEFAULT])? {
            Kw::NULL => JsonOn::Null,
            Kw::ERROR => JsonOn::Error,
            _ => JsonOn::Default(self.string()?),
        })
    }
}
