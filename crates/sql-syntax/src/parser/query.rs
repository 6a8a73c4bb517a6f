//! SELECT, VALUES, set operations, WITH and the clauses around them.

use super::*;

impl<'a> Parser<'a> {
    /// Whether a query starts here (without parentheses).
    pub(super) fn starts_query(&self) -> bool {
        match self.token.kw {
            Kw::SELECT | Kw::WITH => true,
            Kw::VALUES => !self.on_duplicate,
            _ => false,
        }
    }

    /// Whether the current token goes on with a query whose first part stood in parentheses.
    pub(super) fn continues_query(&self) -> bool {
        self.is_any(&[
            Kw::UNION,
            Kw::EXCEPT,
            Kw::INTERSECT,
            Kw::ORDER,
            Kw::LIMIT,
            Kw::OFFSET,
            Kw::FETCH,
            Kw::FOR,
            Kw::LOCK,
        ])
    }

    /// At SELECT, WITH, VALUES or `(`.
    pub(super) fn query(&mut self) -> R<&'a Query<'a>> {
        self.enter()?;
        self.selects += 1;
        if self.selects > MAX_SELECT_NESTING {
            return Err(Fail::Other(1473, "Too high level of nesting for select".into()));
        }
        let with = if self.is_kw(Kw::WITH) { Some(self.with()?) } else { None };
        let first = self.query_primary()?;
        let query = self.query_from(with, first)?;
        self.selects -= 1;
        self.leave();
        Ok(query)
    }

    /// Set operations and clauses after the first part.
    pub(super) fn query_from(
        &mut self,
        with: Option<&'a With<'a>>,
        first: QueryBody<'a>,
    ) -> R<&'a Query<'a>> {
        let body = self.set_operations(first)?;
        let mut into = self.into_before_from.take();
        let order_by = self.order_by()?;
        let limit = self.limit()?;
        let mut lock = self.row_lock()?;
        let mut procedure = None;
        if self.may_select_into && into.is_none() && self.is_kw(Kw::INTO) {
            into = Some(self.select_into()?);
        } else if self.may_select_into && into.is_none() && self.eat_kw(Kw::PROCEDURE) {
            let name = self.ident()?;
            let args = self.paren_list_or_empty(Self::expr)?;
            procedure = Some(self.alloc(Call { database: None, name, args, arg_names: &[] }));
        }
        if lock.is_none() {
            lock = self.row_lock()?;
        }
        Ok(self.alloc(Query { with, body, order_by, limit, lock, into, procedure }))
    }

    fn query_primary(&mut self) -> R<QueryBody<'a>> {
        match self.token.kw {
            Kw::SELECT => {
                let select = self.select()?;
                Ok(QueryBody::Select(self.alloc(select)))
            }
            Kw::VALUES => {
                self.bump();
                Ok(QueryBody::Values(self.comma_list(|p| p.paren_list_or_empty(Self::insert_value))?))
            }
            _ => Ok(QueryBody::Nested(self.paren_query()?)),
        }
    }

    /// A query that is a statement: it may say INTO.
    pub(super) fn query_statement(&mut self) -> R<Statement<'a>> {
        let outer = std::mem::replace(&mut self.may_select_into, true);
        let query = self.query_or_parens()?;
        self.may_select_into = outer;
        Ok(Statement::Query(query))
    }

    /// `( query )`
    pub(super) fn paren_query(&mut self) -> R<&'a Query<'a>> {
        self.expect(b'(')?;
        self.enter()?;
        let outer = std::mem::take(&mut self.may_select_into);
        let query = if self.is(b'(') {
            let inner = self.paren_query()?;
            if self.is(b')') { inner } else { self.query_from(None, QueryBody::Nested(inner))? }
        } else {
            self.query()?
        };
        self.may_select_into = outer;
        self.leave();
        self.expect(b')')?;
        Ok(query)
    }

    fn set_operations(&mut self, first: QueryBody<'a>) -> R<QueryBody<'a>> {
        let first = self.intersections(first)?;
        if !self.is_any(&[Kw::UNION, Kw::EXCEPT]) || self.into_before_from.is_some() {
            return Ok(first);
        }
        let mut rest = self.vec();
        while self.is_any(&[Kw::UNION, Kw::EXCEPT]) {
            let op = if self.is_kw(Kw::UNION) { SetOp::Union } else { SetOp::Except };
            let all = self.set_quantifier()?;
            let body = self.later_primary()?;
            let body = self.intersections(body)?;
            rest.push(SetTerm { op, all, body });
        }
        Ok(QueryBody::SetOperation(self.alloc(SetOperation { first, rest: rest.into_bump_slice() })))
    }

    fn intersections(&mut self, first: QueryBody<'a>) -> R<QueryBody<'a>> {
        if !self.is_kw(Kw::INTERSECT) {
            return Ok(first);
        }
        let mut rest = self.vec();
        while self.is_kw(Kw::INTERSECT) {
            let all = self.set_quantifier()?;
            let body = self.later_primary()?;
            rest.push(SetTerm { op: SetOp::Intersect, all, body });
        }
        Ok(QueryBody::SetOperation(self.alloc(SetOperation { first, rest: rest.into_bump_slice() })))
    }

    /// A part after the first: INTO may stand behind the last one, but not in it.
    fn later_primary(&mut self) -> R<QueryBody<'a>> {
        let outer = std::mem::take(&mut self.may_select_into);
        let body = self.query_primary();
        self.may_select_into = outer;
        body
    }

    /// After the word of a set operation: whether ALL.
    fn set_quantifier(&mut self) -> R<bool> {
        self.bump();
        if self.eat_kw(Kw::ALL) {
            return Ok(true);
        }
        self.eat_kw(Kw::DISTINCT);
        Ok(false)
    }

    pub(super) fn with(&mut self) -> R<&'a With<'a>> {
        self.expect_kw(Kw::WITH)?;
        let recursive = self.eat_kw(Kw::RECURSIVE);
        let tables = self.comma_list(|p| p.common_table(recursive))?;
        Ok(self.alloc(With { recursive, tables }))
    }

    fn common_table(&mut self, recursive: bool) -> R<CommonTable<'a>> {
        let name = self.ident()?;
        let columns = if self.is(b'(') { self.paren_list(Self::ident)? } else { &[] };
        self.expect_kw(Kw::AS)?;
        let query = self.paren_query()?;
        let mut cycle: &[_] = &[];
        if recursive && self.eat_kw(Kw::CYCLE) {
            cycle = self.idents()?;
            self.expect_kw(Kw::RESTRICT)?;
        }
        Ok(CommonTable { name, columns, query, cycle })
    }

    fn select(&mut self) -> R<Select<'a>> {
        self.bump();
        let options = self.select_options();
        let items = self.comma_list(Self::select_item)?;
        let mut into = None;
        if self.may_select_into && self.is_kw(Kw::INTO) {
            into = Some(self.select_into()?);
        }
        let mut select = Select {
            options,
            items,
            from: &[],
            filter: None,
            group_by: &[],
            rollup: false,
            having: None,
            windows: &[],
        };
        if self.eat_kw(Kw::FROM) {
            if !self.eat_kw(Kw::DUAL) {
                select.from = self.table_refs()?;
            }
        } else if into.is_none() && !self.is_any(&[Kw::WHERE, Kw::GROUP, Kw::HAVING, Kw::WINDOW]) {
            return Ok(select);
        }
        select.filter = self.filter()?;
        if self.eat_kws(Kw::GROUP, Kw::BY) {
            select.group_by = self.comma_list(Self::order_item)?;
            select.rollup = self.eat_kws(Kw::WITH, Kw::ROLLUP);
            if self.is_kw(Kw::WITH) && self.peek().kw == Kw::CUBE {
                return Err(Fail::Other(1235, "This version of MariaDB doesn't yet support 'CUBE'".into()));
            }
        }
        if self.eat_kw(Kw::HAVING) {
            select.having = Some(self.expr()?);
        }
        if self.is_kw(Kw::WINDOW) {
            self.bump();
            select.windows = self.comma_list(Self::named_window)?;
        }
        if into.is_some() {
            self.into_before_from = into;
        }
        Ok(select)
    }

    fn select_options(&mut self) -> SelectOptions {
        let mut options = SelectOptions::default();
        loop {
            match self.token.kw {
                Kw::DISTINCT | Kw::DISTINCTROW | Kw::UNIQUE => options.distinct = true,
                Kw::ALL => {}
                Kw::STRAIGHT_JOIN => options.straight_join = true,
                Kw::HIGH_PRIORITY => options.high_priority = true,
                Kw::SQL_SMALL_RESULT => options.small_result = true,
                Kw::SQL_BIG_RESULT => options.big_result = true,
                Kw::SQL_BUFFER_RESULT => options.buffer_result = true,
                Kw::SQL_CALC_FOUND_ROWS => options.calc_found_rows = true,
                Kw::SQL_CACHE => options.cache = Some(true),
                Kw::SQL_NO_CACHE => options.cache = Some(false),
                _ => return options,
            }
            self.bump();
        }
    }

    pub(super) fn select_items(&mut self) -> R<&'a [SelectItem<'a>]> {
        self.comma_list(Self::select_item)
    }

    fn select_item(&mut self) -> R<SelectItem<'a>> {
        if self.eat(b'*') {
            return Ok(SelectItem::All);
        }
        if self.is_ident()
            && self.lexer.follows(b'.')
            && let Some(item) = self.table_star()?
        {
            return Ok(item);
        }
        let start = self.token.start;
        let expr = self.expr()?;
        let text = self.text_since(start);
        let alias = self.select_alias()?;
        Ok(SelectItem::Expr(SelectExpr { expr, alias, text }))
    }

    /// `[database.]table.*`
    fn table_star(&mut self) -> R<Option<SelectItem<'a>>> {
        let mark = self.mark();
        let first = self.ident()?;
        if !self.is(b'.') {
            self.rewind(mark);
            return Ok(None);
        }
        if self.lexer.follows(b'*') {
            self.bump();
            self.bump();
            return Ok(Some(SelectItem::AllOf(ObjectName { database: None, name: first })));
        }
        if let Ok(second) = self.name_after_dot()
            && self.is(b'.')
            && self.lexer.follows(b'*')
        {
            self.bump();
            self.bump();
            return Ok(Some(SelectItem::AllOf(ObjectName { database: Some(first), name: second })));
        }
        self.rewind(mark);
        Ok(None)
    }

    /// `[AS] name | 'name'`
    pub(super) fn select_alias(&mut self) -> R<Option<Ident<'a>>> {
        if self.eat_kw(Kw::AS) {
            return Ok(Some(self.ident_or_text()?));
        }
        if self.is_text_or_ident() && !self.is_kw(Kw::SOUNDS) && !self.is_tok(Tok::HexString) {
            return Ok(Some(self.ident_or_text()?));
        }
        Ok(None)
    }

    pub(super) fn filter(&mut self) -> R<Option<Expr<'a>>> {
        if self.eat_kw(Kw::WHERE) { Ok(Some(self.expr()?)) } else { Ok(None) }
    }

    /// `[ORDER BY ...]`
    pub(super) fn order_by(&mut self) -> R<&'a [OrderItem<'a>]> {
        if !self.eat_kw(Kw::ORDER) {
            return Ok(&[]);
        }
        self.expect_kw(Kw::BY)?;
        self.comma_list(Self::order_item)
    }

    pub(super) fn order_item(&mut self) -> R<OrderItem<'a>> {
        let expr = self.expr()?;
        let descending = self.eat_kw(Kw::DESC);
        if !descending {
            self.eat_kw(Kw::ASC);
        }
        Ok(OrderItem { expr, descending })
    }

    /// `[LIMIT ...]` or `[OFFSET ...] [FETCH ...]`
    pub(super) fn limit(&mut self) -> R<Option<&'a Limit<'a>>> {
        let mut limit = Limit { count: None, offset: None, with_ties: false, rows_examined: None };
        if self.eat_kw(Kw::LIMIT) {
            if !self.eat_kws(Kw::ROWS, Kw::EXAMINED) {
                let first = self.limit_value()?;
                limit.count = Some(first);
                if self.eat(b',') {
                    limit.offset = Some(first);
                    limit.count = Some(self.limit_value()?);
                } else if self.eat_kw(Kw::OFFSET) {
                    limit.offset = Some(self.limit_value()?);
                }
                if !self.eat_kw(Kw::ROWS) {
                    return Ok(Some(self.alloc(limit)));
                }
                self.expect_kw(Kw::EXAMINED)?;
            }
            limit.rows_examined = Some(self.limit_value()?);
            return Ok(Some(self.alloc(limit)));
        }
        let offset = self.eat_kw(Kw::OFFSET);
        if offset {
            limit.offset = Some(self.limit_value()?);
            self.one_of(&[Kw::ROW, Kw::ROWS])?;
        }
        if self.eat_kw(Kw::FETCH) {
            self.one_of(&[Kw::FIRST, Kw::NEXT])?;
            let one = Expr::Literal(Literal::Int(1));
            limit.count = Some(if self.is_any(&[Kw::ROW, Kw::ROWS]) { one } else { self.limit_value()? });
            self.one_of(&[Kw::ROW, Kw::ROWS])?;
            if self.eat_kw(Kw::WITH) {
                self.expect_kw(Kw::TIES)?;
                limit.with_ties = true;
            } else {
                self.expect_kw(Kw::ONLY)?;
            }
            return Ok(Some(self.alloc(limit)));
        }
        if offset { Ok(Some(self.alloc(limit))) } else { Ok(None) }
    }

    /// A number, a parameter or a program variable.
    pub(super) fn limit_value(&mut self) -> R<Expr<'a>> {
        match self.token.tok {
            Tok::Int => Ok(Expr::Literal(Literal::Int(self.number()?))),
            Tok::Param => self.primary(),
            _ if self.is_ident() => Ok(Expr::Column(self.column_ref()?)),
            _ => Err(Fail::Syntax),
        }
    }

    pub(super) fn row_lock(&mut self) -> R<Option<RowLock>> {
        let strength = if self.is_kw(Kw::FOR) && self.peek().kw == Kw::UPDATE {
            self.bump();
            self.bump();
            LockStrength::Exclusive
        } else if self.is_kw(Kw::LOCK) && self.peek().kw == Kw::IN {
            self.bump();
            self.bump();
            self.expect_kw(Kw::SHARE)?;
            self.expect_kw(Kw::MODE)?;
            LockStrength::Shared
        } else {
            return Ok(None);
        };
        let wait = if self.eat_kw(Kw::SKIP) {
            self.expect_kw(Kw::LOCKED)?;
            LockWait::SkipLocked
        } else {
            self.lock_wait()?
        };
        Ok(Some(RowLock { strength, wait }))
    }

    /// `[WAIT n | NOWAIT]`
    pub(super) fn lock_wait(&mut self) -> R<LockWait> {
        if self.eat_kw(Kw::NOWAIT) {
            return Ok(LockWait::NoWait);
        }
        if self.eat_kw(Kw::WAIT) {
            return Ok(LockWait::Seconds(self.number()?));
        }
        Ok(LockWait::Default)
    }

    fn select_into(&mut self) -> R<&'a SelectInto<'a>> {
        self.bump();
        let into = if self.eat_kw(Kw::OUTFILE) {
            let path = self.string()?;
            let charset = self.optional_load_charset()?;
            SelectInto::OutFile { path, charset, format: self.file_format()? }
        } else if self.eat_kw(Kw::DUMPFILE) {
            SelectInto::DumpFile(self.string()?)
        } else {
            SelectInto::Variables(self.comma_list(Self::target_variable)?)
        };
        Ok(self.alloc(into))
    }

    pub(super) fn target_variable(&mut self) -> R<IntoTarget<'a>> {
        if self.is_tok(Tok::AtName) {
            return Ok(IntoTarget::User(self.at_name()?));
        }
        let name = self.ident()?;
        let field = if self.is(b'.') { Some(self.name_after_dot()?) } else { None };
        Ok(IntoTarget::Local { name, field })
    }

    // Windows.

    fn named_window(&mut self) -> R<NamedWindow<'a>> {
        let name = self.ident()?;
        self.expect_kw(Kw::AS)?;
        self.expect(b'(')?;
        Ok(NamedWindow { name, spec: self.window_spec()? })
    }

    /// After `(`, up to and with `)`.
    pub(super) fn window_spec(&mut self) -> R<WindowSpec<'a>> {
        let base = if self.is_ident() { Some(self.ident()?) } else { None };
        let partition_by = if self.eat_kw(Kw::PARTITION) {
            self.expect_kw(Kw::BY)?;
            self.comma_list(Self::order_item)?
        } else {
            &[]
        };
        let order_by = self.order_by()?;
        let frame = if self.is_any(&[Kw::ROWS, Kw::RANGE]) { Some(self.window_frame()?) } else { None };
        self.expect(b')')?;
        Ok(WindowSpec { base, partition_by, order_by, frame })
    }

    fn window_frame(&mut self) -> R<&'a WindowFrame<'a>> {
        let unit = if self.is_kw(Kw::ROWS) { FrameUnit::Rows } else { FrameUnit::Range };
        self.bump();
        let (start, end);
        if self.eat_kw(Kw::BETWEEN) {
            start = self.frame_bound()?;
            self.expect_kw(Kw::AND)?;
            end = Some(self.frame_bound()?);
        } else {
            start = self.frame_bound()?;
            end = None;
        }
        let exclude = if self.eat_kw(Kw::EXCLUDE) { self.frame_exclude()? } else { FrameExclude::NoOthers };
        Ok(self.alloc(WindowFrame { unit, start, end, exclude }))
    }

    fn frame_exclude(&mut self) -> R<FrameExclude> {
        let kw = self.one_of(&[Kw::NO, Kw::CURRENT, Kw::GROUP, Kw::TIES])?;
        Ok(match kw {
            Kw::NO => {
                self.expect_kw(Kw::OTHERS)?;
                FrameExclude::NoOthers
            }
            Kw::CURRENT => {
                self.expect_kw(Kw::ROW)?;
                FrameExclude::CurrentRow
            }
            Kw::GROUP => FrameExclude::Group,
            _ => FrameExclude::Ties,
        })
    }

    fn frame_bound(&mut self) -> R<FrameBound<'a>> {
        if self.eat_kw(Kw::UNBOUNDED) {
            return Ok(match self.one_of(&[Kw::PRECEDING, Kw::FOLLOWING])? {
                Kw::PRECEDING => FrameBound::UnboundedPreceding,
                _ => FrameBound::UnboundedFollowing,
            });
        }
        if self.eat_kw(Kw::CURRENT) {
            self.expect_kw(Kw::ROW)?;
            return Ok(FrameBound::CurrentRow);
        }
        let offset = self.bit_expr()?;
        Ok(match self.one_of(&[Kw::PRECEDING, Kw::FOLLOWING])? {
            Kw::PRECEDING => FrameBound::Preceding(offset),
            _ => FrameBound::Following(offset),
        })
    }
}
