//! `binlog_storage_engine=FILE`: the binary log in files of its own, as a user, MariaDB's tools and real replicas see it.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use blackbox::{Client, Replica, Server, Version};

const FILES: [&str; 4] = ["--binlog-storage-engine=FILE", "--log-bin=mb", "--sync-binlog=1", "--server-id=7"];

fn start(more: &[&str]) -> Server {
    let options: Vec<&str> = FILES.iter().chain(more).copied().collect();
    Server::start(&options)
}

fn position(c: &mut Client) -> String {
    c.rows("SELECT @@GLOBAL.gtid_binlog_pos").concat()
}

fn names(c: &mut Client) -> Vec<String> {
    let name = |row: String| row.split('\t').next().unwrap_or_default().to_owned();
    c.rows("SHOW BINARY LOGS").into_iter().map(name).collect()
}

/// What a program that reads binlog files prints.
fn printed(program: &std::path::Path, files: &[std::path::PathBuf]) -> String {
    let out = Command::new(program).arg("-v").args(files).output().expect("the program runs");
    assert!(out.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn files_have_mariadbs_names_and_format_and_statements_know_them() {
    let mut server = start(&[]);
    let mut c = server.client();
    c.run("CREATE DATABASE d");
    c.run("CREATE TABLE d.t (id INT PRIMARY KEY, s VARCHAR(100))");
    c.run("INSERT INTO d.t VALUES (1, 'one'), (2, 'two')");
    assert_eq!(c.rows("SELECT COUNT(*) FROM d.t"), ["2"], "what a session committed it sees");
    c.run("FLUSH BINARY LOGS");
    c.run("UPDATE d.t SET s = 'zwei' WHERE id = 2");
    assert_eq!(names(&mut c), ["mb.000001", "mb.000002"]);
    assert_eq!(position(&mut c), "0-7-4");
    let basename = server.data().join("mb").display().to_string();
    assert_eq!(
        c.rows("SELECT @@log_bin, @@log_bin_basename, @@log_bin_index"),
        [format!("1\t{basename}\t{basename}.index")]
    );
    let index = std::fs::read_to_string(server.data().join("mb.index")).expect("an index");
    assert_eq!(index, "./mb.000001\n./mb.000002\n");
    let master = c.rows("SHOW MASTER STATUS").concat();
    let size = std::fs::metadata(server.data().join("mb.000002")).expect("a file").len();
    assert_eq!(master, format!("mb.000002\t{size}\t\t"));
    let events = c.rows("SHOW BINLOG EVENTS IN 'mb.000001'");
    let kinds: Vec<&str> = events.iter().filter_map(|row| row.split('\t').nth(2)).collect();
    assert_eq!(
        kinds,
        [
            "Format_desc",
            "Gtid_list",
            "Binlog_checkpoint",
            "Gtid",
            "Query",
            "Gtid",
            "Query",
            "Gtid",
            "Annotate_rows",
            "Table_map",
            "Write_rows_v1",
            "Xid",
            "Rotate"
        ]
    );
    let files = [server.data().join("mb.000001"), server.data().join("mb.000002")];
    let text = printed(&blackbox::server::tool("morse-binlog"), &files);
    assert!(text.contains("### UPDATE `d`.`t`") && text.contains("CREATE TABLE d.t"), "{text}");
    // A program that is not there reads nothing.
    if let Ok(path) = which("mariadb-binlog") {
        assert!(printed(&path, &files).contains("### UPDATE `d`.`t`"));
        // The last one is in use, as its head says.
        let closed = printed(&path, &files[..1]);
        assert!(closed.contains("CREATE TABLE d.t") && !closed.contains("Warning"), "{closed}");
    }
    c.run("PURGE BINARY LOGS TO 'mb.000002'");
    assert_eq!(names(&mut c), ["mb.000002"]);
    assert!(!files[0].exists(), "a purged file is gone");
    assert_eq!(c.fails("PURGE BINARY LOGS TO 'mb.000009'"), 1373);
    drop(c);
    assert!(server.stop());
    server.restart();
    let mut c = server.client();
    assert_eq!(position(&mut c), "0-7-4", "a clean restart knows the state");
    assert_eq!(names(&mut c), ["mb.000002", "mb.000003"]);
    let events = c.rows("SHOW BINLOG EVENTS IN 'mb.000002'");
    assert!(events.last().is_some_and(|row| row.contains("\tStop\t")), "{events:?}");
    c.run("RESET MASTER");
    assert_eq!((names(&mut c), position(&mut c)), (vec!["mb.000001".to_owned()], String::new()));
    c.run("INSERT INTO d.t VALUES (3, 'three')");
    assert_eq!(position(&mut c), "0-7-1");
}

fn which(name: &str) -> Result<std::path::PathBuf, ()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|d| d.join(name)).find(|p| p.exists()).ok_or(())
}

/// Writers until told to stop; each row tells its transaction.
fn load(
    port: u16,
    stop: &Arc<AtomicBool>,
    done: &Arc<AtomicU64>,
    round: u64,
) -> Vec<std::thread::JoinHandle<()>> {
    let writer = |w: u64| {
        let (stop, done) = (Arc::clone(stop), Arc::clone(done));
        std::thread::spawn(move || {
            let Ok(mut c) = Client::tcp(port) else { return };
            for n in 0.. {
                let id = (round * 4 + w) * 1_000_000 + n;
                let all = [
                    "BEGIN".to_owned(),
                    format!("UPDATE r.account SET money = money - 1 WHERE id = {w}"),
                    format!("INSERT INTO r.many VALUES ({id}, REPEAT('x', {}))", id % 200),
                    format!("UPDATE r.account SET money = money + 1 WHERE id = {}", w + 4),
                    "COMMIT".to_owned(),
                ];
                if stop.load(Ordering::Relaxed) || all.iter().any(|sql| c.query(sql).is_err()) {
                    return;
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    (0..4).map(writer).collect()
}

fn create(c: &mut Client) {
    c.run("CREATE DATABASE r");
    c.run("CREATE TABLE r.account (id INT PRIMARY KEY, money BIGINT NOT NULL, KEY (money))");
    c.run("CREATE TABLE r.many (id BIGINT PRIMARY KEY, t VARCHAR(300), KEY (t))");
    for id in 0..8 {
        c.run(&format!("INSERT INTO r.account VALUES ({id}, 1000)"));
    }
}

fn equal(server: &Server, replica: &Replica) {
    let mut c = server.client();
    replica.catch_up(&position(&mut c));
    replica.check();
    let sums = |c: &mut Client| c.rows("CHECKSUM TABLE r.account, r.many");
    assert_eq!(sums(&mut c), sums(&mut replica.client()), "{}", replica.version);
}

#[test]
fn a_real_replica_follows_the_files_through_crashes_and_the_way_to_the_one_log_and_back() {
    let mut server = start(&["--max-binlog-size=128K"]);
    create(&mut server.client());
    let replica = Replica::start(&Version::all()[0], 100, &[]);
    replica.follow(server.port, "");
    for round in 0..3 {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        server.client().run(&format!("SET GLOBAL innodb_flush_log_at_trx_commit = {round}"));
        let threads = load(server.port, &stop, &done, round);
        while done.load(Ordering::Relaxed) < 200 {
            std::thread::yield_now();
        }
        server.kill();
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|t| t.join().expect("a writer"));
        server.restart();
        let mut c = server.client();
        assert_eq!(c.rows("SELECT SUM(money) FROM r.account"), ["8000"]);
        equal(&server, &replica);
        assert_eq!(c.rows("CHECK TABLE r.many").len(), 1);
    }
    assert!(names(&mut server.client()).len() > 3, "files end at max_binlog_size");
    // An XA transaction, decided after a restart.
    let mut c = server.client();
    for sql in ["XA START 'x'", "INSERT INTO r.many VALUES (-1, 'xa')", "XA END 'x'", "XA PREPARE 'x'"] {
        c.run(sql);
    }
    server.kill();
    server.restart();
    let mut c = server.client();
    assert_eq!(c.rows("XA RECOVER").len(), 1);
    c.run("XA COMMIT 'x'");
    equal(&server, &replica);
    // To the one log, and back: the state stays, and the replica does not notice.
    let before = position(&mut c);
    drop(c);
    assert!(server.stop());
    server.set_option("--binlog-storage-engine=innodb");
    server.restart();
    assert_eq!(position(&mut server.client()), before);
    server.client().run("INSERT INTO r.many VALUES (-2, 'one log')");
    equal(&server, &replica);
    let before = position(&mut server.client());
    assert!(server.stop());
    server.set_option("--binlog-storage-engine=FILE");
    server.restart();
    let mut c = server.client();
    assert_eq!(position(&mut c), before);
    assert_eq!(names(&mut c).len(), 1, "files of before are set aside");
    c.run("INSERT INTO r.many VALUES (-3, 'files again')");
    equal(&server, &replica);
}

#[test]
fn a_large_transaction_becomes_a_file_by_a_rename() {
    let server = start(&["--binlog-large-commit-threshold=10M"]);
    let mut c = server.client();
    create(&mut c);
    let replica = Replica::start(&Version::all()[0], 100, &[]);
    replica.follow(server.port, "");
    c.run("BEGIN");
    c.run("INSERT INTO r.many VALUES (0, REPEAT('y', 280))");
    for power in 0..16 {
        c.run(&format!("INSERT INTO r.many SELECT id + {}, t FROM r.many", 1 << power));
    }
    c.run("COMMIT");
    assert_eq!(names(&mut c), ["mb.000001", "mb.000002"]);
    let mut head = c.rows("SHOW BINLOG EVENTS IN 'mb.000002' LIMIT 3, 2");
    let body = head.pop().expect("the first event of the body");
    assert_eq!(body.split('\t').nth(1), Some("4096"), "{head:?} {body}");
    assert_eq!(std::fs::read_dir(server.data().join("#binlog_cache_files")).expect("it exists").count(), 0);
    equal(&server, &replica);
    // One that outgrows max_binlog_cache_size fails alone.
    c.run("SET GLOBAL max_binlog_cache_size = 65536");
    assert_eq!(c.fails("UPDATE r.many SET t = 'z' WHERE id < 20000"), 1197);
    c.run("INSERT INTO r.many VALUES (-5, 'small')");
    assert_eq!(c.rows("SELECT COUNT(*) FROM r.many WHERE t = 'z'"), ["0"]);
    equal(&server, &replica);
}

#[test]
fn the_one_logs_segments_are_where_binlog_directory_says() {
    let elsewhere = tempfile::tempdir().expect("a directory");
    let option = format!("--binlog-directory={}", elsewhere.path().join("deep/segments").display());
    let mut server = Server::start(&[&option, "--log-bin"]);
    let mut c = server.client();
    create(&mut c);
    let before = position(&mut c);
    server.kill();
    server.restart();
    let mut c = server.client();
    assert_eq!((position(&mut c), c.rows("SELECT COUNT(*) FROM r.account")), (before, vec!["8".to_owned()]));
    let there = std::fs::read_dir(elsewhere.path().join("deep/segments")).expect("the directory");
    assert!(there.flatten().any(|e| e.path().extension().is_some_and(|x| x == "seg")));
    assert!(!server.data().join("log").exists());
}
