//! Any bytes, any sql_mode: the parser answers and does not panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sql_syntax::{Arena, ParseOptions, parse_at};

fuzz_target!(|data: &[u8]| {
    let Some((&mode, sql)) = data.split_first() else { return };
    let options = ParseOptions {
        ansi_quotes: mode & 1 != 0,
        pipes_as_concat: mode & 2 != 0,
        high_not_precedence: mode & 4 != 0,
        no_backslash_escapes: mode & 8 != 0,
        ignore_space: mode & 16 != 0,
        params: mode & 32 != 0,
    };
    let mut arena = Arena::new();
    let mut start = 0;
    loop {
        let next = match parse_at(&arena, sql, start, options) {
            Ok(parsed) => parsed.next,
            Err(_) => None,
        };
        let Some(next) = next else { break };
        assert!(next > start);
        start = next;
        arena.reset();
    }
});
