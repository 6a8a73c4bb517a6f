//! kill -9 of a server whose writes go through everything that makes further writes: triggers, cascades, views, sequences, temporary
//! tables, events, XA, and DDL between them.
//!
//! # What must hold after a crash
//! Transaction `n` of a writer, and nothing of `n + 1`: its row in `done` (written through a view, numbered by a sequence), the row of
//! `audit` that a trigger wrote, the newest two families in `parent`, `child` and `grandchild` (older ones went by cascades), three rows from
//! a temporary table, and a counter whose trigger keeps the value before. Every third transaction is an XA transaction; what was prepared
//! and not decided at the crash is listed, and is then decided here.
//!
//! Each writer walks a table of its own through [`STEPS`]; after a crash it stands at the last step that was acknowledged or at the
//! one behind it, never in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use blackbox::{Client, Failure, Server};

const WRITERS: usize = 8;
/// Ids of a writer's rows are apart by this; odd ones are moved by half of it.
const APART: u64 = 1_000_000;
const MOVED: u64 = APART / 2;

const SCHEMA: &[&str] = &[
    "CREATE DATABASE k",
    "CREATE TABLE k.counter (writer INT PRIMARY KEY, n BIGINT NOT NULL, previous BIGINT NOT NULL DEFAULT 0)",
    "CREATE TABLE k.done (writer INT, n BIGINT, s BIGINT NOT NULL, filler VARCHAR(200) NOT NULL, PRIMARY KEY (writer, n), UNIQUE KEY (s), \
     KEY (filler))",
    "CREATE TABLE k.audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, writer INT, n BIGINT, KEY (writer, n))",
    "CREATE TABLE k.parent (id BIGINT PRIMARY KEY, writer INT, KEY (writer))",
    "CREATE TABLE k.child (id BIGINT PRIMARY KEY, parent BIGINT, writer INT, CONSTRAINT c FOREIGN KEY (parent) REFERENCES k.parent (id) \
     ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE k.grandchild (id BIGINT PRIMARY KEY, child BIGINT, writer INT, CONSTRAINT g FOREIGN KEY (child) REFERENCES k.child (id) \
     ON DELETE CASCADE)",
    "CREATE TABLE k.from_temporary (writer INT, n BIGINT, x INT, PRIMARY KEY (writer, x))",
    "CREATE TABLE k.ticks (id INT PRIMARY KEY, a BIGINT, b BIGINT)",
    "INSERT INTO k.ticks VALUES (1, 0, 0), (2, 0, 0)",
    "CREATE VIEW k.through AS SELECT writer, n, s, filler FROM k.done WHERE n > 0 WITH CHECK OPTION",
    "CREATE SEQUENCE k.s",
    "CREATE TRIGGER k.audits AFTER INSERT ON k.done FOR EACH ROW INSERT INTO k.audit (writer, n) VALUES (NEW.writer, NEW.n)",
    "CREATE TRIGGER k.keeps BEFORE UPDATE ON k.counter FOR EACH ROW SET NEW.previous = OLD.n",
    "CREATE EVENT k.ticker ON SCHEDULE EVERY 1 SECOND DO UPDATE k.ticks SET a = a + 1, b = b + 1",
];

/// Statements about a writer's own table, `{w}` is the writer, and what stands behind each: tables, columns, rows.
const STEPS: &[(&str, &str)] = &[
    ("CREATE TABLE k.own_{w} (id INT PRIMARY KEY, a INT)", "own 2 0"),
    ("INSERT INTO k.own_{w} VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)", "own 2 5"),
    ("ALTER TABLE k.own_{w} ADD COLUMN b INT DEFAULT 7, ADD KEY (a)", "own 3 5"),
    ("RENAME TABLE k.own_{w} TO k.moved_{w}", "moved 3 5"),
    ("TRUNCATE TABLE k.moved_{w}", "moved 3 0"),
    ("DROP TABLE k.moved_{w}", ""),
];

/// What was acknowledged to a writer.
#[derive(Default)]
struct Told {
    transactions: AtomicU64,
    steps: AtomicU64,
}

fn id_of(writer: usize, n: u64) -> u64 {
    writer as u64 * APART + n + if n.is_multiple_of(2) { 0 } else { MOVED }
}

/// The statements of a transaction.
fn statements(writer: usize, n: u64, random: u64) -> Vec<String> {
    let filler = format!("{random:x}-{}", "x".repeat((random % 120) as usize));
    let id = writer as u64 * APART + n;
    let mut all = vec![
        format!("INSERT INTO k.through VALUES ({writer}, {n}, NEXTVAL(k.s), '{filler}')"),
        format!("INSERT INTO k.parent VALUES ({id}, {writer})"),
        format!("INSERT INTO k.child VALUES ({}, {id}, {writer}), ({}, {id}, {writer})", id * 2, id * 2 + 1),
        format!(
            "INSERT INTO k.grandchild VALUES ({}, {}, {writer}), ({}, {}, {writer})",
            id * 2,
            id * 2,
            id * 2 + 1,
            id * 2 + 1
        ),
        format!("DELETE FROM k.from_temporary WHERE writer = {writer}"),
        format!("INSERT INTO k.from_temporary SELECT {writer}, {n}, x FROM k.t"),
        format!("UPDATE k.counter SET n = {n} WHERE writer = {writer}"),
    ];
    if !n.is_multiple_of(2) {
        all.insert(4, format!("UPDATE k.parent SET id = {} WHERE id = {id}", id_of(writer, n)));
    }
    if n > 2 {
        all.push(format!("DELETE FROM k.parent WHERE id = {}", id_of(writer, n - 2)));
    }
    all
}

fn transact(c: &mut Client, writer: usize, n: u64, random: u64) -> Result<(), Failure> {
    let xa = n.is_multiple_of(3).then(|| format!("'{writer}-{n}'"));
    match &xa {
        Some(name) => c.query(&format!("XA START {name}"))?,
        None => c.query("BEGIN")?,
    };
    for statement in statements(writer, n, random) {
        c.query(&statement)?;
    }
    match &xa {
        Some(name) => {
            c.query(&format!("XA END {name}"))?;
            c.query(&format!("XA PREPARE {name}"))?;
            c.query(&format!("XA COMMIT {name}"))?;
        }
        None => drop(c.query("COMMIT")?),
    }
    Ok(())
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn write(port: u16, writer: usize, told: &Told, stop: &AtomicBool, seed: u64) {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (writer as u64 + 1);
    let Ok(mut c) = Client::tcp(port) else { return };
    for statement in
        ["CREATE TEMPORARY TABLE k.t (x INT PRIMARY KEY)", "INSERT INTO k.t VALUES (1), (2), (3)"]
    {
        if c.query(statement).is_err() {
            return;
        }
    }
    while !stop.load(Ordering::SeqCst) {
        let n = told.transactions.load(Ordering::SeqCst) + 1;
        match transact(&mut c, writer, n, next(&mut random)) {
            Ok(()) => told.transactions.store(n, Ordering::SeqCst),
            // Deadlock, lock wait timeout, a changed snapshot: rolled back, tried again.
            Err(Failure::Server { code: 1213 | 1205 | 1020 | 1614, .. }) => {
                let name = format!("'{writer}-{n}'");
                let undo: &[String] = if n.is_multiple_of(3) {
                    &[format!("XA END {name}"), format!("XA ROLLBACK {name}")]
                } else {
                    &["ROLLBACK".to_owned()]
                };
                for statement in undo {
                    if matches!(c.query(statement), Err(Failure::Lost(_))) {
                        return;
                    }
                }
                continue;
            }
            Err(Failure::Lost(_)) => return,
            Err(e) => panic!("writer {writer}, transaction {n}: {e}"),
        }
        let step = told.steps.load(Ordering::SeqCst);
        let statement = STEPS[step as usize % STEPS.len()].0.replace("{w}", &writer.to_string());
        match c.query(&statement) {
            Ok(_) => told.steps.store(step + 1, Ordering::SeqCst),
            Err(Failure::Lost(_)) => return,
            Err(e) => panic!("writer {writer}, {statement}: {e}"),
        }
    }
}

/// Decides what is prepared, by the number's parity.
fn decide(c: &mut Client, round: u64) {
    for row in c.rows("XA RECOVER") {
        let name = row.split('\t').nth(3).expect("a name").to_owned();
        let n: u64 = name.split('-').nth(1).and_then(|n| n.parse().ok()).expect("a number");
        let verb = if n.is_multiple_of(2) { "COMMIT" } else { "ROLLBACK" };
        c.query(&format!("XA {verb} '{name}'"))
            .unwrap_or_else(|e| panic!("round {round}: XA {verb} '{name}': {e}"));
    }
    assert!(c.rows("XA RECOVER").is_empty(), "round {round}");
}

fn verify_rows(c: &mut Client, writer: usize, n: u64, round: u64) {
    let mut is = |sql: &str, expected: String| {
        let rows = c.rows(&sql.replace("{w}", &writer.to_string()));
        assert_eq!(rows, [expected], "round {round}: writer {writer} at {n}: {sql}");
    };
    let all = if n == 0 { "0\tNULL\tNULL".to_owned() } else { format!("{n}\t1\t{n}") };
    is("SELECT COUNT(*), MIN(n), MAX(n) FROM k.done WHERE writer = {w}", all.clone());
    is("SELECT COUNT(*), MIN(n), MAX(n) FROM k.through WHERE writer = {w}", all.clone());
    is("SELECT COUNT(*), MIN(n), MAX(n) FROM k.audit WHERE writer = {w}", all);
    is("SELECT previous FROM k.counter WHERE writer = {w}", n.saturating_sub(1).to_string());
    let families = n.min(2);
    let newest = if n == 0 {
        "NULL".to_owned()
    } else {
        id_of(writer, n).max(if n > 1 { id_of(writer, n - 1) } else { 0 }).to_string()
    };
    is("SELECT COUNT(*), MAX(id) FROM k.parent WHERE writer = {w}", format!("{families}\t{newest}"));
    is(
        "SELECT COUNT(*), COUNT(p.id) FROM k.child c LEFT JOIN k.parent p ON p.id = c.parent WHERE c.writer = {w}",
        format!("{0}\t{0}", families * 2),
    );
    is(
        "SELECT COUNT(*), COUNT(c.id) FROM k.grandchild g LEFT JOIN k.child c ON c.id = g.child WHERE g.writer = {w}",
        format!("{0}\t{0}", families * 2),
    );
    let copied = if n == 0 { "0\tNULL".to_owned() } else { format!("3\t{n}") };
    is("SELECT COUNT(*), MIN(n) FROM k.from_temporary WHERE writer = {w}", copied);
}

/// At which step a writer's own table stands: a number below [`STEPS`]' length, 0 = there is none.
fn step_of(c: &mut Client, writer: usize, round: u64) -> u64 {
    let found = c.rows(&format!(
        "SELECT t.table_name, COUNT(c.column_name) FROM information_schema.tables t JOIN information_schema.columns c USING (table_schema, table_name) \
         WHERE t.table_schema = 'k' AND t.table_name IN ('own_{writer}', 'moved_{writer}') GROUP BY 1"
    ));
    let state = match found.as_slice() {
        [] => String::new(),
        [one] => {
            let (name, columns) = one.split_once('\t').expect("two columns");
            let rows = c.rows(&format!("SELECT COUNT(*) FROM k.{name}")).remove(0);
            let check = c.rows(&format!("CHECK TABLE k.{name}")).remove(0);
            assert!(check.ends_with("OK"), "round {round}: {check}");
            format!("{} {columns} {rows}", name.split('_').next().expect("a word"))
        }
        more => panic!("round {round}: writer {writer} has two tables: {more:?}"),
    };
    let step = STEPS.iter().position(|(_, after)| *after == state);
    let step =
        step.unwrap_or_else(|| panic!("round {round}: writer {writer}: a state between two steps: {state}"));
    (step as u64 + 1) % STEPS.len() as u64
}

fn verify(c: &mut Client, all: &[Told], durable: bool, round: u64) {
    decide(c, round);
    for (writer, told) in all.iter().enumerate() {
        let sent = told.transactions.load(Ordering::SeqCst);
        let n: u64 =
            c.rows(&format!("SELECT n FROM k.counter WHERE writer = {writer}"))[0].parse().expect("a number");
        assert!(
            n <= sent + 1 && (n >= sent || !durable),
            "round {round}: writer {writer} was told {sent}, the table has {n}"
        );
        verify_rows(c, writer, n, round);
        told.transactions.store(n, Ordering::SeqCst);
        let (sent, step) = (told.steps.load(Ordering::SeqCst), step_of(c, writer, round));
        let length = STEPS.len() as u64;
        let is_next = step == (sent + 1) % length;
        assert!(
            !durable || is_next || step == sent % length,
            "round {round}: writer {writer} was told {sent} steps, the table is at {step}"
        );
        told.steps.store(step, Ordering::SeqCst);
    }
    let tables = ["audit", "child", "counter", "done", "from_temporary", "grandchild", "parent", "ticks"];
    for table in tables {
        let check = c.rows(&format!("CHECK TABLE k.{table}"));
        assert_eq!(check, [format!("k.{table}\tcheck\tstatus\tOK")], "round {round}");
    }
    assert_eq!(c.rows("SELECT COUNT(DISTINCT a), SUM(a = b) FROM k.ticks"), ["1\t2"], "round {round}");
    let ahead = c.rows("SELECT NEXTVAL(k.s) > COALESCE((SELECT MAX(s) FROM k.done), 0)");
    assert_eq!(ahead, ["1"], "round {round}: the sequence gives a value again");
}

fn rounds(flush: u8, rounds: u64, more: &[&str]) {
    let policy = format!("--innodb-flush-log-at-trx-commit={flush}");
    let mut options = vec![policy.as_str(), "--innodb-log-file-size=8M", "--event-scheduler=ON", "--log-bin"];
    options.extend(more);
    let mut server = Server::start(&options);
    let mut c = server.client();
    // What the rounds start from must be there in any case.
    c.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    SCHEMA.iter().for_each(|sql| drop(c.run(sql)));
    for writer in 0..WRITERS {
        c.run(&format!("INSERT INTO k.counter VALUES ({writer}, 0, 0)"));
    }
    c.run(&format!("SET GLOBAL innodb_flush_log_at_trx_commit = {flush}"));
    drop(c);
    let all: Arc<Vec<Told>> = Arc::new((0..WRITERS).map(|_| Told::default()).collect());
    for round in 0..rounds {
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (all, stop, port) = (all.clone(), stop.clone(), server.port);
                std::thread::spawn(move || {
                    write(port, writer, &all[writer], &stop, round * 3 + u64::from(flush))
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(60 + round * 37 % 500));
        server.kill();
        stop.store(true, Ordering::SeqCst);
        for writer in writers {
            writer.join().expect("a writer saw an error that is not the crash");
        }
        server.restart();
        verify(&mut server.client(), &all, flush == 1, round);
    }
    let sum: u64 = all.iter().map(|told| told.transactions.load(Ordering::SeqCst)).sum();
    eprintln!("flush {flush}: {sum} transactions in {rounds} rounds");
    assert!(sum > 0, "the writers wrote");
}

fn rounds_wanted() -> u64 {
    std::env::var("KILL9_ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(4)
}

#[test]
fn objects_stay_whole_when_every_commit_is_synced() {
    rounds(1, rounds_wanted(), &[]);
}

#[test]
fn objects_stay_whole_when_commits_are_only_written() {
    rounds(2, rounds_wanted(), &[]);
}

#[test]
fn objects_stay_whole_when_commits_are_neither_written_nor_synced() {
    rounds(0, rounds_wanted(), &[]);
}

#[test]
fn objects_stay_whole_with_a_binary_log_in_files() {
    rounds(1, rounds_wanted(), &["--binlog-storage-engine=FILE"]);
}
