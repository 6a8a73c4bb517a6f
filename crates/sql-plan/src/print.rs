//! Expressions as text, for messages.

use types::Value;

use crate::expr::Expr;
use crate::ops;

/// The expression as MariaDB prints it in messages; parts that messages do not show print as `...`.
pub(crate) fn text(e: &Expr) -> String {
    match e {
        Expr::Const(value) => constant(value),
        Expr::Param(_) => "?".to_owned(),
        Expr::Arith { op, left, right } => format!("{} {} {}", operand(left), op.text(), operand(right)),
        Expr::Negate(arg) => format!("-{}", operand(arg)),
        Expr::Collate(arg, _) => text(arg),
        Expr::Call { function, args } => {
            let args: Vec<String> = args.iter().map(text).collect();
            format!("{}({})", function.name(), args.join(","))
        }
        _ => "...".to_owned(),
    }
}

fn operand(e: &Expr) -> String {
    match e {
        Expr::Arith { .. } => format!("({})", text(e)),
        other => text(other),
    }
}

fn constant(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Str(s) => format!("'{}'", s.to_utf8_lossy()),
        other => {
            let cx = types::Context::default();
            ops::to_text(other, charset::Collation::UTF8MB4_BIN, &cx).to_utf8_lossy()
        }
    }
}
