//! Calls of functions: control flow becomes CASE, session values their own node, the rest goes to the registry.

use std::sync::Arc;

use accounts::Privileges;
use catalog::program::{ParamMode, ProgramKind, RoutineDef};
use charset::Collation;
use sql_syntax::ast;
use types::Value;

use crate::error::{Clause, SqlError, SqlResult};
use crate::expr::{ArithOp, CastTo, CompareOp, Expr, OutTarget, RoutineCall, SessionValue, Typed};
use crate::fold;
use crate::function;
use crate::meta::{Coercibility, ExprType, Nature};
use crate::planner::Planner;
use crate::scope::Name;
use crate::typing::{of_column, unify};

/// An OUT argument that is no variable, or one where there must be none.
fn out_argument(def: &RoutineDef, at: usize, variable: bool) -> SqlError {
    let n = at + 1;
    let (errno, state, text) = match variable {
        true => (
            4187,
            *b"HY000",
            format!("OUT or INOUT argument {n} for function {} is not allowed here", def.name),
        ),
        false => (
            1414,
            *b"42000",
            format!(
                "OUT or INOUT argument {n} for routine {} is not a variable or NEW pseudo-variable in BEFORE trigger",
                def.full_name()
            ),
        ),
    };
    SqlError::Other { errno, state, text }
}

/// A literal, with a sign or a collation: what NAME_CONST takes.
fn is_plain_constant(e: &ast::Expr<'_>) -> bool {
    match e {
        ast::Expr::Literal(_) => true,
        ast::Expr::Unary { op: ast::UnaryOp::Neg, expr } => matches!(expr, ast::Expr::Literal(_)),
        ast::Expr::Collate { expr, .. } => is_plain_constant(expr),
        _ => false,
    }
}

impl<'a> Planner<'a> {
    pub(crate) fn call(&mut self, call: &ast::Call<'a>, clause: Clause) -> SqlResult<Typed> {
        if let Some(database) = call.database {
            return self.stored(&database.text(), &call.name.text(), call.args, clause);
        }
        let name = call.name.text().to_lowercase();
        if !call.arg_names.is_empty() && function::find(&name).is_some() {
            return Err(SqlError::named_arguments(&call.name.text()));
        }
        if name == "name_const" && !call.args.iter().all(is_plain_constant) {
            let text = "Incorrect arguments to NAME_CONST".to_owned();
            return Err(SqlError::Other { errno: 1210, state: *b"HY000", text });
        }
        let typed = match self.session_value(&name, call.args, clause) {
            Ok(None) => self.call_function(&name, call.args, clause),
            Ok(Some(typed)) => Ok(typed),
            Err(e) => Err(e),
        };
        // Messages name a function as it was written.
        typed.map_err(|e| match e {
            SqlError::WrongParameterCount(n) if n == name => {
                SqlError::WrongParameterCount(call.name.text().into_owned())
            }
            other => other,
        })
    }

    fn args<const N: usize>(
        &mut self,
        name: &str,
        args: &[ast::Expr<'a>],
        clause: Clause,
    ) -> SqlResult<[Typed; N]> {
        let built: SqlResult<Vec<Typed>> = args.iter().map(|a| self.expr(a, clause)).collect();
        built?.try_into().map_err(|_| SqlError::WrongParameterCount(name.to_owned()))
    }

    /// A function by its lower case name.
    pub(crate) fn call_function(
        &mut self,
        name: &str,
        args: &[ast::Expr<'a>],
        clause: Clause,
    ) -> SqlResult<Typed> {
        match name {
            "if" => {
                let [condition, yes, no] = self.args(name, args, clause)?;
                let ty = unify(&yes.ty, &no.ty, "if")?;
                let expr =
                    Expr::Case { arms: vec![(condition.expr, yes.expr)], otherwise: Some(Box::new(no.expr)) };
                Ok(fold::to_type(Typed::new(expr, ty)))
            }
            "ifnull" | "nvl" => {
                let args: [Typed; 2] = self.args(name, args, clause)?;
                self.coalesce(args.into(), name)
            }
            "coalesce" => {
                let args: SqlResult<Vec<Typed>> = args.iter().map(|a| self.expr(a, clause)).collect();
                let args = args?;
                if args.is_empty() {
                    return Err(SqlError::WrongParameterCount(name.to_owned()));
                }
                self.coalesce(args, name)
            }
            "nullif" => {
                let [a, b] = self.args(name, args, clause)?;
                let ty = a.ty.nullable(true);
                let same = self.comparison(CompareOp::Eq, a.clone(), b)?.expr;
                let expr = Expr::Case {
                    arms: vec![(same, Expr::Const(Value::Null))],
                    otherwise: Some(Box::new(a.expr)),
                };
                Ok(Typed::new(expr, ty))
            }
            "isnull" => {
                let [arg] = self.args(name, args, clause)?;
                let expr = Expr::IsNull { arg: Box::new(arg.expr), negated: false };
                Ok(Typed::new(expr, ExprType::boolean().not_null()))
            }
            "coercibility" => {
                let [arg]: [Typed; 1] = self.args(name, args, clause)?;
                let level = match arg.ty.coercibility {
                    Coercibility::Explicit => 0,
                    Coercibility::None => 1,
                    Coercibility::Implicit => 2,
                    Coercibility::SysConst => 3,
                    Coercibility::Coercible => 6,
                    Coercibility::Numeric => 7,
                    Coercibility::Ignorable => 8,
                };
                Ok(Typed::new(Expr::int(level), ExprType::int(10).not_null()))
            }
            "add_months" => {
                let args: [Typed; 2] = self.args(name, args, clause)?;
                self.unit_call("date_add", ast::IntervalUnit::Month, args.into(), 2)
            }
            "mod" => {
                let [a, b] = self.args(name, args, clause)?;
                self.arith(ArithOp::Mod, a, b)
            }
            _ => self.registered(name, args, clause),
        }
    }

    fn registered(&mut self, name: &str, args: &[ast::Expr<'a>], clause: Clause) -> SqlResult<Typed> {
        let Some(function) = function::find(name) else {
            return self.stored(self.cx.database, name, args, clause);
        };
        let args: SqlResult<Vec<Typed>> = args.iter().map(|a| self.expr(a, clause)).collect();
        let mut args = args?;
        if !function.accepts(args.len()) {
            return Err(SqlError::WrongParameterCount(name.to_owned()));
        }
        self.json_values(name, &mut args)?;
        Ok(self.called(function, args))
    }

    /// Values that become parts of a JSON document are brought to JSON text before the call.
    fn json_values(&mut self, name: &str, args: &mut [Typed]) -> SqlResult<()> {
        let (first, step) = match name {
            "json_array" => (0, 1),
            "json_object" => (1, 2),
            "json_set" | "json_insert" | "json_replace" | "json_array_append" | "json_array_insert" => (2, 2),
            _ => return Ok(()),
        };
        let odd = args.len() % 2 == 1;
        if step == 2 && odd != (first == 2) {
            return Err(SqlError::WrongParameterCount(name.to_owned()));
        }
        for arg in args.iter_mut().skip(first).step_by(step) {
            *arg = self.as_json(arg.clone())?;
        }
        Ok(())
    }

    /// A stored function.
    fn stored(
        &mut self,
        schema: &str,
        name: &str,
        args: &[ast::Expr<'a>],
        clause: Clause,
    ) -> SqlResult<Typed> {
        let Some(def) = self.cx.catalog.routine(ProgramKind::Function, schema, name).cloned() else {
            let full = if schema.is_empty() { name.to_owned() } else { format!("{schema}.{name}") };
            return Err(SqlError::UnknownFunction(full));
        };
        if args.len() != def.params.len() {
            return Err(SqlError::RoutineArguments {
                kind: def.kind.word(),
                name: def.full_name(),
                expected: def.params.len(),
                got: args.len(),
            });
        }
        let ty = def.returns.as_ref().map_or(ExprType::bigint(), |c| of_column(&c.ty, true, c.width));
        if !self.routines.iter().any(|r| Arc::ptr_eq(r, &def)) {
            self.routines.push(def.clone());
        }
        if def.aggregate {
            if let Some(first) = def.params.iter().position(|p| p.mode != ParamMode::In) {
                let variable = matches!(args[first], ast::Expr::UserVariable(_));
                return Err(out_argument(&def, first, variable));
            }
            return self.stored_aggregate(def, ty, args, clause);
        }
        let args: SqlResult<Vec<Expr>> = args.iter().map(|a| Ok(self.expr(a, clause)?.expr)).collect();
        let args = args?;
        let outs = self.out_targets(&def, &args)?;
        Ok(Typed::new(Expr::Routine(Box::new(RoutineCall { def, args, outs })), ty))
    }

    /// What gets the values of OUT parameters: variables, and only where a value is asked for outside of queries and changes.
    fn out_targets(&self, def: &RoutineDef, args: &[Expr]) -> SqlResult<Vec<(usize, OutTarget)>> {
        let mut outs = Vec::new();
        for (i, (param, arg)) in def.params.iter().zip(args).enumerate() {
            if param.mode == ParamMode::In {
                continue;
            }
            let target = match arg {
                Expr::UserVariable(name) => OutTarget::User(name.clone()),
                Expr::Param(n) => OutTarget::Param(*n),
                _ => return Err(out_argument(def, i, false)),
            };
            if !self.outs_allowed {
                return Err(out_argument(def, i, true));
            }
            outs.push((i, target));
        }
        Ok(outs)
    }

    /// A call with its type; a text takes the collation of the static type.
    fn called(&self, function: function::Function, args: Vec<Typed>) -> Typed {
        let ty = function.result_type(&args, self.cx.connection_collation);
        let call = Expr::Call { function, args: args.into_iter().map(|a| a.expr).collect() };
        if ty.field.is_text() && !ty.collation.is_binary() {
            return Typed::new(Expr::Collate(Box::new(call), ty.collation), ty);
        }
        Typed::new(call, ty)
    }

    /// An argument that becomes a part of a JSON value, as JSON text.
    pub(crate) fn as_json(&mut self, arg: Typed) -> SqlResult<Typed> {
        let name = match arg.ty.nature {
            Nature::Json => "<json>",
            Nature::Boolean => "<json boolean>",
            Nature::Plain => "<json literal>",
        };
        self.library_call(name, vec![arg])
    }

    fn coalesce(&mut self, args: Vec<Typed>, name: &str) -> SqlResult<Typed> {
        let mut ty = args[0].ty;
        for arg in &args[1..] {
            let nullable = ty.nullable && arg.ty.nullable;
            ty = unify(&ty, &arg.ty, name)?.nullable(nullable);
        }
        let mut args: Vec<Expr> = args.into_iter().map(|a| a.expr).collect();
        let last = args.pop().map(Box::new);
        let arms =
            args.into_iter().map(|a| (Expr::IsNull { arg: Box::new(a.clone()), negated: true }, a)).collect();
        Ok(fold::to_type(Typed::new(Expr::Case { arms, otherwise: last }, ty)))
    }

    fn session_value(
        &mut self,
        name: &str,
        args: &[ast::Expr<'a>],
        clause: Clause,
    ) -> SqlResult<Option<Typed>> {
        let text = |n: u32| ExprType::text(n, Collation::UTF8MB3_GENERAL_CI, Coercibility::SysConst);
        let (value, ty) = match name {
            "database" | "schema" => (SessionValue::Database, text(64)),
            "user" | "session_user" | "system_user" => (SessionValue::User, text(384)),
            "current_user" => (SessionValue::CurrentUser, text(384)),
            "current_role" => (SessionValue::CurrentRole, text(384)),
            "version" => (SessionValue::Version, text(60).not_null()),
            "connection_id" => (SessionValue::ConnectionId, ExprType::bigint().not_null()),
            "last_insert_id" => (SessionValue::LastInsertId, ExprType::bigint().unsigned().not_null()),
            "row_count" => (SessionValue::RowCount, ExprType::bigint().not_null()),
            "found_rows" => (SessionValue::FoundRows, ExprType::bigint().not_null()),
            "get_lock" => (SessionValue::GetLock, ExprType { length: 1, ..ExprType::bigint() }),
            "release_lock" => (SessionValue::ReleaseLock, ExprType { length: 1, ..ExprType::bigint() }),
            "release_all_locks" => (SessionValue::ReleaseAllLocks, ExprType::bigint().unsigned().not_null()),
            "is_free_lock" => (SessionValue::IsFreeLock, ExprType { length: 1, ..ExprType::bigint() }),
            "is_used_lock" => (SessionValue::IsUsedLock, ExprType { length: 10, ..ExprType::bigint() }),
            "binlog_gtid_pos" => (SessionValue::BinlogGtidPos, text(1024)),
            "master_gtid_wait" => {
                (SessionValue::MasterGtidWait, ExprType { length: 2, ..ExprType::bigint() })
            }
            "master_pos_wait" => (SessionValue::MasterPosWait, ExprType { length: 21, ..ExprType::bigint() }),
            _ => return Ok(None),
        };
        let (least, most) = match value {
            SessionValue::LastInsertId => (0, 1),
            SessionValue::GetLock | SessionValue::BinlogGtidPos => (2, 2),
            SessionValue::MasterGtidWait => (1, 2),
            SessionValue::MasterPosWait => (2, 4),
            SessionValue::ReleaseLock | SessionValue::IsFreeLock | SessionValue::IsUsedLock => (1, 1),
            _ => (0, 0),
        };
        if args.len() < least || args.len() > most {
            return Err(SqlError::WrongParameterCount(name.to_owned()));
        }
        let args: SqlResult<Vec<Expr>> = args.iter().map(|a| Ok(self.expr(a, clause)?.expr)).collect();
        Ok(Some(Typed::new(Expr::Session(value, args?), ty)))
    }

    pub(crate) fn special(&mut self, special: &ast::Special<'a>, clause: Clause) -> SqlResult<Typed> {
        use ast::Special as S;
        match special {
            S::Values(column) => {
                // The columns of the query that is inserted have no such values.
                let keep = if self.scope().insert_values { 1 } else { self.scope().tables.len() };
                let others = self.scope_mut().tables.split_off(keep);
                let typed = self.column(&Name::of(column), clause);
                self.scope_mut().tables.extend(others);
                let typed = typed?;
                match typed.expr {
                    Expr::Column(c) if self.scope().insert_values => {
                        Ok(Typed::new(Expr::InsertValue(c.column), typed.ty.nullable(true)))
                    }
                    // Outside ON DUPLICATE KEY UPDATE there is no such row: NULL.
                    _ => Ok(Typed::new(Expr::Const(Value::Null), typed.ty.nullable(true))),
                }
            }
            S::Position { needle, haystack } => self.call_function("locate", &[*needle, *haystack], clause),
            S::Trim { side: ast::TrimSide::Both, what: None, expr } => {
                self.call_function("trim", &[*expr], clause)
            }
            S::Trim { side, what, expr } => {
                let name = match side {
                    ast::TrimSide::Both => "trim",
                    ast::TrimSide::Leading => "ltrim",
                    ast::TrimSide::Trailing => "rtrim",
                };
                match what {
                    None => self.call_function(name, &[*expr], clause),
                    Some(what) => self.call_function(name, &[*expr, *what], clause),
                }
            }
            S::Char { args, charset: None } => self.call_function("char", args, clause),
            S::Char { args, charset: Some(charset) } => {
                let collation = Collation::default_of(self.charset(&charset.text())?);
                let bytes = self.call_function("char", args, clause)?;
                let ty = ExprType { collation, ..bytes.ty };
                let id = Typed::new(Expr::int(i64::from(collation.id())), ExprType::int(5));
                let text = self.library_call("<char using>", vec![bytes, id])?;
                Ok(Typed::new(text.expr, ty.nullable(true)))
            }
            S::GetFormat { kind, locale } => {
                let kind = Typed::new(
                    Expr::Const(Value::utf8(&kind.text())),
                    ExprType::text(9, self.cx.connection_collation, Coercibility::Coercible),
                );
                let args = vec![kind, self.expr(locale, clause)?];
                self.library_call("get_format", args)
            }
            S::WeightString { expr, length, binary, levels: [] } => {
                self.weight_string(expr, *length, *binary, clause)
            }
            S::DefaultOf(column) => self.default_of(&Name::of(column), clause),
            S::Extract { unit, expr } => {
                let args = vec![self.expr(expr, clause)?];
                self.unit_call("extract", *unit, args, 0)
            }
            S::TimestampAdd { unit, amount, date } => {
                let args = vec![self.expr(amount, clause)?, self.expr(date, clause)?];
                self.unit_call("timestampadd", *unit, args, 0)
            }
            S::TimestampDiff { unit, from, to } => {
                let args = vec![self.expr(from, clause)?, self.expr(to, clause)?];
                self.unit_call("timestampdiff", *unit, args, 0)
            }
            S::NextValue(name) => self.sequence(SessionValue::NextValue, name, Vec::new()),
            S::PreviousValue(name) => self.sequence(SessionValue::PreviousValue, name, Vec::new()),
            S::SetValue { sequence, value, is_used, round } => {
                let value = match i64::try_from(*value) {
                    Ok(n) => Value::Int(n),
                    Err(_) if *value < 0 => Value::Int(i64::MIN),
                    Err(_) => Value::UInt(u64::try_from(*value).unwrap_or(u64::MAX)),
                };
                let round = Value::Int(i64::try_from(*round).unwrap_or(i64::MAX));
                let args = [value, Value::Int(i64::from(*is_used)), round].map(Expr::Const);
                self.sequence(SessionValue::SetValue, sequence, args.into())
            }
            _ => Err(SqlError::not_supported("this function")),
        }
    }

    /// A function of a sequence.
    fn sequence(
        &mut self,
        which: SessionValue,
        name: &ast::ObjectName<'a>,
        rest: Vec<Expr>,
    ) -> SqlResult<Typed> {
        let (schema, table) = self.table_name(name)?;
        let mut ty = ExprType::bigint();
        if !self.cx.variables.in_definition() {
            let reads = which == SessionValue::PreviousValue;
            self.check_table(&schema, &table, if reads { Privileges::SELECT } else { Privileges::INSERT })?;
            let other = |errno, text| SqlError::Other { errno, state: *b"42S02", text };
            let none = || other(4089, format!("'{schema}.{table}' is not a SEQUENCE"));
            if self.view(&schema, &table).is_some() {
                return Err(none());
            }
            if self.cx.catalog.table(&schema, &table).is_none() {
                return Err(other(4091, format!("Unknown SEQUENCE: '{table}'")));
            }
            let handle = self.base_table(name, &table)?;
            if handle.def.sequence.is_none() {
                return Err(none());
            }
            if !reads {
                self.changes(&handle)?;
            }
            ty.unsigned = of_column(&handle.def.columns[0].ty, true, None).unsigned;
        }
        let mut args = vec![Expr::Const(Value::utf8(&schema)), Expr::Const(Value::utf8(&table))];
        args.extend(rest);
        Ok(Typed::new(Expr::Session(which, args), ty))
    }

    /// WEIGHT_STRING: the bytes by which a text sorts.
    fn weight_string(
        &mut self,
        arg: &ast::Expr<'a>,
        length: Option<u64>,
        binary: bool,
        clause: Clause,
    ) -> SqlResult<Typed> {
        let arg = self.expr(arg, clause)?;
        if !arg.ty.field.is_text() {
            return Ok(Typed::new(Expr::Const(Value::Null), ExprType::null()));
        }
        let collation = if binary { Collation::BINARY } else { arg.ty.collation };
        let to = CastTo::Char { length: length.map(|l| u32::try_from(l).unwrap_or(u32::MAX)), collation };
        let text = match length {
            Some(_) => {
                Typed::new(Expr::Cast { to, arg: Box::new(arg.expr) }, ExprType { collation, ..arg.ty })
            }
            None => arg,
        };
        let padded = i64::try_from(length.unwrap_or(0)).unwrap_or(i64::MAX);
        let padded = Typed::new(Expr::int(padded), ExprType::bigint().not_null());
        self.library_call("weight_string", vec![text, padded])
    }

    fn default_of(&mut self, name: &Name, clause: Clause) -> SqlResult<Typed> {
        let typed = self.column(name, clause)?;
        let Expr::Column(c) = typed.expr else { return Err(SqlError::NoDefault(name.column.clone())) };
        let handle = self.scope().tables.iter().find(|t| t.slot == c.slot).and_then(|t| t.handle.clone());
        let Some(handle) = handle else { return Err(SqlError::NoDefault(name.column.clone())) };
        let value = match &handle.def.columns[usize::from(c.column)].default {
            catalog::DefaultValue::Null => Value::Null,
            catalog::DefaultValue::Literal(literal) => literal.0.clone(),
            catalog::DefaultValue::Expression(_) => {
                return Err(SqlError::not_supported("DEFAULT() of a computed default"));
            }
            catalog::DefaultValue::None | catalog::DefaultValue::CurrentTimestamp => {
                return Err(SqlError::NoDefault(name.column.clone()));
            }
        };
        Ok(Typed::new(Expr::Const(value), typed.ty))
    }

    /// A library function of values that are built already, a unit first.
    fn unit_call(
        &mut self,
        name: &str,
        unit: ast::IntervalUnit,
        args: Vec<Typed>,
        at: usize,
    ) -> SqlResult<Typed> {
        let number = Expr::int(functions::unit_number(interval_unit(unit)));
        let mut args = args;
        args.insert(at, Typed::new(number, ExprType::bigint().not_null()));
        self.library_call(name, args)
    }

    pub(crate) fn library_call(&mut self, name: &str, args: Vec<Typed>) -> SqlResult<Typed> {
        let function = function::find(name).ok_or_else(|| SqlError::not_supported(name))?;
        if !function.accepts(args.len()) {
            return Err(SqlError::WrongParameterCount(name.to_owned()));
        }
        Ok(self.called(function, args))
    }

    pub(crate) fn date_add(&mut self, add: &ast::DateAdd<'a>, clause: Clause) -> SqlResult<Typed> {
        let args = vec![self.expr(&add.date, clause)?, self.expr(&add.amount, clause)?];
        self.unit_call(if add.subtract { "date_sub" } else { "date_add" }, add.unit, args, 2)
    }
}

/// A unit of the grammar as one of the value library.
pub fn interval_unit(unit: ast::IntervalUnit) -> types::IntervalUnit {
    use ast::IntervalUnit as A;
    use types::IntervalUnit as U;
    match unit {
        A::Microsecond => U::Microsecond,
        A::Second => U::Second,
        A::Minute => U::Minute,
        A::Hour => U::Hour,
        A::Day => U::Day,
        A::Week => U::Week,
        A::Month => U::Month,
        A::Quarter => U::Quarter,
        A::Year => U::Year,
        A::SecondMicrosecond => U::SecondMicrosecond,
        A::MinuteMicrosecond => U::MinuteMicrosecond,
        A::MinuteSecond => U::MinuteSecond,
        A::HourMicrosecond => U::HourMicrosecond,
        A::HourSecond => U::HourSecond,
        A::HourMinute => U::HourMinute,
        A::DayMicrosecond => U::DayMicrosecond,
        A::DaySecond => U::DaySecond,
        A::DayMinute => U::DayMinute,
        A::DayHour => U::DayHour,
        A::YearMonth => U::YearMonth,
    }
}
