//! Reads statements from standard input, each ended by a zero byte, and says of each whether it parses: `ok`, or the
//! error's code and text. For the comparison with a real server in `tests/parser-oracle`.

use std::io::{Read, Write};

use sql_syntax::{Arena, ParseOptions, parse};

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let options = ParseOptions {
        ansi_quotes: mode.contains("ansi_quotes"),
        pipes_as_concat: mode.contains("pipes"),
        high_not_precedence: mode.contains("high_not"),
        no_backslash_escapes: mode.contains("no_backslash"),
        ignore_space: mode.contains("ignore_space"),
        params: true,
    };
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).expect("standard input");
    let mut out = std::io::BufWriter::new(std::io::stdout());
    let mut arena = Arena::new();
    for sql in input.split(|&b| b == 0) {
        match parse(&arena, sql, options) {
            Ok(parsed) if parsed.next.is_some() => writeln!(out, "more"),
            Ok(_) => writeln!(out, "ok"),
            Err(error) => writeln!(out, "{} {}", error.code(), error.to_string().replace('\n', "\\n")),
        }
        .expect("standard output");
        arena.reset();
    }
}
