//! Printed text: in MariaDB's form, and the same tree again.

use sql_syntax::ast::*;
use sql_syntax::{Arena, ParseOptions, PrintStyle, parse, print_expr, print_query};

fn printed(expr: &str) -> String {
    let arena = Arena::new();
    let sql = format!("select {expr}");
    let parsed =
        parse(&arena, sql.as_bytes(), ParseOptions::default()).unwrap_or_else(|e| panic!("{expr}: {e}"));
    let Statement::Query(Query { body: QueryBody::Select(select), .. }) = parsed.statement else { panic!() };
    let SelectItem::Expr(item) = select.items[0] else { panic!() };
    let mut out = Vec::new();
    print_expr(&mut out, &item.expr, PrintStyle::default());
    String::from_utf8(out).unwrap()
}

#[test]
fn expressions_look_as_the_server_prints_them() {
    for (written, expected) in [
        ("a+b*c", "`a` + `b` * `c`"),
        ("(a+b)*c", "(`a` + `b`) * `c`"),
        ("a-(b-c)", "`a` - (`b` - `c`)"),
        ("- -a", "--`a`"),
        ("a % b", "`a` MOD `b`"),
        ("a != b", "`a` <> `b`"),
        ("(a=b) is null", "`a` = `b` is null"),
        ("a=(b=c)", "`a` = (`b` = `c`)"),
        ("a is not unknown", "`a` is not null"),
        ("s rlike 'x'", "`s` regexp 'x'"),
        ("(a like b) not like c", "(`a` like `b`)  not like `c`"),
        ("a like b not like c", "`a` like (`b`  not like `c`)"),
        ("adddate(d, 5)", "`d` + interval 5 day"),
        ("substring(s from 2 for 3)", "substr(`s`,2,3)"),
        ("position('x' in s)", "locate('x',`s`)"),
        (
            "concat(1.5,1e3,0x41,x'41',b'101',date'2020-01-01',null)",
            "concat(1.5,1e3,0x41,X'41',0x05,DATE'2020-01-01',NULL)",
        ),
        ("now()", "current_timestamp()"),
        ("length(upper(s))", "octet_length(ucase(`s`))"),
        ("'it''s' 'b'", "'it\\'sb'"),
        ("'nl\\n\\\\'", "'nl\\n\\\\'"),
        ("`a``b`.c", "`a``b`.`c`"),
        ("case a when 1 then 2 else 3 end", "case `a` when 1 then 2 else 3 end"),
        ("cast(a as decimal(10,2))", "cast(`a` as decimal(10,2))"),
        ("group_concat(a)", "group_concat(`a` separator ',')"),
        (
            "count(*) over (partition by a order by b desc)",
            "count(*) over (partition by `a` order by `b` desc)",
        ),
    ] {
        assert_eq!(printed(written), expected, "{written}");
    }
}

#[test]
fn printed_queries_print_the_same_again() {
    let options = ParseOptions { params: true, ..ParseOptions::default() };
    let mut queries = 0;
    for sql in include_str!("statements.sql").lines() {
        let arena = Arena::new();
        let print = |text: &[u8]| -> Option<Vec<u8>> {
            let parsed = parse(&arena, arena.alloc_slice_copy(text), options).unwrap_or_else(|e| {
                panic!("{sql}\n{}\n{e}", String::from_utf8_lossy(text));
            });
            let Statement::Query(query) = parsed.statement else { return None };
            let mut out = Vec::new();
            print_query(&mut out, query, PrintStyle::default());
            Some(out)
        };
        if sql.is_empty() {
            continue;
        }
        if let Some(once) = print(sql.as_bytes()) {
            let again = print(&once).unwrap();
            assert_eq!(String::from_utf8_lossy(&once), String::from_utf8_lossy(&again));
            queries += 1;
        }
    }
    assert!(queries > 20);
}
