//! Operators: MariaDB's precedence, by binding power.
//!
//! From the loosest: OR, XOR, AND, NOT, comparison and IS (one level, from the left), BETWEEN, LIKE REGEXP IN SOUNDS,
//! `|`, `&`, shifts, `+ -`, `* / % DIV MOD`, `^`, `||` as concatenation, unary `- ~ ! BINARY`, COLLATE.
//!
//! What a table of levels alone does not say:
//! - The right side of a comparison is a predicate: `a = b LIKE c` is `a = (b LIKE c)`, `a = NOT b` is no expression.
//! - BETWEEN takes the predicates to its right: `a BETWEEN b AND c LIKE d` is `a BETWEEN b AND (c LIKE d)`.
//! - LIKE associates to the left, but NOT binds as tight as a sign: `a LIKE b LIKE c` is `(a LIKE b) LIKE c`,
//!   `a LIKE b NOT LIKE c` is `a LIKE (b NOT LIKE c)`.
//! - `INTERVAL n unit + x` takes all of `x` up to AND, OR and XOR.

use super::*;

const OR: u8 = 1;
const XOR: u8 = 2;
const AND: u8 = 3;
const NOT: u8 = 4;
const COMPARE: u8 = 5;
const BETWEEN: u8 = 6;
const LIKE: u8 = 7;
const BIT_OR: u8 = 8;
const BIT_AND: u8 = 9;
const SHIFT: u8 = 10;
const ADD: u8 = 11;
const MUL: u8 = 12;
const BIT_XOR: u8 = 13;
const CONCAT: u8 = 14;
const UNARY: u8 = 15;
const COLLATE: u8 = 16;

/// The nonterminals of the grammar: conditions, comparisons, predicates, arithmetic, concatenations, operands.
fn class_of(level: u8) -> u8 {
    match level {
        OR..=NOT => 1,
        COMPARE => 2,
        BETWEEN | LIKE => 3,
        BIT_OR..=BIT_XOR => 4,
        CONCAT => 5,
        _ => 6,
    }
}

enum Infix {
    Or,
    And,
    Binary(BinaryOp),
    Compare(BinaryOp),
    Is,
    Between,
    Like,
    Regexp,
    In,
    Sounds,
    /// NOT of NOT LIKE, NOT IN, ...
    Not,
    Collate,
}

/// What stands in parentheses.
pub(super) enum Paren<'a> {
    Query(&'a Query<'a>),
    Exprs(&'a [Expr<'a>]),
}

impl<'a> Parser<'a> {
    pub(super) fn expr(&mut self) -> R<Expr<'a>> {
        self.expr_above(0)
    }

    pub(super) fn exprs(&mut self) -> R<&'a [Expr<'a>]> {
        self.comma_list(Self::expr)
    }

    /// MariaDB's `bit_expr`: no comparison, no predicate.
    pub(super) fn bit_expr(&mut self) -> R<Expr<'a>> {
        self.expr_above(BIT_OR)
    }

    /// An expression whose operators bind at least as tight as `min`.
    fn expr_above(&mut self, min: u8) -> R<Expr<'a>> {
        self.enter()?;
        let outer = std::mem::take(&mut self.height);
        let (left, class) = self.prefix(min)?;
        let expr = self.infix_after(left, class, min)?;
        self.height = self.height.max(outer);
        self.leave();
        Ok(expr)
    }

    /// An operand with the operators in front of it, and its class.
    fn prefix(&mut self, min: u8) -> R<(Expr<'a>, u8)> {
        let op = match (self.token.tok, self.token.kw) {
            (Tok::Char(b'-'), _) => Some(UnaryOp::Neg),
            (Tok::Char(b'+'), _) => None,
            (Tok::Char(b'~'), _) => Some(UnaryOp::BitNot),
            (Tok::Char(b'!'), _) => Some(UnaryOp::Not),
            (Tok::Word, Kw::BINARY) => Some(UnaryOp::Binary),
            (Tok::Word, Kw::NOT) if self.options.high_not_precedence => Some(UnaryOp::Not),
            (Tok::Word, Kw::NOT) if min <= NOT => {
                self.bump();
                let expr = self.expr_above(NOT)?;
                return Ok((Expr::Unary { op: UnaryOp::Not, expr: self.alloc(expr) }, class_of(NOT)));
            }
            (Tok::Word, Kw::INTERVAL) => return self.interval_first(min),
            _ => return Ok((self.primary()?, class_of(COLLATE))),
        };
        self.bump();
        let expr = if self.is_kw(Kw::INTERVAL) && matches!(op, None | Some(UnaryOp::Neg)) {
            let outer = std::mem::take(&mut self.height);
            let expr = self.interval_first(0)?.0;
            self.height = self.height.max(outer) + 1;
            expr
        } else {
            self.expr_above(UNARY)?
        };
        let expr = match op {
            Some(op) => Expr::Unary { op, expr: self.alloc(expr) },
            None => expr,
        };
        Ok((expr, class_of(UNARY)))
    }

    /// `INTERVAL n unit + date`, or the function `INTERVAL(n, ...)`.
    fn interval_first(&mut self, min: u8) -> R<(Expr<'a>, u8)> {
        let name = self.name_token()?;
        let amount = if self.eat(b'(') {
            match self.parens()? {
                Paren::Exprs(args) if args.len() > 1 => {
                    let call = Call { database: None, name, args, arg_names: &[] };
                    return Ok((Expr::Call(self.alloc(call)), class_of(COLLATE)));
                }
                Paren::Exprs(args) => self.infix(args[0], 0)?,
                Paren::Query(query) => self.infix(Expr::Subquery(query), 0)?,
            }
        } else {
            self.expr()?
        };
        let unit = self.interval_unit()?;
        if min > CONCAT {
            return Err(Fail::Syntax);
        }
        self.expect(b'+')?;
        let date = self.expr_above(NOT)?;
        let add = DateAdd { date, amount, unit, subtract: false };
        Ok((Expr::DateAdd(self.alloc(add)), class_of(ADD)))
    }

    /// After `(`: a query or a list of expressions, and `)`.
    pub(super) fn parens(&mut self) -> R<Paren<'a>> {
        self.enter()?;
        let outer = std::mem::take(&mut self.may_select_into);
        let content = self.parens_content()?;
        self.expect(b')')?;
        self.may_select_into = outer;
        self.leave();
        Ok(content)
    }

    fn parens_content(&mut self) -> R<Paren<'a>> {
        if self.starts_query() {
            return Ok(Paren::Query(self.query()?));
        }
        if !self.is(b'(') {
            return Ok(Paren::Exprs(self.exprs()?));
        }
        let outer = std::mem::take(&mut self.height);
        self.bump();
        let first = match self.parens()? {
            Paren::Query(query) if self.is(b')') => return Ok(Paren::Query(query)),
            Paren::Query(query) if self.continues_query() => {
                let first = QueryBody::Nested(query);
                return Ok(Paren::Query(self.query_from(None, first)?));
            }
            Paren::Query(query) => Expr::Subquery(query),
            Paren::Exprs(list) => self.row_or_single(list),
        };
        let first = self.infix(first, 0)?;
        self.height = self.height.max(outer);
        let mut list = self.vec();
        list.push(first);
        while self.eat(b',') {
            list.push(self.expr()?);
        }
        Ok(Paren::Exprs(list.into_bump_slice()))
    }

    pub(super) fn row_or_single(&self, list: &'a [Expr<'a>]) -> Expr<'a> {
        match list {
            [single] => *single,
            _ => Expr::Row(list),
        }
    }

    /// Operators to the right of `left`. `self.height` is that of `left`'s parts.
    pub(super) fn infix(&mut self, left: Expr<'a>, min: u8) -> R<Expr<'a>> {
        self.infix_after(left, class_of(COLLATE), min)
    }

    /// An operator takes no left side of a looser class: `a IS NULL + 1` is an error.
    fn infix_after(&mut self, mut left: Expr<'a>, mut class: u8, min: u8) -> R<Expr<'a>> {
        loop {
            self.height += 1;
            if self.height > MAX_HEIGHT {
                return Err(Fail::TooDeep);
            }
            let Some((op, level)) = self.infix_operator() else { return Ok(left) };
            let binds = if matches!(op, Infix::Not) { min <= BIT_OR } else { min <= level };
            if !binds || class_of(level) > class {
                return Ok(left);
            }
            class = class_of(level);
            left = self.apply(op, level, left)?;
        }
    }

    fn infix_operator(&self) -> Option<(Infix, u8)> {
        use BinaryOp as B;
        let binary = |op, level| Some((Infix::Binary(op), level));
        let compare = |op| Some((Infix::Compare(op), COMPARE));
        match self.token.tok {
            Tok::Word => match self.token.kw {
                Kw::ANY_OTHER => None,
                Kw::AND => Some((Infix::And, AND)),
                Kw::OR => Some((Infix::Or, OR)),
                Kw::XOR => binary(B::Xor, XOR),
                Kw::IS => Some((Infix::Is, COMPARE)),
                Kw::BETWEEN => Some((Infix::Between, BETWEEN)),
                Kw::LIKE => Some((Infix::Like, LIKE)),
                Kw::REGEXP | Kw::RLIKE => Some((Infix::Regexp, LIKE)),
                Kw::IN => Some((Infix::In, LIKE)),
                Kw::SOUNDS if self.peek().kw == Kw::LIKE => Some((Infix::Sounds, LIKE)),
                Kw::NOT => {
                    let next = self.peek().kw;
                    matches!(next, Kw::LIKE | Kw::IN | Kw::BETWEEN | Kw::REGEXP | Kw::RLIKE)
                        .then_some((Infix::Not, BETWEEN))
                }
                Kw::DIV => binary(B::IntDiv, MUL),
                Kw::MOD => binary(B::Mod, MUL),
                Kw::COLLATE => Some((Infix::Collate, COLLATE)),
                _ => None,
            },
            Tok::Char(b) => match b {
                b'=' => compare(B::Eq),
                b'<' => compare(B::Lt),
                b'>' => compare(B::Gt),
                b'+' => binary(B::Add, ADD),
                b'-' => binary(B::Sub, ADD),
                b'*' => binary(B::Mul, MUL),
                b'/' => binary(B::Div, MUL),
                b'%' => binary(B::Mod, MUL),
                b'|' => binary(B::BitOr, BIT_OR),
                b'&' => binary(B::BitAnd, BIT_AND),
                b'^' => binary(B::BitXor, BIT_XOR),
                _ => None,
            },
            Tok::NullSafeEq => compare(B::NullSafeEq),
            Tok::Le => compare(B::Le),
            Tok::Ge => compare(B::Ge),
            Tok::Ne => compare(B::Ne),
            Tok::ShiftLeft => binary(B::ShiftLeft, SHIFT),
            Tok::ShiftRight => binary(B::ShiftRight, SHIFT),
            Tok::AndAnd => Some((Infix::And, AND)),
            Tok::OrOr if self.options.pipes_as_concat => binary(B::Concat, CONCAT),
            Tok::OrOr => Some((Infix::Or, OR)),
            _ => None,
        }
    }

    /// With the operator as the current token.
    fn apply(&mut self, op: Infix, level: u8, left: Expr<'a>) -> R<Expr<'a>> {
        self.bump();
        match op {
            Infix::Or => self.conditions(left, OR),
            Infix::And => self.conditions(left, AND),
            Infix::Binary(op) => self.binary(op, level, left),
            Infix::Compare(op) => self.compare(op, left),
            Infix::Is => self.is_test(left),
            Infix::Not => {
                let Some((op, _)) = self.infix_operator() else { return Err(Fail::Syntax) };
                self.bump();
                self.predicate(op, left, true)
            }
            Infix::Sounds => {
                self.expect_kw(Kw::LIKE)?;
                self.binary(BinaryOp::SoundsLike, LIKE, left)
            }
            Infix::Collate => {
                let collation = self.charset_name()?;
                Ok(Expr::Collate { expr: self.alloc(left), collation })
            }
            _ => self.predicate(op, left, false),
        }
    }

    fn conditions(&mut self, first: Expr<'a>, level: u8) -> R<Expr<'a>> {
        let mut list = self.vec();
        list.push(first);
        loop {
            list.push(self.expr_above(level + 1)?);
            match self.infix_operator() {
                Some((Infix::Or | Infix::And, l)) if l == level => self.bump(),
                _ => break,
            }
        }
        let list = list.into_bump_slice();
        Ok(if level == OR { Expr::Or(list) } else { Expr::And(list) })
    }

    fn binary(&mut self, op: BinaryOp, level: u8, left: Expr<'a>) -> R<Expr<'a>> {
        if matches!(op, BinaryOp::Add | BinaryOp::Sub) && self.is_kw(Kw::INTERVAL) && !self.interval_is_call()
        {
            self.bump();
            let amount = self.expr()?;
            let unit = self.interval_unit()?;
            let subtract = op == BinaryOp::Sub;
            return Ok(Expr::DateAdd(self.alloc(DateAdd { date: left, amount, unit, subtract })));
        }
        let right = self.expr_above(level + 1)?;
        Ok(Expr::Binary { op, left: self.alloc(left), right: self.alloc(right) })
    }

    /// At INTERVAL after `+` or `-`: whether `( expr ,` follows, which is the function. Looks at the first list level.
    pub(super) fn interval_is_call(&self) -> bool {
        let mut lexer = self.lexer;
        if lexer.next().tok != Tok::Char(b'(') {
            return false;
        }
        let mut depth = 1u32;
        while depth > 0 && depth <= MAX_NESTING {
            match lexer.next().tok {
                Tok::Char(b'(') => depth += 1,
                Tok::Char(b')') => depth -= 1,
                Tok::Char(b',') if depth == 1 => return true,
                Tok::Eof | Tok::Bad => return false,
                _ => {}
            }
        }
        false
    }

    fn compare(&mut self, op: BinaryOp, left: Expr<'a>) -> R<Expr<'a>> {
        if op != BinaryOp::NullSafeEq
            && self.is_any(&[Kw::ALL, Kw::ANY, Kw::SOME])
            && self.peek().tok == Tok::Char(b'(')
        {
            let all = self.is_kw(Kw::ALL);
            self.bump();
            self.bump();
            let Paren::Query(query) = self.parens()? else { return Err(Fail::Syntax) };
            return Ok(Expr::Quantified(self.alloc(Quantified { left, op, all, query })));
        }
        let right = self.expr_above(BETWEEN)?;
        Ok(Expr::Binary { op, left: self.alloc(left), right: self.alloc(right) })
    }

    fn is_test(&mut self, left: Expr<'a>) -> R<Expr<'a>> {
        let negated = self.eat_kw(Kw::NOT);
        let test = match (self.token.tok, self.token.kw) {
            (_, Kw::NULL) | (Tok::Null, _) => IsTest::Null,
            (_, Kw::TRUE) => IsTest::True,
            (_, Kw::FALSE) => IsTest::False,
            (_, Kw::UNKNOWN) => IsTest::Unknown,
            _ => return Err(Fail::Syntax),
        };
        self.bump();
        Ok(Expr::Is { expr: self.alloc(left), test, negated })
    }

    /// After the word of BETWEEN, LIKE, REGEXP or IN.
    fn predicate(&mut self, op: Infix, left: Expr<'a>, negated: bool) -> R<Expr<'a>> {
        match op {
            Infix::Between => {
                let low = self.expr_above(BETWEEN)?;
                self.expect_kw(Kw::AND)?;
                let high = self.expr_above(BETWEEN)?;
                Ok(Expr::Between(self.alloc(Between { expr: left, low, high, negated })))
            }
            Infix::Like => {
                let pattern = self.expr_above(BIT_OR)?;
                let escape = if self.eat_kw(Kw::ESCAPE) { Some(self.expr_above(BIT_OR)?) } else { None };
                Ok(Expr::Like(self.alloc(Like { expr: left, pattern, escape, negated })))
            }
            Infix::Regexp => {
                let pattern = self.expr_above(BIT_OR)?;
                Ok(Expr::Regexp { expr: self.alloc(left), pattern: self.alloc(pattern), negated })
            }
            Infix::In => {
                self.expect(b'(')?;
                let expr = self.alloc(left);
                Ok(match self.parens()? {
                    Paren::Query(query) => Expr::InQuery { expr, query, negated },
                    Paren::Exprs(list) => Expr::InList { expr, list, negated },
                })
            }
            _ => Err(Fail::Syntax),
        }
    }

    pub(super) fn interval_unit(&mut self) -> R<IntervalUnit> {
        let unit = self.interval_unit_here().ok_or(Fail::Syntax)?;
        self.bump();
        Ok(unit)
    }

    fn interval_unit_here(&self) -> Option<IntervalUnit> {
        use IntervalUnit as U;
        Some(match self.token.kw {
            Kw::MICROSECOND => U::Microsecond,
            Kw::SECOND | Kw::SQL_TSI_SECOND => U::Second,
            Kw::MINUTE | Kw::SQL_TSI_MINUTE => U::Minute,
            Kw::HOUR | Kw::SQL_TSI_HOUR => U::Hour,
            Kw::DAY | Kw::SQL_TSI_DAY => U::Day,
            Kw::WEEK | Kw::SQL_TSI_WEEK => U::Week,
            Kw::MONTH | Kw::SQL_TSI_MONTH => U::Month,
            Kw::QUARTER | Kw::SQL_TSI_QUARTER => U::Quarter,
            Kw::YEAR | Kw::SQL_TSI_YEAR => U::Year,
            Kw::SECOND_MICROSECOND => U::SecondMicrosecond,
            Kw::MINUTE_MICROSECOND => U::MinuteMicrosecond,
            Kw::MINUTE_SECOND => U::MinuteSecond,
            Kw::HOUR_MICROSECOND => U::HourMicrosecond,
            Kw::HOUR_SECOND => U::HourSecond,
            Kw::HOUR_MINUTE => U::HourMinute,
            Kw::DAY_MICROSECOND => U::DayMicrosecond,
            Kw::DAY_SECOND => U::DaySecond,
            Kw::DAY_MINUTE => U::DayMinute,
            Kw::DAY_HOUR => U::DayHour,
            Kw::YEAR_MONTH => U::YearMonth,
            _ => return None,
        })
    }

    /// `TIMESTAMPADD(unit, ...)`: the simple units only.
    pub(super) fn simple_unit(&mut self) -> R<IntervalUnit> {
        let unit = self.interval_unit_here().ok_or(Fail::Syntax)?;
        if unit > IntervalUnit::Year {
            return Err(Fail::Syntax);
        }
        self.bump();
        Ok(unit)
    }
}
