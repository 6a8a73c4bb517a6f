//! JSON: texts that MariaDB's JSON functions read and write.
//!
//! Values keep their spelling: a function copies what it does not change byte for byte, as MariaDB does, so numbers, spaces and
//! escapes come out as they went in.

pub(crate) mod change;
pub(crate) mod path;
pub(crate) mod read;
pub(crate) mod schema;
pub mod table;
pub(crate) mod tree;

use charset::{Charset, Collation};
use types::{Context, Value, Warning};

use crate::arguments::{Answer, Args};

/// The collation of JSON texts that no argument brings.
pub(crate) const COLLATION: Collation = Collation::UTF8MB4_GENERAL_CI;

/// What is wrong with a JSON text or path; positions are byte offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    End,
    Syntax(usize),
    /// A control character in a string.
    Character(usize),
    Depth(usize),
    Wildcard,
    OneOrAll,
    Root,
}

/// Warns of a JSON text: argument `argument` (from 1) of `function`.
pub(crate) fn warn(ctx: &mut Context, fault: Fault, argument: usize, function: &'static str) {
    let (errno, text) = problem(fault, argument, function);
    ctx.warn(Warning::Numbered { errno, text });
}

/// Number and text of what is wrong with a JSON text.
fn problem(fault: Fault, argument: usize, function: &str) -> (u16, String) {
    let place = format!("in argument {argument} to function '{function}'");
    match fault {
        Fault::Syntax(at) => (4038, format!("Syntax error in JSON text {place} at position {}", at + 1)),
        Fault::Character(at) => {
            (4036, format!("Character disallowed in JSON {place} at position {}", at + 1))
        }
        Fault::Depth(at) => (
            4040,
            format!("Limit of 32 on JSON nested structures depth is reached {place} at position {}", at + 1),
        ),
        _ => (4037, format!("Unexpected end of JSON text {place}")),
    }
}

/// Warns of a JSON path, or of what stands beside it.
pub(crate) fn warn_path(ctx: &mut Context, fault: Fault, argument: usize, function: &'static str) {
    let (errno, text) = path_problem(fault, argument, function);
    ctx.warn(Warning::Numbered { errno, text });
}

/// Number and text of what is wrong with a path.
fn path_problem(fault: Fault, argument: usize, function: &str) -> (u16, String) {
    let place = format!("in argument {argument} to function '{function}'");
    match fault {
        Fault::Syntax(at) | Fault::Character(at) => {
            (4042, format!("Syntax error in JSON path {place} at position {}", at + 1))
        }
        Fault::Depth(at) => {
            (4043, format!("Limit of 32 on JSON path depth is reached {place} at position {}", at + 1))
        }
        Fault::Wildcard => (4044, format!("Wildcards or range in JSON path not allowed {place}")),
        Fault::OneOrAll => {
            (4046, format!("Argument {argument} to function '{function}' must be \"one\" or \"all\"."))
        }
        Fault::Root => (4051, format!("Path expression '$' is not allowed {place}.")),
        Fault::End => (4041, format!("Unexpected end of JSON path {place}")),
    }
}

/// Appends a JSON string of UTF-8 text, escaped as MariaDB escapes.
pub fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    escape(out, text);
    out.push(b'"');
}

pub(crate) fn escape(out: &mut Vec<u8>, text: &[u8]) {
    for b in text {
        match b {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..32 => out.extend_from_slice(format!("\\u{b:04X}").as_bytes()),
            _ => out.push(*b),
        }
    }
}

/// UTF-8 bytes of a value's text; `None` for NULL.
pub(crate) fn utf8(value: &Value, ctx: &mut Context) -> Option<Vec<u8>> {
    let text = value.to_str(ctx)?;
    Some(match text.charset() {
        Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Ascii | Charset::Binary => text.bytes().to_vec(),
        _ => text.to_utf8_lossy().into_bytes(),
    })
}

pub(crate) fn answer(text: &[u8]) -> Answer {
    Ok(Value::str(text, COLLATION))
}

/// A value that is no JSON as JSON: texts and times become strings, NULL becomes null.
pub(crate) fn literal(args: Args<'_>, ctx: &mut Context) -> Answer {
    let mut out = Vec::new();
    match &args[0] {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Year(_) => {
            args[0].write_text(ctx, &mut out);
        }
        Value::Bit { value, .. } => out.extend_from_slice(value.to_string().as_bytes()),
        other => write_string(&mut out, &utf8(other, ctx).unwrap_or_default()),
    }
    answer(&out)
}

/// A truth value as JSON.
pub(crate) fn boolean(args: Args<'_>, ctx: &mut Context) -> Answer {
    answer(match args[0].to_bool(ctx) {
        None => b"null",
        Some(true) => b"true",
        Some(false) => b"false",
    })
}

/// A JSON value beside numbers: true is 1, a string what it begins with, an array or object 0.
pub(crate) fn number(args: Args<'_>, ctx: &mut Context) -> Answer {
    let Some(text) = utf8(&args[0], ctx) else { return Ok(Value::Null) };
    Ok(Value::Double(match text.as_slice() {
        b"true" => 1.0,
        b"false" | b"null" | [b'[' | b'{', ..] => 0.0,
        [b'"', ..] => {
            let inside = read::unquote(args, ctx)?;
            inside.to_f64(ctx).unwrap_or(0.0)
        }
        _ => args[0].to_f64(ctx).unwrap_or(0.0),
    }))
}

/// JSON stays what it is; NULL becomes null.
pub(crate) fn itself(args: Args<'_>, _: &mut Context) -> Answer {
    match &args[0] {
        Value::Null => answer(b"null"),
        other => Ok(other.clone()),
    }
}
