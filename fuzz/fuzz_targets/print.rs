//! A query that parses prints as text that parses and prints the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sql_syntax::ast::{Query, Statement};
use sql_syntax::{Arena, ParseOptions, PrintStyle, parse, print_query};

fn text(query: &Query<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    print_query(&mut out, query, PrintStyle::default());
    out
}

fuzz_target!(|data: &[u8]| {
    let arena = Arena::new();
    let options = ParseOptions { params: true, ..ParseOptions::default() };
    let Ok(parsed) = parse(&arena, data, options) else { return };
    let Statement::Query(query) = parsed.statement else { return };
    let once = text(query);
    // Parentheses that printing adds may reach the bound on nesting.
    let Ok(again) = parse(&arena, &once, options) else { return };
    let Statement::Query(query) = again.statement else { panic!("not a query") };
    assert_eq!(once, text(query));
});
