//! Function calls: the plain list, the ones with a syntax of their own, aggregates and windows.

use super::*;

impl<'a> Parser<'a> {
    /// At `(` after a name that is no word of the grammar.
    pub(super) fn call(&mut self, database: Option<Ident<'a>>, name: Ident<'a>) -> R<Expr<'a>> {
        self.bump();
        let mut args = self.vec();
        let mut names = self.vec();
        let mut named = false;
        if !self.is(b')') {
            loop {
                args.push(self.expr()?);
                let alias = self.select_alias()?;
                named |= alias.is_some();
                names.push(alias);
                if !self.eat(b',') {
                    break;
                }
            }
        }
        self.expect(b')')?;
        let arg_names: &[_] = if named { names.into_bump_slice() } else { &[] };
        Ok(Expr::Call(self.alloc(Call { database, name, args: args.into_bump_slice(), arg_names })))
    }

    fn plain_call(&self, name: Ident<'a>, args: &'a [Expr<'a>]) -> Expr<'a> {
        Expr::Call(self.alloc(Call { database: None, name, args, arg_names: &[] }))
    }

    /// A word of the grammar in an expression: a function with its own syntax, or a name after all.
    pub(super) fn word_call(&mut self, kw: Kw) -> R<Expr<'a>> {
        let call = self.peek().tok == Tok::Char(b'(');
        match kw {
            Kw::CURRENT_DATE | Kw::UTC_DATE => self.clock_call(false),
            Kw::CURRENT_TIME
            | Kw::CURRENT_TIMESTAMP
            | Kw::LOCALTIME
            | Kw::LOCALTIMESTAMP
            | Kw::UTC_TIME
            | Kw::UTC_TIMESTAMP => self.clock_call(true),
            Kw::CURRENT_USER | Kw::CURRENT_ROLE => self.clock_call(false),
            Kw::MATCH => {
                self.bump();
                self.match_call()
            }
            _ if call => self.special_call(kw),
            _ => self.name_after_all(),
        }
    }

    /// A free word as a column, or `word.column`.
    fn name_after_all(&mut self) -> R<Expr<'a>> {
        if self.is_any(&[Kw::SQL_BUFFER_RESULT, Kw::SQL_CACHE, Kw::SQL_NO_CACHE])
            && self.peek().tok != Tok::Char(b'.')
        {
            return Err(Fail::Syntax);
        }
        let first = self.column_ref()?;
        if self.is(b'(')
            && let ColumnRef { table: Some(table), name } = first
        {
            return self.call(Some(table.name), name);
        }
        Ok(Expr::Column(first))
    }

    /// `CURRENT_TIMESTAMP`, with or without `()` or `(precision)`.
    fn clock_call(&mut self, precision: bool) -> R<Expr<'a>> {
        let name = self.name_token()?;
        let mut args: &[_] = &[];
        if self.eat(b'(') {
            if precision && !self.is(b')') {
                let digits = self.integer()?;
                args = self.arena.alloc_slice_copy(&[Expr::Literal(Literal::Int(digits))]);
            }
            self.expect(b')')?;
        }
        Ok(self.plain_call(name, args))
    }

    /// A word of the grammar with `(` after it.
    fn special_call(&mut self, kw: Kw) -> R<Expr<'a>> {
        let name = Ident(self.token_text());
        if kw.is_reserved() && !callable(kw) {
            return Err(Fail::Syntax);
        }
        if not_callable(kw) {
            return Err(Fail::Syntax);
        }
        self.bump();
        match kw {
            Kw::ROW_NUMBER => {
                self.bump();
                self.expect(b')')?;
                let call = self.plain_call(name, &[]);
                self.over(call)
            }
            Kw::CONVERT => {
                self.bump();
                self.convert()
            }
            Kw::CHAR => self.char_call(),
            Kw::VALUES | Kw::VALUE => {
                self.bump();
                let column = self.column_ref()?;
                self.expect(b')')?;
                Ok(Expr::Special(self.alloc(Special::Values(column))))
            }
            Kw::DEFAULT => {
                self.bump();
                let column = self.column_ref()?;
                self.expect(b')')?;
                Ok(Expr::Special(self.alloc(Special::DefaultOf(column))))
            }
            Kw::TIMESTAMPADD | Kw::TIMESTAMPDIFF => self.timestamp_call(kw),
            Kw::GET_FORMAT => self.get_format(),
            Kw::WEIGHT_STRING => self.weight_string(),
            Kw::COLUMN_CREATE | Kw::COLUMN_ADD | Kw::COLUMN_GET => self.dynamic_column_call(kw),
            Kw::NEXTVAL | Kw::LASTVAL | Kw::SETVAL => self.sequence_call(kw),
            Kw::AVG => {
                self.bump();
                self.aggregate(AggregateFunction::Avg, true, 1)
            }
            Kw::LAST_VALUE => {
                let args = self.paren_list(Self::expr)?;
                let call = self.plain_call(name, args);
                if self.is_kw(Kw::OVER) { self.over(call) } else { Ok(call) }
            }
            _ => self.counted_call(kw, name),
        }
    }

    /// Functions whose name is a word of the grammar and whose number of arguments the grammar fixes.
    fn counted_call(&mut self, kw: Kw, name: Ident<'a>) -> R<Expr<'a>> {
        let (least, most) = match kw {
            Kw::DATABASE | Kw::SCHEMA | Kw::USER | Kw::ROW_COUNT => (0, 0),
            Kw::SYSDATE => (0, 1),
            Kw::ASCII | Kw::CHARSET | Kw::COLLATION | Kw::MICROSECOND | Kw::QUARTER => (1, 1),
            Kw::DATE | Kw::TIME | Kw::DAY | Kw::HOUR | Kw::MINUTE | Kw::MONTH | Kw::SECOND | Kw::YEAR => {
                (1, 1)
            }
            Kw::PASSWORD | Kw::OLD_PASSWORD => (1, 1),
            Kw::TIMESTAMP | Kw::WEEK => (1, 2),
            Kw::FORMAT => (2, 3),
            Kw::LEFT | Kw::RIGHT | Kw::MOD | Kw::REPEAT | Kw::TRUNCATE => (2, 2),
            Kw::IF | Kw::REPLACE => (3, 3),
            Kw::INSERT => (4, 4),
            Kw::COALESCE | Kw::COLUMN_DELETE => (1, usize::MAX),
            _ => return self.call(None, name),
        };
        let args = self.paren_list_or_empty(Self::expr)?;
        if args.len() < least || args.len() > most {
            return Err(Fail::Syntax);
        }
        Ok(self.plain_call(name, args))
    }

    fn char_call(&mut self) -> R<Expr<'a>> {
        self.bump();
        let args = self.exprs()?;
        let charset = if self.eat_kw(Kw::USING) { Some(self.charset_name()?) } else { None };
        self.expect(b')')?;
        Ok(Expr::Special(self.alloc(Special::Char { args, charset })))
    }

    fn match_call(&mut self) -> R<Expr<'a>> {
        let columns = if self.is(b'(') {
            self.paren_list(|p| p.column_ref().map(Expr::Column))?
        } else {
            self.comma_list(|p| p.column_ref().map(Expr::Column))?
        };
        self.expect_kw(Kw::AGAINST)?;
        self.expect(b'(')?;
        let against = self.bit_expr()?;
        let mut mode = MatchMode::Natural;
        if self.eat_kw(Kw::IN) {
            if self.eat_kw(Kw::BOOLEAN) {
                mode = MatchMode::Boolean;
            } else {
                self.expect_kw(Kw::NATURAL)?;
                self.expect_kw(Kw::LANGUAGE)?;
            }
            self.expect_kw(Kw::MODE)?;
        }
        if mode == MatchMode::Natural && self.eat_kw(Kw::WITH) {
            self.expect_kw(Kw::QUERY)?;
            self.expect_kw(Kw::EXPANSION)?;
            mode = MatchMode::NaturalWithExpansion;
        }
        self.expect(b')')?;
        Ok(Expr::Special(self.alloc(Special::Match { columns, against, mode })))
    }

    fn timestamp_call(&mut self, kw: Kw) -> R<Expr<'a>> {
        self.bump();
        let unit = self.simple_unit()?;
        self.expect(b',')?;
        let first = self.expr()?;
        self.expect(b',')?;
        let second = self.expr()?;
        self.expect(b')')?;
        Ok(Expr::Special(self.alloc(match kw {
            Kw::TIMESTAMPADD => Special::TimestampAdd { unit, amount: first, date: second },
            _ => Special::TimestampDiff { unit, from: first, to: second },
        })))
    }

    fn get_format(&mut self) -> R<Expr<'a>> {
        self.bump();
        let kind = Ident(self.token_text());
        self.one_of(&[Kw::DATE, Kw::TIME, Kw::DATETIME, Kw::TIMESTAMP])?;
        self.expect(b',')?;
        let locale = self.expr()?;
        self.expect(b')')?;
        Ok(Expr::Special(self.alloc(Special::GetFormat { kind, locale })))
    }

    fn weight_string(&mut self) -> R<Expr<'a>> {
        self.bump();
        let expr = self.expr()?;
        let (mut length, mut binary) = (None, false);
        if self.eat_kw(Kw::AS) {
            binary = self.one_of(&[Kw::CHAR, Kw::BINARY])? == Kw::BINARY;
            length = Some(self.paren_integer()?);
        } else if self.eat(b',') {
            // The internal form with three numbers; the last two are limits of the sort key.
            for _ in 0..2 {
                self.integer()?;
                self.expect(b',')?;
            }
            self.integer()?;
        }
        let mut levels = self.vec();
        if !binary && self.eat_kw(Kw::LEVEL) {
            loop {
                levels.push(self.weight_level()?);
                if !self.eat(b',') {
                    break;
                }
            }
        }
        self.expect(b')')?;
        let levels = levels.into_bump_slice();
        Ok(Expr::Special(self.alloc(Special::WeightString { expr, length, binary, levels })))
    }

    fn weight_level(&mut self) -> R<WeightLevel> {
        let from = self.integer()?;
        if self.eat(b'-') {
            let to = self.integer()?;
            return Ok(WeightLevel { from, to, descending: false, reverse: false });
        }
        let descending = self.eat_kw(Kw::DESC);
        if !descending {
            self.eat_kw(Kw::ASC);
        }
        let reverse = self.eat_kw(Kw::REVERSE);
        Ok(WeightLevel { from, to: from, descending, reverse })
    }

    fn dynamic_column_call(&mut self, kw: Kw) -> R<Expr<'a>> {
        self.bump();
        let special = match kw {
            Kw::COLUMN_CREATE => Special::ColumnCreate(self.comma_list(Self::dynamic_column)?),
            Kw::COLUMN_ADD => {
                let column = self.expr()?;
                self.expect(b',')?;
                Special::ColumnAdd { column, items: self.comma_list(Self::dynamic_column)? }
            }
            _ => {
                let column = self.expr()?;
                self.expect(b',')?;
                let name = self.expr()?;
                self.expect_kw(Kw::AS)?;
                Special::ColumnGet { column, name, target: self.cast_type()? }
            }
        };
        self.expect(b')')?;
        Ok(Expr::Special(self.alloc(special)))
    }

    fn dynamic_column(&mut self) -> R<DynamicColumn<'a>> {
        let name = self.expr()?;
        self.expect(b',')?;
        let value = self.expr()?;
        let target = if self.eat_kw(Kw::AS) {
            // No length here, unlike in CAST.
            if self.is_any(&[Kw::CHAR, Kw::NCHAR]) && self.peek().tok == Tok::Char(b'(') {
                self.bump();
                return Err(Fail::Syntax);
            }
            Some(self.cast_type()?)
        } else {
            None
        };
        Ok(DynamicColumn { name, value, target })
    }

    fn sequence_call(&mut self, kw: Kw) -> R<Expr<'a>> {
        self.bump();
        let sequence = self.object_name()?;
        let special = match kw {
            Kw::NEXTVAL => Special::NextValue(sequence),
            Kw::LASTVAL => Special::PreviousValue(sequence),
            _ => {
                self.expect(b',')?;
                let value = self.signed_integer()?;
                let (mut is_used, mut round) = (true, 0);
                if self.eat(b',') {
                    is_used = if self.is_any(&[Kw::TRUE, Kw::FALSE]) {
                        let used = self.is_kw(Kw::TRUE);
                        self.bump();
                        used
                    } else {
                        self.integer()? != 0
                    };
                    if self.eat(b',') {
                        round = self.integer()?;
                    }
                }
                Special::SetValue { sequence, value, is_used, round }
            }
        };
        self.expect(b')')?;
        Ok(Expr::Special(self.alloc(special)))
    }

    pub(super) fn signed_integer(&mut self) -> R<i128> {
        let negative = self.eat(b'-');
        if !negative {
            self.eat(b'+');
        }
        if !matches!(self.token.tok, Tok::Int) {
            return Err(Fail::Syntax);
        }
        let n = i128::from(self.number()?);
        Ok(if negative { -n } else { n })
    }

    // Words that are functions only with `(` after them.

    pub(super) fn function_word(&mut self) -> R<Expr<'a>> {
        use AggregateFunction as A;
        let kw = self.token.kw;
        let name = Ident(self.token_text());
        self.bump();
        self.expect(b'(')?;
        match kw {
            Kw::COUNT => self.count(),
            Kw::SUM => self.aggregate(A::Sum, true, 1),
            Kw::MIN => self.aggregate(A::Min, true, 1),
            Kw::MAX => self.aggregate(A::Max, true, 1),
            Kw::BIT_AND => self.aggregate(A::BitAnd, false, 1),
            Kw::BIT_OR => self.aggregate(A::BitOr, false, 1),
            Kw::BIT_XOR => self.aggregate(A::BitXor, false, 1),
            Kw::STD | Kw::STDDEV | Kw::STDDEV_POP => self.aggregate(A::StddevPop, false, 1),
            Kw::STDDEV_SAMP => self.aggregate(A::StddevSamp, false, 1),
            Kw::VARIANCE | Kw::VAR_POP => self.aggregate(A::VarPop, false, 1),
            Kw::VAR_SAMP => self.aggregate(A::VarSamp, false, 1),
            Kw::JSON_OBJECTAGG => self.aggregate(A::JsonObjectAgg, false, 2),
            Kw::GROUP_CONCAT => self.list_aggregate(A::GroupConcat),
            Kw::JSON_ARRAYAGG => self.list_aggregate(A::JsonArrayAgg),
            Kw::MEDIAN => self.aggregate(A::Median, false, 1),
            Kw::PERCENTILE_CONT => self.percentile(A::PercentileCont),
            Kw::PERCENTILE_DISC => self.percentile(A::PercentileDisc),
            Kw::CAST => self.cast(),
            Kw::EXTRACT => {
                let unit = self.interval_unit()?;
                self.expect_kw(Kw::FROM)?;
                let expr = self.expr()?;
                self.expect(b')')?;
                Ok(Expr::Special(self.alloc(Special::Extract { unit, expr })))
            }
            Kw::TRIM => self.trim(),
            Kw::POSITION => {
                let needle = self.bit_expr()?;
                self.expect_kw(Kw::IN)?;
                let haystack = self.expr()?;
                self.expect(b')')?;
                Ok(Expr::Special(self.alloc(Special::Position { needle, haystack })))
            }
            Kw::SUBSTRING | Kw::SUBSTR | Kw::MID => self.substring(name),
            Kw::DATE_ADD | Kw::ADDDATE => self.date_add(kw == Kw::ADDDATE, false),
            Kw::DATE_SUB | Kw::SUBDATE => self.date_add(kw == Kw::SUBDATE, true),
            Kw::DENSE_RANK | Kw::RANK | Kw::CUME_DIST | Kw::PERCENT_RANK => self.window_function(name, 0, 1),
            Kw::FIRST_VALUE | Kw::NTILE => self.window_function(name, 1, 1),
            Kw::NTH_VALUE => self.window_function(name, 2, 2),
            Kw::LAG | Kw::LEAD => self.window_function(name, 1, 2),
            _ => self.counted_function(kw, name),
        }
    }

    /// After `name(`
    fn counted_function(&mut self, kw: Kw, name: Ident<'a>) -> R<Expr<'a>> {
        let (least, most) = match kw {
            Kw::CURDATE | Kw::SESSION_USER | Kw::SYSTEM_USER => (0, 0),
            Kw::NOW | Kw::CURTIME => (0, 1),
            Kw::ADD_MONTHS => (2, 2),
            Kw::DATE_FORMAT => (2, 3),
            _ => (1, usize::MAX),
        };
        let args = if self.is(b')') { &[][..] } else { self.exprs()? };
        self.expect(b')')?;
        if args.len() < least || args.len() > most {
            return Err(Fail::Syntax);
        }
        Ok(self.plain_call(name, args))
    }

    fn trim(&mut self) -> R<Expr<'a>> {
        let side = match self.token.kw {
            Kw::BOTH => TrimSide::Both,
            Kw::LEADING => TrimSide::Leading,
            Kw::TRAILING => TrimSide::Trailing,
            _ => {
                let first = self.expr()?;
                let (what, expr) =
                    if self.eat_kw(Kw::FROM) { (Some(first), self.expr()?) } else { (None, first) };
                self.expect(b')')?;
                return Ok(Expr::Special(self.alloc(Special::Trim { side: TrimSide::Both, what, expr })));
            }
        };
        self.bump();
        let what = if self.is_kw(Kw::FROM) { None } else { Some(self.expr()?) };
        self.expect_kw(Kw::FROM)?;
        let expr = self.expr()?;
        self.expect(b')')?;
        Ok(Expr::Special(self.alloc(Special::Trim { side, what, expr })))
    }

    /// `SUBSTRING(s, from [, length])`, `SUBSTRING(s FROM from [FOR length])`
    fn substring(&mut self, name: Ident<'a>) -> R<Expr<'a>> {
        let mut args = self.vec();
        args.push(self.expr()?);
        if self.eat_kw(Kw::FROM) {
            args.push(self.expr()?);
            if self.eat_kw(Kw::FOR) {
                args.push(self.expr()?);
            }
        } else {
            self.expect(b',')?;
            args.push(self.expr()?);
            if self.eat(b',') {
                args.push(self.expr()?);
            }
        }
        self.expect(b')')?;
        Ok(self.plain_call(name, args.into_bump_slice()))
    }

    /// `DATE_ADD(d, INTERVAL n unit)`; ADDDATE also takes a number of days.
    fn date_add(&mut self, days_too: bool, subtract: bool) -> R<Expr<'a>> {
        let date = self.expr()?;
        self.expect(b',')?;
        let (amount, unit);
        if self.is_kw(Kw::INTERVAL) && !(days_too && self.interval_is_call()) {
            self.bump();
            amount = self.expr()?;
            unit = self.interval_unit()?;
        } else if days_too {
            amount = self.expr()?;
            unit = IntervalUnit::Day;
        } else {
            return Err(Fail::Syntax);
        }
        self.expect(b')')?;
        Ok(Expr::DateAdd(self.alloc(DateAdd { date, amount, unit, subtract })))
    }

    // Aggregates and windows.

    fn count(&mut self) -> R<Expr<'a>> {
        if self.eat(b'*') {
            self.expect(b')')?;
            return self.finish_aggregate(AggregateFunction::Count, false, &[]);
        }
        if self.eat_kw(Kw::ALL) {
            if self.eat(b'*') {
                self.expect(b')')?;
                return self.finish_aggregate(AggregateFunction::Count, false, &[]);
            }
        } else if self.eat_kw(Kw::DISTINCT) {
            let args = self.exprs()?;
            self.expect(b')')?;
            return self.finish_aggregate(AggregateFunction::Count, true, args);
        }
        let args = self.arena.alloc_slice_copy(&[self.expr()?]);
        self.expect(b')')?;
        self.finish_aggregate(AggregateFunction::Count, false, args)
    }

    /// After `name(`
    fn aggregate(&mut self, function: AggregateFunction, can_distinct: bool, args: usize) -> R<Expr<'a>> {
        let distinct = can_distinct && self.eat_kw(Kw::DISTINCT);
        self.eat_kw(Kw::ALL);
        let list = self.exprs()?;
        self.expect(b')')?;
        if list.len() != args {
            return Err(Fail::Syntax);
        }
        self.finish_aggregate(function, distinct, list)
    }

    fn finish_aggregate(
        &mut self,
        function: AggregateFunction,
        distinct: bool,
        args: &'a [Expr<'a>],
    ) -> R<Expr<'a>> {
        let aggregate = Aggregate { function, distinct, args, order_by: &[], separator: None, limit: None };
        let expr = Expr::Aggregate(self.alloc(aggregate));
        if self.is_kw(Kw::OVER) { self.over(expr) } else { Ok(expr) }
    }

    /// GROUP_CONCAT and JSON_ARRAYAGG, after `(`.
    fn list_aggregate(&mut self, function: AggregateFunction) -> R<Expr<'a>> {
        let distinct = self.eat_kw(Kw::DISTINCT);
        let args = self.exprs()?;
        let order_by = self.order_by()?;
        let mut separator = None;
        if function == AggregateFunction::GroupConcat && self.eat_kw(Kw::SEPARATOR) {
            separator = Some(self.string()?);
        }
        let limit = if self.is_kw(Kw::LIMIT) { self.limit()? } else { None };
        self.expect(b')')?;
        let aggregate = Aggregate { function, distinct, args, order_by, separator, limit };
        let expr = Expr::Aggregate(self.alloc(aggregate));
        if self.is_kw(Kw::OVER) { self.over(expr) } else { Ok(expr) }
    }

    /// `PERCENTILE_CONT(x) WITHIN GROUP (ORDER BY y) OVER ...`
    fn percentile(&mut self, function: AggregateFunction) -> R<Expr<'a>> {
        let args = self.arena.alloc_slice_copy(&[self.expr()?]);
        self.expect(b')')?;
        self.expect_kw(Kw::WITHIN)?;
        self.expect_kw(Kw::GROUP)?;
        self.expect(b'(')?;
        self.expect_kw(Kw::ORDER)?;
        self.expect_kw(Kw::BY)?;
        let order_by = self.arena.alloc_slice_copy(&[self.order_item()?]);
        self.expect(b')')?;
        let aggregate = Aggregate { function, distinct: false, args, order_by, separator: None, limit: None };
        let expr = Expr::Aggregate(self.alloc(aggregate));
        self.over(expr)
    }

    /// After `name(`: a function that needs OVER.
    fn window_function(&mut self, name: Ident<'a>, least: usize, most: usize) -> R<Expr<'a>> {
        let args = if self.is(b')') { &[][..] } else { self.exprs()? };
        self.expect(b')')?;
        if args.len() < least || args.len() > most {
            return Err(Fail::Syntax);
        }
        let call = self.plain_call(name, args);
        self.over(call)
    }

    fn over(&mut self, function: Expr<'a>) -> R<Expr<'a>> {
        self.expect_kw(Kw::OVER)?;
        let over = if self.eat(b'(') {
            let spec = self.window_spec()?;
            Over::Spec(self.alloc(spec))
        } else {
            Over::Name(self.ident()?)
        };
        Ok(Expr::Window(self.alloc(WindowCall { function, over })))
    }
}

/// Reserved words that are functions too.
fn callable(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::IF
            | Kw::LEFT
            | Kw::RIGHT
            | Kw::REPLACE
            | Kw::REPEAT
            | Kw::INSERT
            | Kw::CHAR
            | Kw::MOD
            | Kw::CONVERT
            | Kw::VALUES
            | Kw::DEFAULT
            | Kw::ROW_NUMBER
    )
}

/// Free words that do not name a function, though they can name anything else.
fn not_callable(kw: Kw) -> bool {
    #[rustfmt::skip]
    const WORDS: &[Kw] = &[
        Kw::ANY, Kw::BACKUP, Kw::BEGIN, Kw::BINLOG, Kw::BIT, Kw::BOOL, Kw::BOOLEAN, Kw::BYTE, Kw::CACHE, Kw::CHECKPOINT,
        Kw::CHECKSUM, Kw::CLOB, Kw::CLOSE, Kw::CODE, Kw::COMMENT, Kw::COMMIT, Kw::COMPRESSED, Kw::DATETIME,
        Kw::DEALLOCATE, Kw::DO, Kw::END, Kw::ENUM, Kw::EXAMINED, Kw::EXCLUDE, Kw::EXECUTE, Kw::FIXED, Kw::FLUSH,
        Kw::FOLLOWING, Kw::FOLLOWS, Kw::FUNCTION, Kw::GET, Kw::GLOBAL, Kw::HANDLER, Kw::HELP, Kw::ID, Kw::IGNORED,
        Kw::INSTALL, Kw::JSON, Kw::LANGUAGE, Kw::LOCAL, Kw::MEDIUM, Kw::NAMES, Kw::NATIONAL, Kw::NCHAR, Kw::NO,
        Kw::NUMBER, Kw::NVARCHAR, Kw::OPEN, Kw::OPTION, Kw::OPTIONS, Kw::OTHERS, Kw::PARSER, Kw::PERIOD, Kw::PORT,
        Kw::PRECEDES, Kw::PRECEDING, Kw::PREPARE, Kw::RAW, Kw::RECORD, Kw::REMOVE, Kw::REPAIR, Kw::REPLICA,
        Kw::REPLICAS, Kw::RESET, Kw::RESTORE, Kw::ROLE, Kw::ROLLBACK, Kw::SAVEPOINT, Kw::SECURITY, Kw::SERIAL,
        Kw::SERVER, Kw::SESSION, Kw::SHUTDOWN, Kw::SIGNED, Kw::SLAVE, Kw::SLAVES, Kw::SOME, Kw::SONAME, Kw::SOUNDS,
        Kw::START, Kw::STOP, Kw::STORED, Kw::TEXT, Kw::TIES, Kw::UNBOUNDED, Kw::UNICODE, Kw::UNINSTALL, Kw::UPGRADE,
        Kw::VARCHAR2, Kw::WINDOW, Kw::WRAPPER, Kw::XA,
    ];
    WORDS.contains(&kw)
}
