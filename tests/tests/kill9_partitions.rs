//! kill -9 of a server whose rows go into partitions, move between them and leave them while another connection adds, drops, divides,
//! merges, empties and exchanges the partitions.
//!
//! # What must hold after a crash
//! Transaction `n` of a writer decides, slot by slot, which rows the writer has in the lower half of `k.r` and in `k.h` ([`row_of`]); after a
//! crash the rows are those of the last acknowledged transaction or of the one behind it. The partitions that hold them are divided, merged
//! and copied, never emptied. The upper half of `k.r` is where partitions come and go; of the rows there only the place is known.
//!
//! The tables themselves walk through [`STEPS`]; after a crash the definitions and the marked rows stand at the last acknowledged
//! step or at the one behind it. Every row lies in the partition its values say, every index has every row, and no file of a partition
//! that is gone stays behind.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use blackbox::{Client, Failure, Reply, Server};

const WRITERS: u64 = 6;
const SLOTS: u64 = 8;

const SCHEMA: &[&str] = &[
    "CREATE DATABASE k",
    "CREATE TABLE k.counter (writer INT PRIMARY KEY, n BIGINT NOT NULL)",
    "CREATE TABLE k.r (id INT, writer INT NOT NULL, v BIGINT NOT NULL, filler VARCHAR(200) NOT NULL, PRIMARY KEY (id), KEY (writer), KEY (v)) \
     PARTITION BY RANGE (id) (PARTITION keep VALUES LESS THAN (100000), PARTITION re VALUES LESS THAN (200000), \
     PARTITION d1 VALUES LESS THAN (300000))",
    "CREATE TABLE k.x (id INT, writer INT NOT NULL, v BIGINT NOT NULL, filler VARCHAR(200) NOT NULL, PRIMARY KEY (id), KEY (writer), KEY (v))",
    "INSERT INTO k.x VALUES (399998, 0, -2, '')",
    "CREATE TABLE k.h (id INT, writer INT NOT NULL, v BIGINT NOT NULL, PRIMARY KEY (id), KEY (v)) PARTITION BY HASH (id) PARTITIONS 4",
];

/// What is done to the tables, and what stands behind each: partitions and columns of `r`, marked rows of `r` and of `x`, partitions of `h`.
const STEPS: &[(&str, &str)] = &[
    ("INSERT INTO k.r (id, writer, v, filler) VALUES (299999, 0, -1, '')", "keep,re,d1|4|299999|399998|4"),
    ("ALTER TABLE k.h ADD PARTITION PARTITIONS 2", "keep,re,d1|4|299999|399998|6"),
    (
        "ALTER TABLE k.r ADD PARTITION (PARTITION d2 VALUES LESS THAN (400000))",
        "keep,re,d1,d2|4|299999|399998|6",
    ),
    (
        "INSERT INTO k.r (id, writer, v, filler) VALUES (399999, 0, -2, '')",
        "keep,re,d1,d2|4|299999,399999|399998|6",
    ),
    (
        "ALTER TABLE k.r REORGANIZE PARTITION re INTO \
         (PARTITION re1 VALUES LESS THAN (150000), PARTITION re2 VALUES LESS THAN (200000))",
        "keep,re1,re2,d1,d2|4|299999,399999|399998|6",
    ),
    ("ALTER TABLE k.r EXCHANGE PARTITION d2 WITH TABLE k.x", "keep,re1,re2,d1,d2|4|299999,399998|399999|6"),
    ("ALTER TABLE k.h COALESCE PARTITION 3", "keep,re1,re2,d1,d2|4|299999,399998|399999|3"),
    (
        "ALTER TABLE k.r ADD COLUMN c INT DEFAULT 7, ADD KEY (c)",
        "keep,re1,re2,d1,d2|5|299999,399998|399999|3",
    ),
    ("ALTER TABLE k.r TRUNCATE PARTITION d1", "keep,re1,re2,d1,d2|5|399998|399999|3"),
    (
        "ALTER TABLE k.r REORGANIZE PARTITION re1, re2 INTO (PARTITION re VALUES LESS THAN (200000))",
        "keep,re,d1,d2|5|399998|399999|3",
    ),
    ("ALTER TABLE k.r DROP PARTITION d2", "keep,re,d1|5||399999|3"),
    ("DELETE FROM k.x", "keep,re,d1|5|||3"),
    ("INSERT INTO k.x VALUES (399998, 0, -2, '')", "keep,re,d1|5||399998|3"),
    ("ALTER TABLE k.h ADD PARTITION PARTITIONS 1", "keep,re,d1|5||399998|4"),
    ("ALTER TABLE k.r DROP COLUMN c", "keep,re,d1|4||399998|4"),
];

/// The partitions of `r` and the rows that belong there.
const PLACES: &[(&str, &str)] = &[
    ("keep", "id < 100000"),
    ("re", "id >= 100000 AND id < 200000"),
    ("re1", "id >= 100000 AND id < 150000"),
    ("re2", "id >= 150000 AND id < 200000"),
    ("d1", "id >= 200000 AND id < 300000"),
    ("d2", "id >= 300000 AND id < 400000"),
];

/// What was acknowledged.
struct Told {
    transactions: Vec<AtomicU64>,
    steps: AtomicU64,
}

/// The row of a slot after its `turn`-th transaction, in `r` (its id) and in `h`: inserted, moved twice, deleted.
fn row_of(writer: u64, slot: u64, turn: u64) -> Option<(u64, u64)> {
    let place = writer * 1000 + slot * 10;
    match turn % 4 {
        0 => Some((place, place)),
        1 => Some((100_000 + place, place + 1)),
        2 => Some((150_000 + place, place + 3)),
        _ => None,
    }
}

/// The statements of transaction `n`.
fn statements(writer: u64, n: u64, random: u64) -> Vec<String> {
    let (slot, turn) = ((n - 1) % SLOTS, (n - 1) / SLOTS);
    let filler = format!("{random:x}-{}", "x".repeat((random % 150) as usize));
    let mut all = match (row_of(writer, slot, turn), row_of(writer, slot, turn + 3)) {
        (Some((r, h)), None) => vec![
            format!("INSERT INTO k.r (id, writer, v, filler) VALUES ({r}, {writer}, {n}, '{filler}')"),
            format!("INSERT INTO k.h VALUES ({h}, {writer}, {n})"),
        ],
        (Some((r, h)), Some((old_r, old_h))) => vec![
            format!("UPDATE k.r SET id = {r}, v = {n}, filler = '{filler}' WHERE id = {old_r}"),
            format!("UPDATE k.h SET id = {h}, v = {n} WHERE id = {old_h}"),
        ],
        (None, Some((old_r, old_h))) => {
            vec![format!("DELETE FROM k.r WHERE id = {old_r}"), format!("DELETE FROM k.h WHERE id = {old_h}")]
        }
        (None, None) => unreachable!("a slot is empty once in four turns"),
    };
    all.push(format!("UPDATE k.counter SET n = {n} WHERE writer = {writer}"));
    all
}

/// A statement about the rows whose partitions come and go.
fn elsewhere(writer: u64, random: u64) -> String {
    let id = 200_000 + (random & 1) * 100_000 + writer * 1000 + (random >> 1) % 50;
    let to = 200_000 + (random >> 7 & 1) * 100_000 + writer * 1000 + (random >> 8) % 50;
    match random >> 20 & 3 {
        0 => format!("DELETE FROM k.r WHERE id = {id}"),
        1 => format!("UPDATE IGNORE k.r SET id = {to}, v = v + 1 WHERE id = {id}"),
        _ => format!(
            "INSERT IGNORE INTO k.r (id, writer, v, filler) VALUES ({id}, {writer}, 1, 'x'), ({to}, {writer}, 1, 'y')"
        ),
    }
}

fn transact(c: &mut Client, writer: u64, n: u64, random: u64) -> Result<(), Failure> {
    c.query("BEGIN")?;
    for statement in statements(writer, n, random) {
        let reply = c.query(&statement)?;
        assert!(
            matches!(reply, Reply::Ok { affected: 1, .. }),
            "writer {writer} at {n}: {statement}: {reply:?}"
        );
    }
    match c.query(&elsewhere(writer, random)) {
        // No partition takes the row: the statement is undone, the transaction goes on.
        Ok(_) | Err(Failure::Server { code: 1526, .. }) => {}
        Err(e) => return Err(e),
    }
    c.query("COMMIT").map(drop)
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn write(port: u16, writer: u64, told: &Told, stop: &AtomicBool, seed: u64) {
    let mut random = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (writer + 1);
    let Ok(mut c) = Client::tcp(port) else { return };
    let told = &told.transactions[writer as usize];
    while !stop.load(Ordering::SeqCst) {
        let n = told.load(Ordering::SeqCst) + 1;
        match transact(&mut c, writer, n, next(&mut random)) {
            Ok(()) => told.store(n, Ordering::SeqCst),
            // Deadlock, lock wait timeout, another definition than at the begin: tried again.
            Err(Failure::Server { code: 1213 | 1205 | 1020 | 1412, .. }) => {
                if c.query("ROLLBACK").is_err() {
                    return;
                }
            }
            Err(Failure::Lost(_)) => return,
            Err(e) => panic!("writer {writer}, transaction {n}: {e}"),
        }
    }
}

fn change(port: u16, told: &Told, stop: &AtomicBool) {
    let Ok(mut c) = Client::tcp(port) else { return };
    while !stop.load(Ordering::SeqCst) {
        let step = told.steps.load(Ordering::SeqCst);
        let statement = STEPS[step as usize % STEPS.len()].0;
        match c.query(statement) {
            Ok(_) => told.steps.store(step + 1, Ordering::SeqCst),
            Err(Failure::Server { code: 1213 | 1205, .. }) => {}
            Err(Failure::Lost(_)) => return,
            Err(e) => panic!("{statement}: {e}"),
        }
    }
}

fn partitions(c: &mut Client, table: &str) -> Vec<String> {
    c.rows(&format!(
        "SELECT partition_name FROM information_schema.partitions WHERE table_schema = 'k' AND table_name = '{table}' \
         ORDER BY partition_ordinal_position"
    ))
}

/// How many steps, of one round through [`STEPS`], have been done.
fn step_of(c: &mut Client, round: u64) -> u64 {
    let columns = c.rows(
        "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'k' AND table_name = 'r'",
    );
    let mut marked = |table: &str| {
        c.rows(&format!("SELECT COALESCE(GROUP_CONCAT(id ORDER BY id), '') FROM k.{table} WHERE v < 0"))
            .remove(0)
    };
    let (r, x) = (marked("r"), marked("x"));
    let state =
        format!("{}|{}|{r}|{x}|{}", partitions(c, "r").join(","), columns[0], partitions(c, "h").len());
    let step = STEPS.iter().position(|(_, after)| *after == state);
    let step = step.unwrap_or_else(|| panic!("round {round}: a state between two steps: {state}"));
    (step as u64 + 1) % STEPS.len() as u64
}

/// Every row where it belongs, every index whole, and the text of the definition names the same partitions.
fn verify_places(c: &mut Client, round: u64) {
    let shown = c.rows("SHOW CREATE TABLE k.r").remove(0);
    for name in partitions(c, "r") {
        assert!(shown.contains(&format!("PARTITION `{name}` VALUES LESS THAN")), "round {round}: {shown}");
        let (_, belongs) = PLACES.iter().find(|(part, _)| *part == name).expect("a known partition");
        let stray = c.rows(&format!("SELECT id FROM k.r PARTITION ({name}) WHERE NOT ({belongs})"));
        assert!(stray.is_empty(), "round {round}: rows in {name}: {stray:?}");
    }
    let parts = partitions(c, "h");
    for (at, name) in parts.iter().enumerate() {
        let stray =
            c.rows(&format!("SELECT id FROM k.h PARTITION ({name}) WHERE id MOD {} <> {at}", parts.len()));
        assert!(stray.is_empty(), "round {round}: rows in {name} of h: {stray:?}");
    }
    for (table, index) in [("r", "writer"), ("r", "v"), ("h", "v"), ("x", "v")] {
        let all = c.rows(&format!("SELECT id, v FROM k.{table} FORCE INDEX (PRIMARY) ORDER BY id"));
        let mut by_index = c.rows(&format!(
            "SELECT id, v FROM k.{table} FORCE INDEX ({index}) WHERE {index} > -1000 ORDER BY {index}"
        ));
        by_index.sort_by_key(|row| row.split('\t').next().and_then(|id| id.parse::<u64>().ok()));
        assert_eq!(all, by_index, "round {round}: index {index} of {table}");
    }
    for table in ["r", "h", "x", "counter"] {
        let check = c.rows(&format!("CHECK TABLE k.{table}"));
        assert_eq!(check, [format!("k.{table}\tcheck\tstatus\tOK")], "round {round}");
    }
}

fn verify_rows(c: &mut Client, writer: u64, n: u64, round: u64) {
    let (mut in_r, mut in_h) = (Vec::new(), Vec::new());
    for slot in 0..SLOTS {
        // The newest transaction of this slot up to `n`.
        let Some(newest) = n.checked_sub((n + SLOTS - 1 - slot) % SLOTS).filter(|n| *n > 0) else { continue };
        if let Some((r, h)) = row_of(writer, slot, (newest - 1) / SLOTS) {
            in_r.push((r, newest));
            in_h.push((h, newest));
        }
    }
    let mut told = Vec::new();
    for (table, mut expected) in [("r", in_r), ("h", in_h)] {
        expected.sort_unstable();
        told.push(expected.iter().map(|(id, v)| format!("{table}\t{id}\t{v}")).collect::<Vec<_>>());
    }
    let mut is = |table: &str| {
        c.rows(&format!(
            "SELECT '{table}', id, v FROM k.{table} WHERE writer = {writer} AND id < 200000 ORDER BY id"
        ))
    };
    assert_eq!([is("r"), is("h")], told[..], "round {round}: writer {writer} at {n}");
}

fn verify(c: &mut Client, told: &Told, durable: bool, round: u64) {
    let (sent, step, length) = (told.steps.load(Ordering::SeqCst), step_of(c, round), STEPS.len() as u64);
    assert!(
        !durable || step == (sent + 1) % length || step == sent % length,
        "round {round}: {sent} steps were acknowledged, the tables are at {step}"
    );
    told.steps.store(step, Ordering::SeqCst);
    verify_places(c, round);
    for writer in 0..WRITERS {
        let told = &told.transactions[writer as usize];
        let sent = told.load(Ordering::SeqCst);
        let n: u64 =
            c.rows(&format!("SELECT n FROM k.counter WHERE writer = {writer}"))[0].parse().expect("a number");
        assert!(
            n <= sent + 1 && (n >= sent || !durable),
            "round {round}: writer {writer} was told {sent}, the table has {n}"
        );
        verify_rows(c, writer, n, round);
        told.store(n, Ordering::SeqCst);
    }
}

fn spaces(data: &Path) -> usize {
    std::fs::read_dir(data.join("spaces")).expect("a folder of spaces").count()
}

/// Files of spaces that the tables here have: `r`, `h`, `x`, the counter.
fn files_of(c: &mut Client) -> usize {
    partitions(c, "r").len() + partitions(c, "h").len() + 2
}

fn rounds(flush: u8, rounds: u64) {
    let policy = format!("--innodb-flush-log-at-trx-commit={flush}");
    let mut server = Server::start(&[&policy, "--innodb-log-file-size=8M", "--log-bin"]);
    let empty = spaces(&server.data());
    let mut c = server.client();
    // What the rounds start from must be there in any case.
    c.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    SCHEMA.iter().for_each(|sql| drop(c.run(sql)));
    for writer in 0..WRITERS {
        c.run(&format!("INSERT INTO k.counter VALUES ({writer}, 0)"));
    }
    c.run(&format!("SET GLOBAL innodb_flush_log_at_trx_commit = {flush}"));
    drop(c);
    let told = Arc::new(Told {
        transactions: (0..WRITERS).map(|_| AtomicU64::new(0)).collect(),
        steps: AtomicU64::new(0),
    });
    let mut steps = 0;
    for round in 0..rounds {
        let stop = Arc::new(AtomicBool::new(false));
        let before = told.steps.load(Ordering::SeqCst);
        let mut threads: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (told, stop, port) = (told.clone(), stop.clone(), server.port);
                std::thread::spawn(move || {
                    write(port, writer, &told, &stop, round * 3 + u64::from(flush));
                })
            })
            .collect();
        let (told_too, stop_too, port) = (told.clone(), stop.clone(), server.port);
        threads.push(std::thread::spawn(move || change(port, &told_too, &stop_too)));
        std::thread::sleep(Duration::from_millis(150 + round * 137 % 700));
        server.kill();
        stop.store(true, Ordering::SeqCst);
        for thread in threads {
            thread.join().expect("an error that is not the crash");
        }
        steps += told.steps.load(Ordering::SeqCst) - before;
        server.restart();
        verify(&mut server.client(), &told, flush == 1, round);
        let files = empty + files_of(&mut server.client());
        assert_eq!(spaces(&server.data()), files, "round {round}: files of spaces");
    }
    let sum: u64 = told.transactions.iter().map(|n| n.load(Ordering::SeqCst)).sum();
    eprintln!("flush {flush}: {sum} transactions, {steps} steps in {rounds} rounds");
    assert!(sum > 0 && steps > 0, "nothing was done");
    let mut c = server.client();
    for table in ["r", "h", "x", "counter"] {
        c.run(&format!("DROP TABLE k.{table}"));
    }
    drop(c);
    assert!(server.stop(), "a clean end");
    server.restart();
    assert_eq!(spaces(&server.data()), empty, "files after all tables were dropped");
}

fn rounds_wanted() -> u64 {
    std::env::var("KILL9_ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(6)
}

#[test]
fn partitions_stay_whole_when_every_commit_is_synced() {
    rounds(1, rounds_wanted());
}

#[test]
fn partitions_stay_whole_when_commits_are_neither_written_nor_synced() {
    rounds(0, rounds_wanted());
}
