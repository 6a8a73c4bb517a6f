//! Input that is meant to hurt: deep, long, cut off, random. The parser answers, soon, without a panic.

use std::time::{Duration, Instant};

use sql_syntax::{Arena, ParseError, ParseOptions, parse};

/// Parses on a thread with a stack of 1 MiB.
fn on_small_stack(sql: String) -> Result<(), ParseError> {
    let run = move || {
        let arena = Arena::new();
        parse(&arena, sql.as_bytes(), ParseOptions { params: true, ..ParseOptions::default() }).map(|_| ())
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap()
}

/// Texts that nest: what opens a level, the core, what closes it.
const NESTS: [(&str, &str, &str, &str); 16] = [
    ("select ", "(", "1", ")"),
    ("select ", "abs(", "1", ")"),
    ("select ", "f(", "1", ")"),
    ("select ", "- ", "1", ""),
    ("select ", "not ", "1", ""),
    ("select ", "binary ", "1", ""),
    ("select ", "case when ", "1", " then 1 end"),
    ("select ", "@a := ", "1", ""),
    ("select ", "1 in (", "1", ")"),
    ("select ", "1 between 1 and ", "1", ""),
    ("select ", "interval (1) day + ", "1", ""),
    ("select ", "{x ", "1", "}"),
    ("select ", "(select ", "1", ")"),
    ("select 1 from ", "(", "t", ")"),
    ("select 1 from ", "(select 1 from ", "t", ") x"),
    ("select 1 from t where ", "exists(select ", "1", ")"),
];

#[test]
fn nesting_ends_in_an_error_and_not_in_the_stack() {
    for (head, open, core, close) in NESTS {
        for depth in [10, 50] {
            let sql = format!("{head}{}{core}{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(on_small_stack(sql), Ok(()), "{depth} times {open}");
        }
        for depth in [2_000, 100_000] {
            let sql = format!("{head}{}{core}{}", open.repeat(depth), close.repeat(depth));
            let error = on_small_stack(sql).expect_err(open);
            assert!(matches!(error.code(), 1436 | 1473), "{open}: {error}");
            // Cut off in the middle.
            assert!(on_small_stack(format!("{head}{}", open.repeat(depth))).is_err());
        }
    }
}

#[test]
fn programs_nest_within_bounds() {
    for (open, close) in [("begin ", " end;"), ("if 1 then ", " end if;"), ("loop ", " end loop;")] {
        let program = |depth| {
            format!("create procedure p() begin {}select 1;{} end", open.repeat(depth), close.repeat(depth))
        };
        assert_eq!(on_small_stack(program(20)), Ok(()), "{open}");
        assert_eq!(on_small_stack(program(50_000)), Err(ParseError::TooDeep), "{open}");
    }
}

#[test]
fn chains_are_bounded_where_they_make_trees_and_free_where_they_make_lists() {
    let chain = |item: &str, n| format!("select 1{}", item.repeat(n));
    assert_eq!(on_small_stack(chain(" + 1", 500)), Ok(()));
    assert_eq!(on_small_stack(chain(" + 1", 50_000)), Err(ParseError::TooDeep));
    for item in [" and 1", " or 1", ", 1", " union all select 1"] {
        assert_eq!(on_small_stack(chain(item, 50_000)), Ok(()), "{item}");
    }
    // A high left side inside a right side, again and again: each is below the bound, the tree is not.
    let mut sql = String::from("1");
    for _ in 0..20 {
        sql = format!("({sql}{})", " + 1".repeat(400));
    }
    assert_eq!(on_small_stack(format!("select {sql}")), Err(ParseError::TooDeep));
    assert_eq!(
        on_small_stack(format!("select 1 from a{}", " join a".repeat(5_000))),
        Err(ParseError::TooDeep)
    );
}

#[test]
fn time_grows_with_the_length() {
    let start = Instant::now();
    for unit in [
        "(",
        "((select ",
        "select ",
        "interval (",
        "a.",
        "/*",
        "/*! ",
        "'",
        "`",
        "1,",
        "(1,",
        "@a:=",
        "case ",
        "with a as (",
        "create table t (a int, ",
        "partition p values in (1),",
        "x'41' ",
        "not ",
        "a in ((",
        "in (interval (1",
    ] {
        for head in [
            "",
            "select ",
            "select 1 from ",
            "insert into t values (",
            "create table t (a int) partition by list (a) (",
        ] {
            let sql = format!("{head}{}", unit.repeat(200_000 / unit.len()));
            let _ = on_small_stack(sql);
        }
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// A small generator of pseudo-random numbers; the seed names the failure.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

#[test]
fn damaged_statements_do_not_panic() {
    let statements: Vec<&str> = include_str!("statements.sql").lines().filter(|l| !l.is_empty()).collect();
    assert!(statements.len() > 100);
    for seed in 1..=20_000u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut sql = statements[random.below(statements.len())].as_bytes().to_vec();
        for _ in 0..1 + random.below(4) {
            let at = random.below(sql.len() + 1);
            match random.below(4) {
                0 => sql.truncate(at),
                1 if at < sql.len() => sql[at] = random.below(256) as u8,
                2 => {
                    let other = statements[random.below(statements.len())].as_bytes();
                    let from = random.below(other.len());
                    sql.splice(at..at, other[from..].iter().copied().take(12));
                }
                _ if at < sql.len() => drop(sql.remove(at)),
                _ => {}
            }
        }
        let arena = Arena::new();
        let options = ParseOptions {
            params: seed % 2 == 0,
            ansi_quotes: seed % 3 == 0,
            pipes_as_concat: seed % 5 == 0,
            high_not_precedence: seed % 7 == 0,
            no_backslash_escapes: seed % 11 == 0,
            ignore_space: seed % 13 == 0,
        };
        let _ = parse(&arena, &sql, options);
    }
}

#[test]
fn the_collection_parses() {
    for sql in include_str!("statements.sql").lines().filter(|l| !l.is_empty()) {
        let arena = Arena::new();
        let options = ParseOptions { params: true, ..ParseOptions::default() };
        if let Err(error) = parse(&arena, sql.as_bytes(), options) {
            panic!("{sql}\n  {error}");
        }
    }
}
