//! From the tree back to text: for SHOW CREATE, view definitions and EXPLAIN.
//!
//! The text is MariaDB's own form (lower-case words, quoted names, parentheses only where precedence asks for them,
//! its names for functions that have several) and it parses back to the same tree under any sql_mode but
//! ANSI_QUOTES without it: `||` is printed as `concat`, NOT as `!`.
//! Names are printed as the statement gives them; a view's columns must be resolved before printing for that.

mod expr;
mod query;

use crate::ast::*;

/// How to print.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintStyle {
    /// Parentheses around every operator: shows how the parser groups.
    pub grouped: bool,
    /// Backslashes in strings are plain.
    pub no_backslash_escapes: bool,
    /// Names quoted with `"`.
    pub ansi_quotes: bool,
}

/// Appends an expression.
pub fn print_expr(out: &mut Vec<u8>, expr: &Expr<'_>, style: PrintStyle) {
    Printer { out, style }.expr(expr, 0);
}

/// Appends an expression, in parentheses unless it is a call, a name or a literal: as DEFAULT shows it.
pub fn print_operand(out: &mut Vec<u8>, expr: &Expr<'_>, style: PrintStyle) {
    Printer { out, style }.expr(expr, expr::OPERAND);
}

/// Appends a query.
pub fn print_query(out: &mut Vec<u8>, query: &Query<'_>, style: PrintStyle) {
    Printer { out, style }.query(query);
}

/// Appends `name` in quotes.
pub fn print_ident(out: &mut Vec<u8>, name: &[u8], style: PrintStyle) {
    Printer { out, style }.ident(Ident(name));
}

/// Appends `text` as a string literal.
pub fn print_string(out: &mut Vec<u8>, text: &[u8], style: PrintStyle) {
    Printer { out, style }.string(text);
}

struct Printer<'o> {
    out: &'o mut Vec<u8>,
    style: PrintStyle,
}

impl Printer<'_> {
    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn lower(&mut self, text: &[u8]) {
        self.out.extend(text.iter().map(u8::to_ascii_lowercase));
    }

    fn number(&mut self, n: impl std::fmt::Display) {
        self.text(&n.to_string());
    }

    fn ident(&mut self, name: Ident<'_>) {
        let quote = if self.style.ansi_quotes { b'"' } else { b'`' };
        self.out.push(quote);
        for &b in name.0 {
            if b == quote {
                self.out.push(quote);
            }
            self.out.push(b);
        }
        self.out.push(quote);
    }

    fn object(&mut self, name: &ObjectName<'_>) {
        if let Some(database) = name.database {
            self.ident(database);
            self.text(".");
        }
        self.ident(name.name);
    }

    fn string(&mut self, text: &[u8]) {
        self.out.push(b'\'');
        for &b in text {
            let escape = match b {
                0 => b'0',
                b'\n' => b'n',
                b'\r' => b'r',
                26 => b'Z',
                b'\\' | b'\'' => b,
                _ => {
                    self.out.push(b);
                    continue;
                }
            };
            if !self.style.no_backslash_escapes {
                self.out.extend_from_slice(&[b'\\', escape]);
            } else if b == b'\'' {
                self.text("''");
            } else {
                self.out.push(b);
            }
        }
        self.out.push(b'\'');
    }

    fn hex(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.text(&format!("{b:02x}"));
        }
    }

    fn list<T>(&mut self, items: &[T], separator: &str, mut item: impl FnMut(&mut Self, &T)) {
        for (i, value) in items.iter().enumerate() {
            if i > 0 {
                self.text(separator);
            }
            item(self, value);
        }
    }
}
