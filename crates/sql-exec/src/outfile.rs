//! SELECT ... INTO OUTFILE and DUMPFILE.

use std::io::Write;

use sql_plan::error::{SqlError, SqlResult};
use sql_plan::meta::ExprType;
use sql_plan::plan::{FileFormat, FileTarget, QueryPlan};
use types::{Class, Context, Value};

use crate::exec::{Exec, Flow};
use crate::outcome::Outcome;

fn write_error(path: &[u8], e: &std::io::Error) -> SqlError {
    let path = String::from_utf8_lossy(path);
    SqlError::Other { errno: 3, state: *b"HY000", text: format!("Error writing file '{path}' ({e})") }
}

impl Exec<'_, '_> {
    pub(crate) fn out_file(&mut self, query: &QueryPlan, target: &FileTarget) -> SqlResult<Outcome> {
        let mut file = self.cx.session.create_file(&target.path)?;
        let mut rows = 0u64;
        let mut line = Vec::new();
        let fixed = target.format.is_fixed();
        self.query(query, &mut |exec, row| {
            line.clear();
            line.extend_from_slice(&target.format.line_start);
            for (i, value) in row.values(exec)?.iter().enumerate() {
                if i > 0 {
                    line.extend_from_slice(&target.format.separator);
                }
                let start = line.len();
                if !(fixed && value.is_null()) {
                    write_field(&mut line, value, target, exec.cx.values);
                }
                if fixed {
                    let end = start + fixed_width(&query.columns[i].ty);
                    line.resize(line.len().max(end), b' ');
                }
            }
            line.extend_from_slice(&target.format.line_end);
            file.write_all(&line).map_err(|e| write_error(&target.path, &e))?;
            rows += 1;
            Ok(Flow::Continue)
        })?;
        file.flush().map_err(|e| write_error(&target.path, &e))?;
        Ok(Outcome { affected_rows: rows, ..Outcome::default() })
    }

    pub(crate) fn dump_file(&mut self, query: &QueryPlan, path: &[u8]) -> SqlResult<Outcome> {
        let mut file = self.cx.session.create_file(path)?;
        let mut rows = 0u64;
        self.query(query, &mut |exec, row| {
            rows += 1;
            if rows > 1 {
                return Err(SqlError::Other {
                    errno: 1172,
                    state: *b"42000",
                    text: "Result consisted of more than one row".into(),
                });
            }
            let mut bytes = Vec::new();
            for value in &row.values(exec)? {
                text_of(&mut bytes, value, None, exec.cx.values);
            }
            file.write_all(&bytes).map_err(|e| write_error(path, &e))?;
            Ok(Flow::Continue)
        })?;
        file.flush().map_err(|e| write_error(path, &e))?;
        Ok(Outcome { affected_rows: rows, ..Outcome::default() })
    }
}

/// Bytes of a field where all of a column are of one length.
pub(crate) fn fixed_width(ty: &ExprType) -> usize {
    let one = if ty.field.is_text() { ty.collation.charset().max_len() } else { 1 };
    (ty.length as usize).saturating_mul(one)
}

fn text_of(out: &mut Vec<u8>, value: &Value, charset: Option<charset::Collation>, cx: &Context) {
    match (value, charset) {
        (Value::Str(s), Some(collation)) if !s.collation().is_binary() => {
            out.extend_from_slice(s.convert(collation).bytes());
        }
        (Value::Str(s), _) => out.extend_from_slice(s.bytes()),
        (other, _) => _ = other.write_text(cx, out),
    }
}

fn write_field(line: &mut Vec<u8>, value: &Value, target: &FileTarget, cx: &Context) {
    let format = &target.format;
    if value.is_null() {
        match format.escape {
            Some(escape) => line.extend_from_slice(&[escape, b'N']),
            None => line.extend_from_slice(b"NULL"),
        }
        return;
    }
    let number = matches!(value.class(), Class::Int | Class::Decimal | Class::Double);
    let quote = format.enclosure.filter(|_| !(format.optionally && number));
    line.extend(quote);
    let mut text = Vec::new();
    text_of(&mut text, value, target.charset, cx);
    match format.escape {
        Some(escape) => escape_into(line, &text, format, escape, quote),
        None => {
            for b in text {
                // Without an escape character a quote inside is doubled.
                if Some(b) == quote {
                    line.push(b);
                }
                line.push(b);
            }
        }
    }
    line.extend(quote);
}

/// Escapes what would end the field, the line or the text itself.
fn escape_into(line: &mut Vec<u8>, text: &[u8], format: &FileFormat, escape: u8, quote: Option<u8>) {
    let special = |b: u8| {
        b == escape
            || Some(b) == format.enclosure
            || quote.is_none() && format.separator.first() == Some(&b)
            || format.line_end.first() == Some(&b)
    };
    for b in text {
        if *b == 0 {
            line.extend_from_slice(&[escape, b'0']);
            continue;
        }
        if special(*b) {
            line.push(escape);
        }
        line.push(*b);
    }
}
