//! Definitions of programs as SHOW CREATE gives them.

use catalog::program::{DataAccess, ProgramKind, RoutineDef, TriggerDef, TriggerEvent};
use catalog::{ColumnDef, quote_name, quote_text};
use row_format::ColumnType;

/// `root`@`localhost`
fn definer_text(definer: &(String, String)) -> String {
    format!("{}@{}", quote_name(&definer.0), quote_name(&definer.1))
}

/// The lines between the header and the body, each with its newline.
pub(super) fn characteristics(def: &RoutineDef) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str("    ");
        out.push_str(text);
        out.push('\n');
    };
    match def.access {
        DataAccess::ContainsSql => {}
        DataAccess::NoSql => line("NO SQL"),
        DataAccess::ReadsSqlData => line("READS SQL DATA"),
        DataAccess::ModifiesSqlData => line("MODIFIES SQL DATA"),
    }
    if def.deterministic {
        line("DETERMINISTIC");
    }
    if def.invoker {
        line("SQL SECURITY INVOKER");
    }
    if !def.context.comment.is_empty() {
        line(&format!("COMMENT {}", quote_text(&def.context.comment)));
    }
    out
}

/// The type of a function's result, with its collation.
pub(crate) fn returns_text(column: &ColumnDef) -> String {
    let collation = match &column.ty {
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Blob { collation, .. }
        | ColumnType::Enum { collation, .. }
        | ColumnType::Set { collation, .. }
            if !collation.is_binary() =>
        {
            format!(" CHARSET {} COLLATE {}", collation.charset().name(), collation.name())
        }
        _ => String::new(),
    };
    format!("{}{collation}", column.type_text())
}

/// CREATE PROCEDURE or FUNCTION.
pub(crate) fn create_routine(def: &RoutineDef) -> Vec<u8> {
    let mut out = format!(
        "CREATE DEFINER={} {}{} {}(",
        definer_text(&def.context.definer),
        if def.aggregate { "AGGREGATE " } else { "" },
        def.kind.word(),
        quote_name(&def.name)
    )
    .into_bytes();
    out.extend_from_slice(&def.params_text);
    out.push(b')');
    if let (ProgramKind::Function, Some(column)) = (def.kind, &def.returns) {
        out.extend_from_slice(b" RETURNS ");
        out.extend_from_slice(returns_text(column).as_bytes());
    }
    out.push(b'\n');
    out.extend_from_slice(characteristics(def).as_bytes());
    out.extend_from_slice(&def.context.body);
    out
}

pub(crate) fn event_word(event: TriggerEvent) -> &'static str {
    match event {
        TriggerEvent::Insert => "INSERT",
        TriggerEvent::Update => "UPDATE",
        TriggerEvent::Delete => "DELETE",
    }
}

/// CREATE TRIGGER, as it was written, with its definer.
pub(crate) fn create_trigger(def: &TriggerDef) -> Vec<u8> {
    let mut out = format!("CREATE DEFINER={} ", definer_text(&def.context.definer)).into_bytes();
    def.header.iter().for_each(|part| out.extend_from_slice(part));
    out.extend_from_slice(&def.context.body);
    out
}
