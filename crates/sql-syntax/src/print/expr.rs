//! Expressions.

use super::*;

/// How tight an expression binds, as in the parser.
const OR: u8 = 1;
const XOR: u8 = 2;
const AND: u8 = 3;
const COMPARE: u8 = 5;
const BETWEEN: u8 = 6;
const LIKE: u8 = 7;
const BIT_OR: u8 = 8;
const BIT_AND: u8 = 9;
const SHIFT: u8 = 10;
const ADD: u8 = 11;
const MUL: u8 = 12;
const BIT_XOR: u8 = 13;
const UNARY: u8 = 15;
const COLLATE: u8 = 16;
pub(super) const OPERAND: u8 = 17;

fn level(expr: &Expr<'_>) -> u8 {
    match expr {
        Expr::Or(_) => OR,
        Expr::And(_) => AND,
        Expr::Binary { op, .. } => binary_level(*op),
        Expr::Unary { .. } => UNARY,
        Expr::Is { .. } | Expr::Quantified(_) => COMPARE,
        Expr::Between(between) if !between.negated => BETWEEN,
        Expr::Like(like) if !like.negated => LIKE,
        Expr::Regexp { negated: false, .. } => LIKE,
        Expr::InList { negated: false, .. } | Expr::InQuery { negated: false, .. } => LIKE,
        Expr::Between(_)
        | Expr::Like(_)
        | Expr::Regexp { .. }
        | Expr::InList { .. }
        | Expr::InQuery { .. } => COMPARE,
        Expr::DateAdd(_) => ADD,
        Expr::Collate { .. } => COLLATE,
        _ => OPERAND,
    }
}

fn binary_level(op: BinaryOp) -> u8 {
    use BinaryOp as B;
    match op {
        B::Xor => XOR,
        B::Eq | B::NullSafeEq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge => COMPARE,
        B::SoundsLike => LIKE,
        B::BitOr => BIT_OR,
        B::BitAnd => BIT_AND,
        B::ShiftLeft | B::ShiftRight => SHIFT,
        B::Add | B::Sub => ADD,
        B::Mul | B::Div | B::IntDiv | B::Mod => MUL,
        B::BitXor => BIT_XOR,
        B::Concat => OPERAND,
    }
}

fn symbol(op: BinaryOp) -> &'static str {
    use BinaryOp as B;
    match op {
        B::Add => "+",
        B::Sub => "-",
        B::Mul => "*",
        B::Div => "/",
        B::IntDiv => "DIV",
        B::Mod => "MOD",
        B::BitOr => "|",
        B::BitAnd => "&",
        B::BitXor => "^",
        B::ShiftLeft => "<<",
        B::ShiftRight => ">>",
        B::Eq => "=",
        B::NullSafeEq => "<=>",
        B::Ne => "<>",
        B::Lt => "<",
        B::Le => "<=",
        B::Gt => ">",
        B::Ge => ">=",
        B::Xor => "xor",
        B::Concat => "||",
        B::SoundsLike => "sounds like",
    }
}

impl Printer<'_> {
    /// In parentheses when `expr` binds looser than `least`.
    pub(super) fn expr(&mut self, expr: &Expr<'_>, least: u8) {
        let own = level(expr);
        let parens = own < least || (self.style.grouped && own < OPERAND);
        if parens {
            self.text("(");
        }
        self.bare(expr);
        if parens {
            self.text(")");
        }
    }

    fn bare(&mut self, expr: &Expr<'_>) {
        match expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Column(column) => self.column(column),
            Expr::Param(_) => self.text("?"),
            Expr::UserVariable(name) => self.user_variable(*name),
            Expr::AssignVariable { name, value } => {
                self.text("(");
                self.user_variable(*name);
                self.text(":=");
                self.expr(value, 0);
                self.text(")");
            }
            Expr::SystemVariable(variable) => self.system_variable(variable),
            Expr::Unary { op, expr } => self.unary(*op, expr),
            Expr::Binary { op, left, right } => self.binary(*op, left, right),
            Expr::And(list) => self.list(list, " and ", |p, e| p.expr(e, AND + 1)),
            Expr::Or(list) => self.list(list, " or ", |p, e| p.expr(e, OR + 1)),
            Expr::Row(list) => {
                self.text(if list.len() == 1 { "row(" } else { "(" });
                self.exprs(list);
                self.text(")");
            }
            Expr::Subquery(query) => self.subquery(query),
            Expr::Exists(query) => {
                self.text("exists");
                self.subquery(query);
            }
            Expr::Case(case) => self.case(case),
            Expr::Cast(cast) => self.cast(cast),
            Expr::ConvertUsing { expr, charset } => {
                self.text("convert(");
                self.expr(expr, 0);
                self.text(" using ");
                self.lower(charset.0);
                self.text(")");
            }
            Expr::Collate { expr, collation } => {
                self.expr(expr, COLLATE);
                self.text(" collate ");
                self.lower(collation.0);
            }
            Expr::DateAdd(add) => {
                self.expr(&add.date, ADD);
                self.text(if add.subtract { " - interval " } else { " + interval " });
                self.expr(&add.amount, 0);
                self.text(" ");
                self.unit(add.unit, false);
            }
            Expr::Call(call) => self.call(call),
            Expr::Special(special) => self.special(special),
            Expr::Aggregate(aggregate) => self.aggregate(aggregate),
            Expr::Window(window) => self.window(window),
            Expr::Default => self.text("default"),
            Expr::Ignore => self.text("ignore"),
            _ => self.predicate(expr),
        }
    }

    pub(super) fn exprs(&mut self, list: &[Expr<'_>]) {
        self.list(list, ",", |p, e| p.expr(e, 0));
    }

    pub(super) fn subquery(&mut self, query: &Query<'_>) {
        self.text("(");
        self.query(query);
        self.text(")");
    }

    fn literal(&mut self, literal: &Literal<'_>) {
        match *literal {
            Literal::Null => self.text("NULL"),
            Literal::True => self.text("1"),
            Literal::False => self.text("0"),
            Literal::Int(n) => self.number(n),
            Literal::Decimal(text) | Literal::Double(text) => self.lower(text),
            Literal::String(text) => self.string(text),
            Literal::National(text) => {
                self.text("_utf8mb3");
                self.string(text);
            }
            Literal::Introduced(introduced) => {
                self.text("_");
                self.lower(introduced.charset.0);
                if !matches!(introduced.value, Literal::String(_)) {
                    self.text(" ");
                }
                self.literal(&introduced.value);
            }
            Literal::HexString(bytes) => {
                self.text("X'");
                self.hex(bytes);
                self.text("'");
            }
            Literal::HexHybrid(bytes) | Literal::Bits(bytes) => match bytes.is_empty() {
                true => self.text("b''"),
                false => {
                    self.text("0x");
                    self.hex(bytes);
                }
            },
            Literal::Date(text) => self.typed("DATE", text),
            Literal::Time(text) => self.typed("TIME", text),
            Literal::Timestamp(text) => self.typed("TIMESTAMP", text),
        }
    }

    fn typed(&mut self, word: &str, text: &[u8]) {
        self.text(word);
        self.string(text);
    }

    pub(super) fn column(&mut self, column: &ColumnRef<'_>) {
        if let Some(table) = column.table {
            self.object(table);
            self.text(".");
        }
        self.ident(column.name);
    }

    pub(super) fn user_variable(&mut self, name: Ident<'_>) {
        self.text("@");
        let plain = !name.0.is_empty()
            && name.0.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.'));
        if plain {
            self.out.extend_from_slice(name.0);
        } else {
            self.ident(name);
        }
    }

    fn system_variable(&mut self, variable: &SystemVariable<'_>) {
        self.text("@@");
        match variable.scope {
            Some(Scope::Global) => self.text("global."),
            Some(Scope::Session) => self.text("session."),
            None => {}
        }
        if let Some(base) = variable.base {
            self.ident(base);
            self.text(".");
        }
        self.ident(variable.name);
    }

    fn unary(&mut self, op: UnaryOp, expr: &Expr<'_>) {
        match op {
            UnaryOp::Neg => self.text("-"),
            UnaryOp::BitNot => self.text("~"),
            UnaryOp::Not => self.text("!"),
            UnaryOp::Binary => {
                self.text("cast(");
                self.expr(expr, 0);
                return self.text(" as char charset binary)");
            }
        }
        self.expr(expr, UNARY);
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr<'_>, right: &Expr<'_>) {
        if op == BinaryOp::Concat {
            self.text("concat(");
            self.expr(left, 0);
            self.text(",");
            self.expr(right, 0);
            return self.text(")");
        }
        let own = binary_level(op);
        self.expr(left, own);
        self.text(" ");
        self.text(symbol(op));
        self.text(" ");
        self.expr(right, own + 1);
    }

    fn predicate(&mut self, expr: &Expr<'_>) {
        let not = |negated: bool| if negated { " not" } else { "" };
        // NOT would go into a predicate to its left.
        let least = |negated: bool| if negated { BIT_OR } else { LIKE };
        match expr {
            Expr::Is { expr, test, negated } => {
                self.expr(expr, COMPARE);
                self.text(if *negated { " is not " } else { " is " });
                self.text(match test {
                    IsTest::Null | IsTest::Unknown => "null",
                    IsTest::True => "true",
                    IsTest::False => "false",
                });
            }
            Expr::Between(between) => {
                self.expr(&between.expr, least(between.negated));
                self.text(not(between.negated));
                self.text(" between ");
                self.expr(&between.low, LIKE);
                self.text(" and ");
                self.expr(&between.high, LIKE);
            }
            Expr::Like(like) => {
                self.expr(&like.expr, least(like.negated));
                // Two spaces, as the server has it.
                self.text(if like.negated { "  not like " } else { " like " });
                self.expr(&like.pattern, BIT_OR);
                if let Some(escape) = &like.escape {
                    self.text(" escape ");
                    self.expr(escape, BIT_OR);
                }
            }
            Expr::Regexp { expr, pattern, negated } => {
                self.expr(expr, least(*negated));
                self.text(not(*negated));
                self.text(" regexp ");
                self.expr(pattern, BIT_OR);
            }
            Expr::InList { expr, list, negated } => {
                self.expr(expr, least(*negated));
                self.text(not(*negated));
                self.text(" in (");
                self.exprs(list);
                self.text(")");
            }
            Expr::InQuery { expr, query, negated } => {
                self.expr(expr, least(*negated));
                self.text(not(*negated));
                self.text(" in ");
                self.subquery(query);
            }
            Expr::Quantified(quantified) => {
                self.expr(&quantified.left, COMPARE);
                self.text(" ");
                self.text(symbol(quantified.op));
                self.text(if quantified.all { " all " } else { " any " });
                self.subquery(quantified.query);
            }
            _ => {}
        }
    }

    fn case(&mut self, case: &Case<'_>) {
        self.text("case ");
        if let Some(operand) = &case.operand {
            self.expr(operand, 0);
            self.text(" ");
        }
        for when in case.whens {
            self.text("when ");
            self.expr(&when.condition, 0);
            self.text(" then ");
            self.expr(&when.result, 0);
            self.text(" ");
        }
        if let Some(otherwise) = &case.otherwise {
            self.text("else ");
            self.expr(otherwise, 0);
            self.text(" ");
        }
        self.text("end");
    }

    fn cast(&mut self, cast: &Cast<'_>) {
        self.text("cast(");
        self.expr(&cast.expr, 0);
        self.text(" as ");
        self.cast_type(&cast.target);
        self.text(")");
    }

    fn sized(&mut self, word: &str, size: Option<u64>) {
        self.text(word);
        if let Some(size) = size {
            self.text("(");
            self.number(size);
            self.text(")");
        }
    }

    fn cast_type(&mut self, target: &CastType<'_>) {
        match *target {
            CastType::Binary { length } => {
                self.sized("char", length);
                self.text(" charset binary");
            }
            CastType::Char { length, charset } => {
                self.sized("char", length);
                if let Some(name) = charset.charset {
                    self.text(" charset ");
                    self.lower(name.0);
                }
                if charset.binary {
                    self.text(" binary");
                }
            }
            CastType::NationalChar { length } => self.sized("nchar", length),
            CastType::Signed => self.text("signed"),
            CastType::Unsigned => self.text("unsigned"),
            CastType::Decimal { precision, scale } => self.precise("decimal", precision, scale),
            CastType::Float => self.text("float"),
            CastType::Double { precision, scale } => self.precise("double", precision, scale),
            CastType::Date => self.text("date"),
            CastType::Time { precision } => self.sized("time", precision),
            CastType::DateTime { precision } => self.sized("datetime", precision),
            CastType::Year => self.text("year"),
            CastType::IntervalDaySecond { precision } => self.sized("interval day_second", precision),
            CastType::Named(name) => self.lower(name.0),
        }
    }

    fn precise(&mut self, word: &str, precision: Option<u64>, scale: Option<u64>) {
        self.text(word);
        if let Some(precision) = precision {
            self.text("(");
            self.number(precision);
            if let Some(scale) = scale {
                self.text(",");
                self.number(scale);
            }
            self.text(")");
        }
    }

    fn unit(&mut self, unit: IntervalUnit, upper: bool) {
        let name = format!("{unit:?}");
        let mut text = String::new();
        for (i, c) in name.char_indices() {
            if c.is_ascii_uppercase() && i > 0 {
                text.push('_');
            }
            text.push(if upper { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() });
        }
        self.text(&text);
    }

    // Calls.

    fn call(&mut self, call: &Call<'_>) {
        if let Some(database) = call.database {
            self.ident(database);
            self.text(".");
            self.ident(call.name);
        } else if call.name.is("mod") && call.args.len() == 2 {
            // The operator in parentheses: a call is an operand wherever it stands.
            self.text("(");
            self.binary(BinaryOp::Mod, &call.args[0], &call.args[1]);
            return self.text(")");
        } else {
            let name = call.name.0.to_ascii_lowercase();
            self.text(canonical_name(&name));
        }
        self.text("(");
        self.list(call.args, ",", |p, e| p.expr(e, 0));
        self.text(")");
    }

    fn special(&mut self, special: &Special<'_>) {
        match special {
            Special::Extract { unit, expr } => {
                self.text("extract(");
                self.unit(*unit, false);
                self.text(" from ");
                self.expr(expr, 0);
                self.text(")");
            }
            Special::Trim { side, what, expr } => self.trim(*side, what.as_ref(), expr),
            Special::Position { needle, haystack } => {
                self.text("locate(");
                self.expr(needle, 0);
                self.text(",");
                self.expr(haystack, 0);
                self.text(")");
            }
            Special::TimestampAdd { unit, amount, date } => {
                self.text("timestampadd(");
                self.unit_args(*unit, amount, date);
            }
            Special::TimestampDiff { unit, from, to } => {
                self.text("timestampdiff(");
                self.unit_args(*unit, from, to);
            }
            Special::GetFormat { kind, locale } => {
                self.text("get_format(");
                self.out.extend(kind.0.iter().map(u8::to_ascii_uppercase));
                self.text(", ");
                self.expr(locale, 0);
                self.text(")");
            }
            Special::Char { args, charset } => {
                self.text("char(");
                self.exprs(args);
                if let Some(charset) = charset {
                    self.text(" using ");
                    self.lower(charset.0);
                }
                self.text(")");
            }
            Special::Match { columns, against, mode } => {
                self.text("(match ");
                self.exprs(columns);
                self.text(" against (");
                self.expr(against, BIT_OR);
                self.text(match mode {
                    MatchMode::Natural => "))",
                    MatchMode::Boolean => " in boolean mode))",
                    MatchMode::NaturalWithExpansion => " with query expansion))",
                });
            }
            Special::Values(column) => self.of_column("value(", column),
            Special::DefaultOf(column) => self.of_column("default(", column),
            _ => self.rare_special(special),
        }
    }

    fn of_column(&mut self, open: &str, column: &ColumnRef<'_>) {
        self.text(open);
        self.column(column);
        self.text(")");
    }

    fn unit_args(&mut self, unit: IntervalUnit, first: &Expr<'_>, second: &Expr<'_>) {
        self.unit(unit, true);
        self.text(",");
        self.expr(first, 0);
        self.text(",");
        self.expr(second, 0);
        self.text(")");
    }

    fn trim(&mut self, side: TrimSide, what: Option<&Expr<'_>>, expr: &Expr<'_>) {
        self.text("trim(");
        let plain = side == TrimSide::Both && what.is_none();
        if !plain {
            self.text(match side {
                TrimSide::Both => "both ",
                TrimSide::Leading => "leading ",
                TrimSide::Trailing => "trailing ",
            });
            if let Some(what) = what {
                self.expr(what, 0);
                self.text(" ");
            }
            self.text("from ");
        }
        self.expr(expr, 0);
        self.text(")");
    }

    fn rare_special(&mut self, special: &Special<'_>) {
        match special {
            Special::WeightString { expr, length, binary, levels } => {
                self.text("weight_string(");
                self.expr(expr, 0);
                if let Some(length) = length {
                    self.sized(if *binary { " as binary" } else { " as char" }, Some(*length));
                }
                for (i, level) in levels.iter().enumerate() {
                    self.text(if i == 0 { " level " } else { "," });
                    self.number(level.from);
                    if level.to != level.from {
                        self.text("-");
                        self.number(level.to);
                    }
                    self.text(if level.descending { " desc" } else { "" });
                    self.text(if level.reverse { " reverse" } else { "" });
                }
                self.text(")");
            }
            Special::NextValue(name) => self.of_sequence("nextval(", name),
            Special::PreviousValue(name) => self.of_sequence("lastval(", name),
            Special::SetValue { sequence, value, is_used, round } => {
                self.text("setval(");
                self.object(sequence);
                self.text(&format!(",{value},{},{round})", u8::from(*is_used)));
            }
            Special::ColumnCreate(items) => {
                self.text("column_create(");
                self.dynamic_columns(items);
                self.text(")");
            }
            Special::ColumnAdd { column, items } => {
                self.text("column_add(");
                self.expr(column, 0);
                self.text(",");
                self.dynamic_columns(items);
                self.text(")");
            }
            Special::ColumnGet { column, name, target } => {
                self.text("column_get(");
                self.expr(column, 0);
                self.text(",");
                self.expr(name, 0);
                self.text(" as ");
                self.cast_type(target);
                self.text(")");
            }
            _ => {}
        }
    }

    fn of_sequence(&mut self, open: &str, name: &ObjectName<'_>) {
        self.text(open);
        self.object(name);
        self.text(")");
    }

    fn dynamic_columns(&mut self, items: &[DynamicColumn<'_>]) {
        self.list(items, ",", |p, item| {
            p.expr(&item.name, 0);
            p.text(",");
            p.expr(&item.value, 0);
            if let Some(target) = &item.target {
                p.text(" as ");
                p.cast_type(target);
            }
        });
    }

    fn aggregate(&mut self, aggregate: &Aggregate<'_>) {
        use AggregateFunction as A;
        self.text(match aggregate.function {
            A::Count => "count(",
            A::Sum => "sum(",
            A::Avg => "avg(",
            A::Min => "min(",
            A::Max => "max(",
            A::BitAnd => "bit_and(",
            A::BitOr => "bit_or(",
            A::BitXor => "bit_xor(",
            A::StddevPop => "std(",
            A::StddevSamp => "stddev_samp(",
            A::VarPop => "variance(",
            A::VarSamp => "var_samp(",
            A::GroupConcat => "group_concat(",
            A::JsonArrayAgg => "json_arrayagg(",
            A::JsonObjectAgg => "json_objectagg(",
            A::PercentileCont => "percentile_cont(",
            A::PercentileDisc => "percentile_disc(",
            A::Median => "median(",
        });
        if aggregate.distinct {
            self.text("distinct ");
        }
        if aggregate.args.is_empty() {
            self.text("*");
        }
        self.exprs(aggregate.args);
        if matches!(aggregate.function, A::PercentileCont | A::PercentileDisc) {
            self.text(") within group (");
            self.order_by(aggregate.order_by);
            return self.text(")");
        }
        if !aggregate.order_by.is_empty() {
            self.text(" ");
            self.order_by(aggregate.order_by);
        }
        if aggregate.function == A::GroupConcat {
            self.text(" separator ");
            self.string(aggregate.separator.unwrap_or(b","));
        }
        if let Some(limit) = aggregate.limit {
            self.limit(limit);
        }
        self.text(")");
    }

    fn window(&mut self, window: &WindowCall<'_>) {
        self.expr(&window.function, 0);
        self.text(" over ");
        match window.over {
            Over::Name(name) => self.ident(name),
            Over::Spec(spec) => self.window_spec(spec),
        }
    }
}

/// The name that MariaDB prints for a function with several.
fn canonical_name(name: &[u8]) -> &str {
    match name {
        b"length" => "octet_length",
        b"upper" => "ucase",
        b"lower" => "lcase",
        b"substring" | b"mid" => "substr",
        b"now" | b"localtime" | b"localtimestamp" | b"current_timestamp" => "current_timestamp",
        b"current_date" => "curdate",
        b"current_time" => "curtime",
        b"character_length" => "char_length",
        b"power" => "pow",
        b"ceil" => "ceiling",
        b"sha" | b"sha1" => "sha",
        b"schema" => "database",
        b"day" => "dayofmonth",
        _ => std::str::from_utf8(name).unwrap_or("?"),
    }
}
