//! kill -9 of a loaded server, again and again: every acknowledged commit is there, nothing of any other is.
//!
//! Each writer owns a row of `counter`. Its transaction number `n` moves money between two accounts, inserts `n` into `done`
//! with an indexed filler, and sets its counter to `n`. After a crash each writer's counter, its rows in `done` and what was acknowledged
//! must tell the same story, the sum of money must be what it was, and CHECK TABLE must find every index equal to its rows.

use blackbox::{Client, Server};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const WRITERS: usize = 16;
const ACCOUNTS: u64 = 50;

fn create(c: &mut Client) {
    c.run("CREATE DATABASE k");
    c.run("CREATE TABLE k.account (id INT PRIMARY KEY, money BIGINT NOT NULL, KEY (money))");
    c.run("CREATE TABLE k.counter (writer INT PRIMARY KEY, n BIGINT NOT NULL)");
    c.run("CREATE TABLE k.done (writer INT, n BIGINT, filler VARCHAR(200) NOT NULL, PRIMARY KEY (writer, n), KEY (filler))");
    for id in 0..ACCOUNTS {
        c.run(&format!("INSERT INTO k.account VALUES ({id}, 1000)"));
    }
    for writer in 0..WRITERS {
        c.run(&format!("INSERT INTO k.counter VALUES ({writer}, 0)"));
    }
}

/// One transaction; an error that rolled it back is no failure, only the commit's answer counts.
fn transact(c: &mut Client, writer: usize, n: u64, random: u64) -> Result<(), blackbox::Failure> {
    let (from, to) = (random % ACCOUNTS, (random / ACCOUNTS) % ACCOUNTS);
    let filler = format!("{:x}-{}", random, "x".repeat((random % 120) as usize));
    c.query("BEGIN")?;
    c.query(&format!("UPDATE k.account SET money = money - 1 WHERE id = {}", from.min(to)))?;
    c.query(&format!("UPDATE k.account SET money = money + 1 WHERE id = {}", from.max(to)))?;
    c.query(&format!("INSERT INTO k.done VALUES ({writer}, {n}, '{filler}')"))?;
    if random.is_multiple_of(7) {
        c.query(&format!("DELETE FROM k.done WHERE writer = {writer} AND n = {n}"))?;
        c.query(&format!("INSERT INTO k.done VALUES ({writer}, {n}, '{filler}-again')"))?;
    }
    c.query(&format!("UPDATE k.counter SET n = {n} WHERE writer = {writer}"))?;
    c.query("COMMIT").map(|_| ())
}

/// xorshift, so that a round can be told from its number.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn load(
    server: &Server,
    acknowledged: &Arc<Vec<AtomicU64>>,
    stop: &Arc<AtomicBool>,
    seed: u64,
) -> Vec<std::thread::JoinHandle<()>> {
    (0..WRITERS)
        .map(|writer| {
            let (acknowledged, stop, port) = (acknowledged.clone(), stop.clone(), server.port);
            std::thread::spawn(move || {
                let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (writer as u64 + 1);
                let Ok(mut c) = Client::tcp(port) else { return };
                let mut n = acknowledged[writer].load(Ordering::SeqCst);
                while !stop.load(Ordering::SeqCst) {
                    match transact(&mut c, writer, n + 1, next(&mut random)) {
                        Ok(()) => {
                            n += 1;
                            acknowledged[writer].store(n, Ordering::SeqCst);
                        }
                        // Deadlock or lock wait timeout: rolled back, tried again.
                        Err(blackbox::Failure::Server { code: 1213 | 1205, .. }) => {
                            if c.query("ROLLBACK").is_err() {
                                return;
                            }
                        }
                        Err(blackbox::Failure::Lost(_)) => return,
                        Err(e) => panic!("writer {writer}: {e}"),
                    }
                }
            })
        })
        .collect()
}

fn verify(c: &mut Client, acknowledged: &[AtomicU64], durable: bool, round: u64) {
    let sum = c.rows("SELECT SUM(money) FROM k.account");
    assert_eq!(sum, [(ACCOUNTS * 1000).to_string()], "round {round}: money was lost or made");
    for (writer, acknowledged) in acknowledged.iter().enumerate() {
        let sent = acknowledged.load(Ordering::SeqCst);
        let n: u64 =
            c.rows(&format!("SELECT n FROM k.counter WHERE writer = {writer}"))[0].parse().expect("a number");
        if durable {
            assert!(n >= sent, "round {round}: writer {writer} was told {sent}, the table has {n}");
        }
        assert!(n <= sent + 1, "round {round}: writer {writer} was told {sent}, the table has {n}");
        let done = c.rows(&format!("SELECT COUNT(*), MIN(n), MAX(n) FROM k.done WHERE writer = {writer}"));
        let expected = if n == 0 { "0\tNULL\tNULL".to_owned() } else { format!("{n}\t1\t{n}") };
        assert_eq!(done, [expected], "round {round}: writer {writer}");
        acknowledged.store(n, Ordering::SeqCst);
    }
    for table in ["account", "counter", "done"] {
        let check = c.rows(&format!("CHECK TABLE k.{table}"));
        assert_eq!(check, [format!("k.{table}\tcheck\tstatus\tOK")], "round {round}");
    }
}

fn rounds(flush: u8, rounds: u64) {
    let mut server =
        Server::start(&[&format!("--innodb-flush-log-at-trx-commit={flush}"), "--innodb-log-file-size=8M"]);
    // What the rounds start from must be there in any case.
    let mut c = server.client();
    c.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    create(&mut c);
    c.run(&format!("SET GLOBAL innodb_flush_log_at_trx_commit = {flush}"));
    drop(c);
    let acknowledged: Arc<Vec<AtomicU64>> = Arc::new((0..WRITERS).map(|_| AtomicU64::new(0)).collect());
    for round in 0..rounds {
        let stop = Arc::new(AtomicBool::new(false));
        let writers = load(&server, &acknowledged, &stop, round * 3 + u64::from(flush));
        std::thread::sleep(Duration::from_millis(40 + round * 37 % 400));
        server.kill();
        stop.store(true, Ordering::SeqCst);
        for writer in writers {
            writer.join().expect("a writer saw an error that is not the crash");
        }
        if round % 5 == 4 {
            // A crash soon after the start, with recovery's background work still going on.
            server.restart();
            server.kill();
        }
        server.restart();
        verify(&mut server.client(), &acknowledged, flush == 1, round);
    }
}

fn rounds_wanted() -> u64 {
    std::env::var("KILL9_ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(6)
}

#[test]
fn nothing_acknowledged_is_lost_when_every_commit_is_synced() {
    rounds(1, rounds_wanted());
}

#[test]
fn what_is_left_is_consistent_when_commits_are_only_written() {
    rounds(2, rounds_wanted() / 2);
}

#[test]
fn what_is_left_is_consistent_when_commits_are_neither_written_nor_synced() {
    rounds(0, rounds_wanted() / 2);
}
