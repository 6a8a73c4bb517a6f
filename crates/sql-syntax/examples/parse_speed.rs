//! Nanoseconds per statement: `cargo run --release -p sql-syntax --example parse_speed`.

use std::hint::black_box;
use std::time::Instant;

use sql_syntax::{Arena, ParseOptions, parse};

const STATEMENTS: [(&str, &str); 8] = [
    ("point select", "SELECT c FROM sbtest1 WHERE id=5047"),
    ("range", "SELECT c FROM sbtest1 WHERE id BETWEEN 5000 AND 5099"),
    ("order range", "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 5000 AND 5099 ORDER BY c"),
    ("update", "UPDATE sbtest1 SET k=k+1 WHERE id=5047"),
    ("delete", "DELETE FROM sbtest1 WHERE id=5047"),
    (
        "insert",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (5047, 4995, \
         '83868641912-28773972837-60736120486-75162659906-27563526494-20381887404-41576422241-93426793964-56405065102-33518432330', \
         '67847967377-48000963322-62604785301-91415491898-96926520291')",
    ),
    ("begin", "BEGIN"),
    (
        "TPC-H Q3",
        "select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority \
         from customer, orders, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey \
         and l_orderkey = o_orderkey and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' \
         group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate limit 10",
    ),
];

fn main() {
    let mut arena = Arena::with_capacity(64 << 10);
    for (name, sql) in STATEMENTS {
        let mut best = f64::MAX;
        for _ in 0..400 {
            // Short rounds: the best one had the processor to itself.
            const ROUNDS: u32 = 300;
            let start = Instant::now();
            for _ in 0..ROUNDS {
                let parsed = parse(&arena, black_box(sql.as_bytes()), ParseOptions::default());
                assert!(black_box(&parsed).is_ok());
                arena.reset();
            }
            best = best.min(start.elapsed().as_nanos() as f64 / f64::from(ROUNDS));
        }
        println!("{name:14} {best:8.0} ns");
    }
}
