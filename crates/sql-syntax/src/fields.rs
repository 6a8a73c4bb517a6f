//! Which fields of which rows a text names: what a trigger's body says of NEW and OLD.

use crate::ParseOptions;
use crate::lexer::{Lexer, Tok, Token};

/// What the text names behind `row.`, in order, with the number of the row among `rows`.
pub fn fields_of(sql: &[u8], options: ParseOptions, rows: &[&str]) -> Vec<(usize, String)> {
    let mut lexer = Lexer::new(sql, 0, options);
    let mut found = Vec::new();
    // The row that the token before named.
    let mut row = None;
    let mut after_dot = false;
    loop {
        let token = lexer.next();
        match token.tok {
            Tok::Eof | Tok::Bad => return found,
            Tok::Char(b'.') => {
                if let Some(row) = row.take() {
                    let name = lexer.name_after_dot().unwrap_or_else(|| lexer.next());
                    found.push((row, text_of(sql, name)));
                } else {
                    after_dot = true;
                }
                continue;
            }
            Tok::Word | Tok::Quoted => {
                let name = text_of(sql, token);
                row = rows.iter().position(|r| !after_dot && r.eq_ignore_ascii_case(&name));
            }
            _ => row = None,
        }
        after_dot = false;
    }
}

fn text_of(sql: &[u8], token: Token) -> String {
    let text = String::from_utf8_lossy(&sql[token.start..token.end]);
    match text.chars().next() {
        Some(quote @ ('`' | '"')) => {
            let inner = &text[1..text.len().saturating_sub(1).max(1)];
            inner.replace(&format!("{quote}{quote}"), &quote.to_string())
        }
        _ => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_wherever_they_stand() {
        let text = b"SET NEW.a = old . `b``c`, @x = (SELECT t.new FROM new_t WHERE d.new.z = 'new.y' AND New.`q` /* old.p */)";
        let found = fields_of(text, ParseOptions::default(), &["OLD", "NEW"]);
        let expected = [(1, "a"), (0, "b`c"), (1, "q")].map(|(row, name)| (row, name.to_owned()));
        assert_eq!(found, expected);
    }
}
