//! The text of a statement as the binary log repeats it: `binlog_annotate_row_events`.
//!
//! It is as the client wrote it, in utf8; the parameters of a prepared statement are filled in. Made only for statements that may
//! change rows that are logged; it reaches the log only when they do.

use types::{Context, Value};

use crate::prepared::PreparedStatement;
use crate::session::Session;
use crate::variables::Var;

impl Session {
    /// Whether the rows of a statement are to be preceded by its text.
    fn annotates(&self) -> bool {
        self.settings.trx.log.replicate && self.settings.annotates
    }

    /// A statement that changes rows is about to run: its text, if it is wanted.
    pub(crate) fn note_text(&mut self, text: &[u8]) {
        self.annotation.clear();
        if self.annotates() {
            self.annotation.extend_from_slice(text);
        }
    }

    /// The same for a prepared one, with the session's parameters in the places of its `?`.
    pub(crate) fn note_prepared_text(&mut self, statement: &mut PreparedStatement) {
        self.annotation.clear();
        if self.annotates() {
            let mut out = std::mem::take(&mut self.annotation);
            self.put_text(statement, &mut out);
            self.annotation = out;
        }
    }

    /// The same for the general log and the slow query log, when one of them is on.
    pub(crate) fn logged_text(&self, statement: &mut PreparedStatement) -> Option<Vec<u8>> {
        let logs = &self.server().query_logs;
        (logs.general_is_on() || logs.slow_is_on()).then(|| {
            let mut out = Vec::new();
            self.put_text(statement, &mut out);
            out
        })
    }

    fn put_text(&self, statement: &mut PreparedStatement, out: &mut Vec<u8>) {
        let options = self.settings.parse;
        let text = &statement.text;
        let places =
            statement.places.get_or_insert_with(|| sql_syntax::parameter_positions(text, options).into());
        let mut from = 0;
        for (place, value) in places.iter().zip(&self.params) {
            out.extend_from_slice(&text[from..*place]);
            put_value(value, &self.values, out);
            from = place + 1;
        }
        out.extend_from_slice(&text[from..]);
    }
}

/// Whether `binlog_annotate_row_events` is on.
pub(crate) fn is_wanted(variables: &crate::variables::SessionVariables) -> bool {
    variables.bool(Var::BINLOG_ANNOTATE_ROW_EVENTS)
}

/// Appends a value as a literal.
fn put_value(value: &Value, cx: &Context, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(v) => put_number(*v < 0, v.unsigned_abs(), out),
        Value::UInt(v) => put_number(false, *v, out),
        Value::Float(_) | Value::Double(_) | Value::Decimal(_) | Value::Year(_) => {
            value.write_text(cx, out);
        }
        Value::Str(s) => put_quoted(s.bytes(), out),
        other => {
            let mut text = Vec::new();
            other.write_text(cx, &mut text);
            put_quoted(&text, out);
        }
    }
}

fn put_number(negative: bool, mut v: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (v % 10) as u8;
        v /= 10;
        if v == 0 {
            break;
        }
    }
    if negative {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

fn put_quoted(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    let mut from = 0;
    for (at, b) in bytes.iter().enumerate() {
        let escaped = match b {
            b'\'' | b'\\' => *b,
            b'\n' => b'n',
            b'\r' => b'r',
            0 => b'0',
            0x1a => b'Z',
            _ => continue,
        };
        out.extend_from_slice(&bytes[from..at]);
        out.extend_from_slice(&[b'\\', escaped]);
        from = at + 1;
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;
    use charset::Collation;

    fn literal(value: &Value) -> String {
        let mut out = Vec::new();
        put_value(value, &Context::default(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_become_literals() {
        assert_eq!(literal(&Value::Int(i64::MIN)), "-9223372036854775808");
        assert_eq!(literal(&Value::UInt(0)), "0");
        assert_eq!(literal(&Value::Null), "NULL");
        assert_eq!(literal(&Value::str(b"it's\n\\", Collation::BINARY)), "'it\\'s\\n\\\\'");
    }
}
