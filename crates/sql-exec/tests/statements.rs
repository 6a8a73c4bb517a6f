//! The SQL files of `tests/sql` that one connection can run, inside this process; the black-box tests run them all over the wire.

mod harness;

use catalog::DatabaseDef;
use charset::Collation;
use harness::{Server, TextSink};
use sql_plan::error::SqlError;
use sql_plan::plan::Plan;
use types::Value;

fn escaped(cell: &str) -> String {
    cell.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\0', "\\0")
}

fn answer(server: &mut Server, sql: &str) -> Vec<String> {
    match server.sql(sql) {
        Err(e) => vec![format!("! {} {} {}", e.errno, e.sqlstate(), escaped(&e.text))],
        Ok(a) if a.outcome.has_rows => a
            .sink
            .rows
            .iter()
            .map(|r| {
                let cells: Vec<String> =
                    r.iter().map(|c| c.as_deref().map_or("NULL".to_owned(), escaped)).collect();
                cells.join("\t")
            })
            .map(|l| if l.is_empty() { "\\e".to_owned() } else { l })
            .collect(),
        Ok(a) if a.outcome.affected_rows == 0 => Vec::new(),
        Ok(a) => vec![format!("= {}", a.outcome.affected_rows)],
    }
}

/// Statement, expected lines and line number; see `tests/src/sqltest.rs` for the format.
fn steps(text: &str) -> Vec<(usize, String, Vec<String>)> {
    let mut out = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut sql = line.to_owned();
        while !sql.ends_with(';') {
            let Some((_, next)) = lines.next() else { break };
            sql.push('\n');
            sql.push_str(next);
        }
        let mut expected = Vec::new();
        while let Some((_, next)) = lines.next_if(|(_, l)| !l.is_empty()) {
            expected.push(next.to_owned());
        }
        sql.truncate(sql.trim_end_matches(';').len());
        out.push((at + 1, sql, expected));
    }
    out
}

fn run_file(name: &str) {
    let path = format!("{}/../../tests/sql/{name}.test", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut server = Server::new();
    server.sql("CREATE DATABASE t").unwrap();
    let (mut differences, mut after_set) = (Vec::new(), false);
    for (line, sql, expected) in steps(&text) {
        // Other connections, variables and what depends on them, and lists of the session's are not here.
        let session_only = ["@", "SHOW WARNINGS", "SHOW TABLES", "SHOW COLUMNS", "SET"];
        if std::mem::take(&mut after_set) && sql.starts_with("SELECT")
            || session_only.iter().any(|s| sql.starts_with(s))
        {
            after_set = sql.starts_with("SET");
            continue;
        }
        let got = answer(&mut server, &sql);
        if got != expected {
            differences
                .push(format!("{name}.test:{line}: {sql}\n  expected: {expected:?}\n  got:      {got:?}"));
        }
    }
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
}

/// sysbench's statements, prepared once and run with other parameters.
#[test]
fn prepared_plans_are_reused() {
    let mut server = Server::new();
    server.sql("CREATE DATABASE t").unwrap();
    server
        .sql(
            "CREATE TABLE sbtest1 (id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', \
             pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id), KEY k_1 (k))",
        )
        .unwrap();
    let text = |s: &str| Value::utf8(s);
    let rows = |server: &mut Server, plan: &Plan, params: &[Value]| {
        let mut sink = TextSink::default();
        let outcome = server.execute(plan, params, &mut sink).unwrap();
        let rows: Vec<String> =
            sink.rows.iter().map(|r| r.iter().flatten().cloned().collect::<Vec<_>>().join(",")).collect();
        (outcome.affected_rows, rows)
    };
    let insert = server.prepare("INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)");
    for i in 1..=20 {
        let params = [Value::Int(i), Value::Int(i % 5), text(&format!("c{:02}", 21 - i)), text("p")];
        assert_eq!(rows(&mut server, &insert, &params).0, 1);
    }
    let point = server.prepare("SELECT c FROM sbtest1 WHERE id=?");
    assert_eq!(rows(&mut server, &point, &[Value::Int(3)]).1, ["c18"]);
    assert_eq!(rows(&mut server, &point, &[text("4")]).1, ["c17"]);
    assert!(rows(&mut server, &point, &[Value::Int(99)]).1.is_empty());
    let range = server.prepare("SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?");
    assert_eq!(rows(&mut server, &range, &[Value::Int(2), Value::Int(3)]).1, ["c19", "c18"]);
    let ordered = server.prepare("SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c");
    assert_eq!(rows(&mut server, &ordered, &[Value::Int(2), Value::Int(4)]).1, ["c17", "c18", "c19"]);
    let sum = server.prepare("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?");
    assert_eq!(rows(&mut server, &sum, &[Value::Int(1), Value::Int(4)]).1, ["10"]);
    let points = server.prepare("SELECT id, k FROM sbtest1 WHERE k IN (?, ?, ?)");
    assert_eq!(rows(&mut server, &points, &[Value::Int(1), Value::Int(3), Value::Int(1)]).1.len(), 8);
    let update = server.prepare("UPDATE sbtest1 SET k=k+1 WHERE id=?");
    assert_eq!(rows(&mut server, &update, &[Value::Int(3)]).0, 1);
    let set = server.prepare("UPDATE sbtest1 SET c=? WHERE id=?");
    assert_eq!(rows(&mut server, &set, &[text("new"), Value::Int(3)]).0, 1);
    assert_eq!(rows(&mut server, &set, &[text("new"), Value::Int(3)]).0, 0);
    assert_eq!(rows(&mut server, &point, &[Value::Int(3)]).1, ["new"]);
    let delete = server.prepare("DELETE FROM sbtest1 WHERE id=?");
    assert_eq!(rows(&mut server, &delete, &[Value::Int(3)]).0, 1);
    assert_eq!(rows(&mut server, &delete, &[Value::Int(3)]).0, 0);
    server.sql("ALTER TABLE sbtest1 ADD COLUMN x INT").unwrap();
    let mut sink = TextSink::default();
    assert_eq!(server.execute(&point, &[Value::Int(3)], &mut sink), Err(SqlError::StalePlan));
}

#[test]
fn dml() {
    run_file("dml");
}

#[test]
fn pruning() {
    run_file("pruning");
}

#[test]
fn partition_checks() {
    run_file("partition_checks");
}

#[test]
fn key_types() {
    run_file("key_types");
}

#[test]
fn ddl() {
    run_file("ddl");
}

#[test]
fn select() {
    run_file("select");
}

#[test]
fn types() {
    run_file("types");
}

#[test]
fn checksum() {
    run_file("checksum");
}

#[test]
fn queries() {
    run_file("queries");
}

#[test]
fn changes() {
    run_file("changes");
}

/// The index of each statement follows from how many rows its values have, not from the form of the condition.
#[test]
fn the_cheapest_index_is_found_by_looking_at_the_data() {
    let mut server = Server::new();
    server.sql("CREATE DATABASE t").unwrap();
    server
        .sql("CREATE TABLE o (id INT PRIMARY KEY, state INT, day INT, note VARCHAR(20), KEY (state), KEY (day))")
        .unwrap();
    let insert = server.prepare("INSERT INTO o VALUES (?, ?, ?, 'n')");
    for i in 0..2000 {
        let params = [Value::Int(i), Value::Int(i64::from(i % 400 == 0)), Value::Int(i / 20)];
        server.execute(&insert, &params, &mut TextSink::default()).unwrap();
    }
    // Key and rows of EXPLAIN.
    let mut chosen = |sql: &str| {
        let answer = answer(&mut server, &format!("EXPLAIN {sql}"));
        let columns: Vec<String> = answer[0].split('\t').map(str::to_owned).collect();
        (columns[5].clone(), columns[8].parse::<u64>().unwrap())
    };
    assert_eq!(chosen("SELECT * FROM o WHERE state = 1"), ("state".into(), 5));
    assert_eq!(chosen("SELECT * FROM o WHERE state = 0").0, "NULL");
    assert_eq!(chosen("SELECT * FROM o WHERE state = 1 AND day BETWEEN 0 AND 90"), ("state".into(), 5));
    assert_eq!(chosen("SELECT * FROM o WHERE state = 0 AND day BETWEEN 7 AND 8"), ("day".into(), 40));
    assert_eq!(chosen("SELECT * FROM o WHERE day < 95").0, "NULL");
    assert_eq!(chosen("SELECT id, day FROM o WHERE day < 95").0, "day");
    assert_eq!(chosen("SELECT * FROM o WHERE id > 1989 AND day > 3"), ("PRIMARY".into(), 10));
    assert_eq!(chosen("SELECT * FROM o WHERE day IN (1, 2, 3)"), ("day".into(), 60));
}

/// A rebuilt table is built leaf by leaf; what it holds, refuses and undoes is what row by row gives.
#[test]
fn tables_are_rebuilt_in_bulk() {
    let mut server = Server::new();
    server.sql("CREATE DATABASE t").unwrap();
    server.sql("CREATE TABLE b (id INT PRIMARY KEY, k INT, u INT, txt LONGTEXT)").unwrap();
    let insert = server.prepare("INSERT INTO b VALUES (?, ?, ?, REPEAT('x', ?))");
    for i in 0..3000 {
        let long = if i % 1000 == 7 { 50_000 } else { i % 90 };
        let unique = if i % 3 == 0 { Value::Null } else { Value::Int(i) };
        let params = [Value::Int(i), Value::Int(i * 7919 % 1000), unique, Value::Int(long)];
        server.execute(&insert, &params, &mut TextSink::default()).unwrap();
    }
    let sums = "SELECT COUNT(*), SUM(id), SUM(k), SUM(u), SUM(LENGTH(txt)) FROM b";
    let before = answer(&mut server, sums);
    assert_eq!(
        answer(&mut server, "ALTER TABLE b ADD UNIQUE (k)"),
        ["! 1062 23000 Duplicate entry '0' for key 'k'"]
    );
    let sound = |server: &mut Server| {
        assert_eq!(answer(server, sums), before);
        assert_eq!(answer(server, "CHECK TABLE b"), ["t.b\tcheck\tstatus\tOK"]);
    };
    sound(&mut server);
    for alter in [
        "ALTER TABLE b ADD KEY (k), ADD UNIQUE (u)",
        "ALTER TABLE b DROP PRIMARY KEY, ADD PRIMARY KEY (k, id)",
        "ALTER TABLE b DROP PRIMARY KEY",
        "ALTER TABLE b ADD PRIMARY KEY (id), ADD COLUMN more INT DEFAULT 5",
    ] {
        assert!(!answer(&mut server, alter).iter().any(|l| l.starts_with('!')), "{alter}");
        sound(&mut server);
    }
    assert_eq!(answer(&mut server, "SELECT COUNT(*) FROM b WHERE k = 7"), ["3"]);
    // Loaded rows are changed and changed back as all others.
    server.sql("UPDATE b SET k = k + 1, txt = 'short' WHERE id < 1500").unwrap();
    server.sql("DELETE FROM b WHERE id >= 2000").unwrap();
    assert_eq!(
        answer(&mut server, "SELECT COUNT(*), SUM(k) FROM b FORCE INDEX (k) WHERE k > 0"),
        ["2000\t1000500"]
    );
    assert_eq!(answer(&mut server, "CHECK TABLE b"), ["t.b\tcheck\tstatus\tOK"]);
}

#[test]
fn new_names_side_by_side_do_not_wait_for_each_other() {
    let server = Server::new();
    let database = |name: &str| DatabaseDef {
        name: name.to_owned(),
        collation: Collation::UTF8MB4_UCA1400_AI_CI,
        comment: String::new(),
    };
    let (mut first, mut second) = (server.catalog.change(), server.catalog.change());
    // Both names belong in one gap of the dictionary; a wait would end in an error, for nobody commits meanwhile.
    first.put_database(database("a1")).unwrap();
    second.put_database(database("a2")).unwrap();
    first.put_database(database("a3")).unwrap();
    second.commit().unwrap();
    first.commit().unwrap();
    let snapshot = server.catalog.snapshot();
    assert!(["a1", "a2", "a3"].iter().all(|name| snapshot.databases.contains_key(*name)));
}

#[test]
fn a_union_of_three_thousand_parts_is_planned_and_run() {
    let mut server = Server::new();
    server.sql("CREATE DATABASE t").unwrap();
    server.sql("CREATE TABLE u (id INT PRIMARY KEY, k INT)").unwrap();
    server.sql("INSERT INTO u VALUES (1, 10), (2, 20), (2999, 30)").unwrap();
    let parts: Vec<String> = (0..3_000).map(|i| format!("SELECT k FROM u WHERE id = {i}")).collect();
    assert_eq!(answer(&mut server, &parts.join(" UNION ALL ")), ["10", "20", "30"]);
    // What one part remembers by slot is nothing to the next: each has a derived table of its own.
    let parts: Vec<String> =
        (0..3_000).map(|i| format!("SELECT d.n FROM (SELECT DISTINCT {} AS n FROM u) d", i % 40)).collect();
    let sum = format!("SELECT COUNT(*), SUM(n) FROM ({}) x", parts.join(" UNION "));
    assert_eq!(answer(&mut server, &sum), ["40\t780"]);
}

#[test]
fn groups_in_the_order_of_an_index_are_those_of_a_hash() {
    let mut server = Server::new();
    server.sql("CREATE DATABASE t").unwrap();
    server.sql("CREATE TABLE g (a INT, b INT, c INT, PRIMARY KEY (a, b), KEY (c))").unwrap();
    server.sql("CREATE TABLE h (id INT PRIMARY KEY, a INT, KEY (a))").unwrap();
    let rows: Vec<String> = (0..300).map(|i| format!("({}, {}, {})", i / 7, i % 7, i * 31 % 11)).collect();
    server.sql(&format!("INSERT INTO g VALUES {}", rows.join(","))).unwrap();
    let rows: Vec<String> = (0..200).map(|i| format!("({i}, {})", i * 13 % 50)).collect();
    server.sql(&format!("INSERT INTO h VALUES {}", rows.join(","))).unwrap();
    for (keys, from) in [
        ("a", "g"),
        ("a", "g WHERE a BETWEEN 5 AND 30 AND b <> 3"),
        ("g.a", "g JOIN h ON h.a = g.a"),
        ("g.a", "g LEFT JOIN h ON h.a = g.a AND h.id > 90"),
        ("c", "g FORCE INDEX (c)"),
    ] {
        let ordered = format!(
            "SELECT {keys}, COUNT(*), SUM(b), COUNT(DISTINCT c), GROUP_CONCAT(b) FROM {from} GROUP BY {keys}"
        );
        // An expression is in no index.
        let hashed = format!(
            "SELECT {keys}, COUNT(*), SUM(b), COUNT(DISTINCT c), GROUP_CONCAT(b) FROM {from} GROUP BY {keys} + 0"
        );
        let found = answer(&mut server, &ordered);
        assert!(found.len() > 5, "{ordered}: {found:?}");
        assert_eq!(found, answer(&mut server, &hashed), "{ordered}");
        let limited = format!("{ordered} HAVING COUNT(*) > 1 LIMIT 2, 3");
        let expected: Vec<String> =
            found.iter().filter(|l| l.split('\t').nth(1) != Some("1")).skip(2).take(3).cloned().collect();
        assert_eq!(answer(&mut server, &limited), expected, "{limited}");
    }
}
