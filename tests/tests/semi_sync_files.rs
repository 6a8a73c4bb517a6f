//! Semi-synchronous commits with the binary log in files of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use blackbox::{Client, Replica, Server, Version};

fn start(more: &[&str]) -> Server {
    let files = ["--binlog-storage-engine=FILE", "--log-bin=mb", "--sync-binlog=1", "--server-id=7"];
    let options: Vec<&str> = files.iter().chain(more).copied().collect();
    Server::start(&options)
}

fn status(c: &mut Client, name: &str) -> String {
    let row = c.rows(&format!("SHOW STATUS LIKE 'Rpl_semi_sync_master_{name}'")).concat();
    row.split('\t').nth(1).unwrap_or_default().to_owned()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn position(c: &mut Client) -> String {
    c.rows("SELECT @@GLOBAL.gtid_binlog_pos").concat()
}

fn equal(server: &Server, replica: &Replica) {
    let mut c = server.client();
    replica.catch_up(&position(&mut c));
    replica.check();
    let sums = |c: &mut Client| c.rows("CHECKSUM TABLE r.t");
    assert_eq!(sums(&mut c), sums(&mut replica.client()));
}

/// Rows that clients were told are committed.
type Told = Arc<Mutex<Vec<u64>>>;

/// Four writers of rows with ids from `base` on, until told to stop or until the server is gone.
fn load(port: u16, base: u64, told: &Told, stop: &Arc<AtomicBool>) -> Vec<std::thread::JoinHandle<()>> {
    let writer = |w: u64| {
        let (told, stop) = (Arc::clone(told), Arc::clone(stop));
        std::thread::spawn(move || {
            let Ok(mut c) = Client::tcp(port) else { return };
            for n in 0.. {
                let id = base + n * 4 + w;
                let done = c.query(&format!("INSERT INTO r.t VALUES ({id}, REPEAT('x', {}))", id % 200));
                if done.is_err() || stop.load(Ordering::Relaxed) {
                    return;
                }
                told.lock().unwrap_or_else(PoisonError::into_inner).push(id);
            }
        })
    };
    (0..4).map(writer).collect()
}

fn count(told: &Told) -> usize {
    told.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// A replica that acknowledges, and a table.
fn with_replica(server: &Server) -> Replica {
    let mut c = server.client();
    c.run("CREATE DATABASE r");
    c.run("CREATE TABLE r.t (id BIGINT PRIMARY KEY, s VARCHAR(300))");
    let replica = Replica::start(&Version::all()[0], 100, &["--rpl-semi-sync-slave-enabled=ON"]);
    c.run("SET GLOBAL rpl_semi_sync_master_enabled = ON");
    replica.follow(server.port, "");
    wait_until("no semi-synchronous replica", || status(&mut c, "clients") == "1");
    wait_until("it has not caught up", || status(&mut c, "status") == "ON");
    replica
}

#[test]
fn commits_wait_for_a_replica_at_both_points_and_through_new_files() {
    let server = start(&["--rpl-semi-sync-master-timeout=60000", "--max-binlog-size=16K"]);
    let replica = with_replica(&server);
    let mut c = server.client();
    let before: u64 = status(&mut c, "no_tx").parse().expect("a number");
    for (i, point) in (1..).zip(["AFTER_COMMIT", "AFTER_SYNC"]) {
        c.run(&format!("SET GLOBAL rpl_semi_sync_master_wait_point = {point}"));
        let (told, stop) = (Told::default(), Arc::new(AtomicBool::new(false)));
        let threads = load(server.port, i * 1_000_000, &told, &stop);
        wait_until("commits are not acknowledged", || count(&told) > 200);
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|t| t.join().expect("a writer"));
    }
    assert!(c.rows("SHOW BINARY LOGS").len() > 3, "files end at max_binlog_size");
    assert_eq!(status(&mut c, "status"), "ON");
    assert_eq!(status(&mut c, "no_tx").parse(), Ok(before));
    assert!(status(&mut c, "yes_tx").parse::<u64>().expect("a number") >= 400);
    equal(&server, &replica);
}

#[test]
fn what_a_client_was_told_is_on_the_replica_when_the_primary_is_killed() {
    let mut server =
        start(&["--rpl-semi-sync-master-timeout=600000", "--rpl-semi-sync-master-wait-point=AFTER_SYNC"]);
    let replica = with_replica(&server);
    for round in 1..6 {
        let (told, stop) = (Told::default(), Arc::new(AtomicBool::new(false)));
        let threads = load(server.port, round * 1_000_000, &told, &stop);
        wait_until("commits are not acknowledged", || count(&told) > 100);
        server.kill();
        threads.into_iter().for_each(|t| t.join().expect("a writer"));
        let told: Vec<u64> = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let last = told.iter().max().copied().unwrap_or(0);
        wait_until("an acknowledged commit is lost", || {
            let rows = replica.client().rows(&format!("SELECT COUNT(*) FROM r.t WHERE id = {last}"));
            rows.concat() == "1"
        });
        let mut there =
            replica.client().rows(&format!("SELECT id FROM r.t WHERE id >= {}", round * 1_000_000));
        wait_until("an acknowledged commit is lost", || {
            there = replica.client().rows(&format!("SELECT id FROM r.t WHERE id >= {}", round * 1_000_000));
            let there: std::collections::HashSet<&str> = there.iter().map(String::as_str).collect();
            told.iter().all(|id| there.contains(id.to_string().as_str()))
        });
        server.restart();
        let mut c = server.client();
        c.run("SET GLOBAL rpl_semi_sync_master_enabled = ON");
        wait_until("no semi-synchronous replica", || status(&mut c, "clients") == "1");
        equal(&server, &replica);
    }
}

#[test]
fn a_commit_is_in_the_file_and_not_seen_before_it_is_acknowledged() {
    let server = start(&["--rpl-semi-sync-master-timeout=2000"]);
    let mut c = server.client();
    c.run("CREATE DATABASE r");
    c.run("CREATE TABLE r.t (id INT PRIMARY KEY)");
    c.run("SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC");
    c.run("SET GLOBAL rpl_semi_sync_master_enabled = ON");
    let mut writer = server.client();
    let waiting = std::thread::spawn(move || {
        writer.run("INSERT INTO r.t VALUES (1)");
        writer.rows("SELECT id FROM r.t")
    });
    wait_until("nobody waits", || status(&mut c, "wait_sessions") == "1");
    assert!(c.rows("SELECT id FROM r.t").is_empty(), "no replica has it");
    let events = c.rows("SHOW BINLOG EVENTS");
    assert!(events.iter().any(|row| row.contains("Write_rows_v1")), "{events:?}");
    assert_eq!(waiting.join().expect("the writer"), ["1"]);
    assert_eq!(c.rows("SELECT id FROM r.t"), ["1"]);
    assert_eq!((status(&mut c, "status"), status(&mut c, "no_times")), ("OFF".to_owned(), "1".to_owned()));
}

#[test]
fn reset_master_begins_anew_for_acknowledgements_too() {
    let server = start(&["--rpl-semi-sync-master-timeout=60000"]);
    let replica = with_replica(&server);
    let mut c = server.client();
    for id in 0..50 {
        c.run(&format!("INSERT INTO r.t VALUES ({id}, 'before')"));
    }
    equal(&server, &replica);
    replica.client().run("STOP SLAVE");
    wait_until("the dump has not ended", || status(&mut c, "clients") == "0");
    wait_until("the dump is connected", || c.query("RESET MASTER").is_ok());
    let (told, stop) = (Told::default(), Arc::new(AtomicBool::new(true)));
    let threads = load(server.port, 1_000_000, &told, &stop);
    wait_until("nobody waits", || status(&mut c, "wait_sessions") == "4");
    let mut r = replica.client();
    for sql in ["RESET MASTER", "SET GLOBAL gtid_slave_pos = ''", "START SLAVE"] {
        r.run(sql);
    }
    threads.into_iter().for_each(|t| t.join().expect("a writer"));
    assert_eq!(status(&mut c, "wait_sessions"), "0");
    assert_eq!(status(&mut c, "no_times"), "0");
    equal(&server, &replica);
}
