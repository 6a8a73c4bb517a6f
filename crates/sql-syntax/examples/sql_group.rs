//! Reads expressions from standard input, each ended by a zero byte, and prints each twice, separated by zero bytes:
//! with parentheses around every operator, and in MariaDB's own form. For `tests/parser-oracle/exprs.py`.

use std::io::{Read, Write};

use sql_syntax::ast::{QueryBody, SelectItem, Statement};
use sql_syntax::{Arena, ParseOptions, PrintStyle, parse, print_expr};

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let options = ParseOptions {
        pipes_as_concat: mode.contains("pipes"),
        high_not_precedence: mode.contains("high_not"),
        ..ParseOptions::default()
    };
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).expect("standard input");
    let mut out = std::io::BufWriter::new(std::io::stdout());
    for text in input.split(|&b| b == 0) {
        let arena = Arena::new();
        let sql = [b"select ", text].concat();
        let (mut grouped, mut plain) = (Vec::new(), Vec::new());
        match parse(&arena, &sql, options).map(|p| p.statement) {
            Ok(Statement::Query(query)) => {
                if let QueryBody::Select(select) = query.body
                    && let SelectItem::Expr(item) = select.items[0]
                {
                    print_expr(
                        &mut grouped,
                        &item.expr,
                        PrintStyle { grouped: true, ..PrintStyle::default() },
                    );
                    print_expr(&mut plain, &item.expr, PrintStyle::default());
                }
            }
            Ok(_) => grouped.extend_from_slice(b"not a query"),
            Err(error) => grouped.extend_from_slice(format!("error {error}").as_bytes()),
        }
        for text in [&grouped, &plain] {
            out.write_all(text).and_then(|()| out.write_all(b"\0")).expect("standard output");
        }
    }
}
