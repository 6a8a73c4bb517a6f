//! The seam to the function library: static types in, static types out.

use charset::Collation;
use types::{Class, Context, Value, ValueError};

use crate::expr::{Expr, Typed};
use crate::meta::{Coercibility, ExprType, FieldType, NOT_FIXED_DECIMALS, Nature};
use crate::typing::temporal;

/// A reference to a registered function.
#[derive(Clone, Copy)]
pub struct Function(&'static functions::Function);

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Function {
    pub fn name(self) -> &'static str {
        self.0.names.first().copied().unwrap_or_default()
    }
    pub fn is_deterministic(self) -> bool {
        self.0.deterministic
    }
    /// Its value depends on the statement's start or on the session's time zone: the same for every row of one execution, another
    /// in the next.
    pub fn reads_statement(self) -> bool {
        const NAMES: [&str; 12] = [
            "now",
            "current_timestamp",
            "curdate",
            "current_date",
            "curtime",
            "current_time",
            "utc_date",
            "utc_time",
            "utc_timestamp",
            "unix_timestamp",
            "from_unixtime",
            "timestamp",
        ];
        self.0.names.iter().any(|name| NAMES.contains(name))
    }
    /// Its texts are JSON values, which other JSON functions take in as such.
    fn makes_json(self) -> bool {
        const NAMES: [&str; 24] = [
            "json_array",
            "json_array_append",
            "json_array_insert",
            "json_array_intersect",
            "json_compact",
            "json_detailed",
            "json_extract",
            "json_insert",
            "json_key_value",
            "json_keys",
            "json_loose",
            "json_merge",
            "json_merge_patch",
            "json_normalize",
            "json_object",
            "json_object_filter_keys",
            "json_object_to_array",
            "json_query",
            "json_quote",
            "json_remove",
            "json_replace",
            "json_set",
            "<json>",
            "<json boolean>",
        ];
        NAMES.contains(&self.name())
    }
    pub(crate) fn accepts(self, args: usize) -> bool {
        self.0.accepts(args)
    }
    pub(crate) fn call(self, args: &[Value], cx: &mut Context) -> Result<Value, ValueError> {
        self.0.call(args, cx)
    }
    /// The type of a call; `connection` is the collation of texts that no argument brings.
    pub(crate) fn result_type(self, args: &[Typed], connection: Collation) -> ExprType {
        let given: Vec<functions::Arg<'_>> = args
            .iter()
            .map(|a| functions::Arg {
                ty: to_library(&a.ty),
                constant: match &a.expr {
                    Expr::Const(value) => Some(value),
                    _ => None,
                },
            })
            .collect();
        let mut ty = from_library(&self.0.result_type(&given));
        if ty.field.is_text() && !ty.collation.is_binary() && !args.iter().any(|a| a.ty.field.is_text()) {
            ty.collation = connection;
        }
        if ty.field.is_text() {
            let strongest = args.iter().filter(|a| a.ty.field.is_text()).map(|a| a.ty.coercibility).min();
            ty.coercibility = strongest.unwrap_or(Coercibility::Coercible);
        }
        if self.makes_json() {
            ty.nature = Nature::Json;
        }
        ty
    }
}

/// Finds a function by its lower case name.
pub(crate) fn find(name: &str) -> Option<Function> {
    functions::find(name).map(Function)
}

fn to_library(ty: &ExprType) -> functions::Type {
    let class = match ty.field {
        FieldType::Null => Class::Null,
        f if f.is_integer() => Class::Int,
        FieldType::Decimal => Class::Decimal,
        f if f.is_real() => Class::Double,
        FieldType::Date => Class::Date,
        FieldType::Time => Class::Time,
        FieldType::DateTime | FieldType::Timestamp => Class::DateTime,
        _ => Class::Str,
    };
    let length = match class {
        Class::Decimal | Class::Int => ty.precision().0,
        _ => ty.length,
    };
    functions::Type {
        class,
        length,
        decimals: ty.decimals,
        unsigned: ty.unsigned,
        nullable: ty.nullable,
        collation: ty.collation,
    }
}

fn from_library(ty: &functions::Type) -> ExprType {
    let out = match ty.class {
        Class::Null => ExprType::null(),
        Class::Int if ty.length <= 10 && !ty.unsigned => ExprType::int(ty.length + 1),
        Class::Int => ExprType { length: ty.length + 1, ..ExprType::bigint() },
        Class::Decimal => ExprType::decimal(ty.length, ty.decimals),
        Class::Double => ExprType {
            decimals: if ty.decimals == functions::NOT_FIXED { NOT_FIXED_DECIMALS } else { ty.decimals },
            length: ty.length,
            ..ExprType::double()
        },
        Class::Date => temporal(FieldType::Date, 0),
        Class::Time => temporal(FieldType::Time, ty.decimals),
        Class::DateTime => temporal(FieldType::DateTime, ty.decimals),
        Class::Str => ExprType::text(ty.length, ty.collation, Coercibility::Coercible),
    };
    let out = out.nullable(ty.nullable);
    if ty.unsigned { out.unsigned() } else { out }
}
