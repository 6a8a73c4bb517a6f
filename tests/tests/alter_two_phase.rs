//! ALTER TABLE in two event groups: real MariaDB servers follow through success, failure and a crash in between.

use std::time::{Duration, Instant};

use blackbox::{Client, Replica, Server, Version};

const ROWS: u64 = 60_000;

fn create(c: &mut Client) {
    c.run("CREATE DATABASE a");
    c.run("USE a");
    c.run("CREATE TABLE a.t (id INT PRIMARY KEY, v VARCHAR(100), k INT)");
    c.run(&format!("INSERT INTO a.t SELECT seq, REPEAT('v', 80), seq FROM seq_1_to_{ROWS}"));
    c.run("CREATE TABLE a.other (id INT PRIMARY KEY)");
}

fn position(c: &mut Client) -> String {
    c.rows("SELECT @@GLOBAL.gtid_binlog_pos").concat()
}

fn number(position: &str) -> u64 {
    position.rsplit('-').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn equal(server: &Server, replica: &Replica) {
    let mut c = server.client();
    replica.catch_up(&position(&mut c));
    replica.check();
    for sql in
        ["CHECKSUM TABLE a.t", "CHECKSUM TABLE a.other", "SHOW COLUMNS FROM a.t", "SHOW INDEX FROM a.t"]
    {
        let names = |rows: Vec<String>| -> Vec<String> {
            rows.iter().map(|r| r.split('\t').take(5).collect::<Vec<_>>().join(" ")).collect()
        };
        let (ours, theirs) = (names(c.rows(sql)), names(replica.client().rows(sql)));
        assert_eq!(ours, theirs, "{}: {sql}", replica.version);
    }
}

/// Begins a long ALTER TABLE, and kills the server when its first group has a number. Says if that group was in the log
/// already: a number is given before the group's bytes are written.
fn killed_between_the_phases(server: &mut Server) -> bool {
    let before = number(&position(&mut server.client()));
    let mut altering = server.client();
    altering.run("SET SESSION binlog_alter_two_phase = ON");
    let worker =
        std::thread::spawn(move || altering.query("ALTER TABLE a.t MODIFY k BIGINT, ALGORITHM=COPY"));
    let mut watching = server.client();
    let begun = Instant::now();
    while number(&position(&mut watching)) == before {
        assert!(begun.elapsed() < Duration::from_secs(60), "no START ALTER");
    }
    server.kill();
    assert!(worker.join().expect("a thread").is_err(), "the statement was over before the server");
    server.restart();
    let mut c = server.client();
    assert!(c.rows("SHOW COLUMNS FROM a.t LIKE 'k'")[0].contains("int(11)"), "the table is as it was");
    let groups = number(&position(&mut c)) - before;
    assert!(
        groups == 0 || groups == 2,
        "START ALTER, and ROLLBACK ALTER by the start of the server; or neither: {groups}"
    );
    groups == 2
}

fn die_between_the_phases(server: &mut Server) {
    assert!((0..20).any(|_| killed_between_the_phases(server)), "START ALTER is not written");
}

fn follow_through(options: &[&str]) {
    let mut all = vec!["--server-id=7"];
    all.extend_from_slice(options);
    let mut server = Server::start(&all);
    create(&mut server.client());
    let replicas: Vec<_> = Version::all()
        .iter()
        .map(|v| {
            Replica::start(v, 100, &["--slave-parallel-threads=4", "--log-bin=r", "--log-slave-updates"])
        })
        .collect();
    for (i, replica) in replicas.iter().enumerate() {
        replica.client().run(&format!("SET GLOBAL server_id = {}", 100 + i));
        replica.follow(server.port, ", MASTER_HEARTBEAT_PERIOD=1");
    }
    let mut c = server.client();
    c.run("SET SESSION binlog_alter_two_phase = ON");
    let before = number(&position(&mut c));
    c.run("ALTER TABLE a.t ADD COLUMN x INT DEFAULT 5, ALGORITHM=COPY");
    assert_eq!(number(&position(&mut c)), before + 2);
    c.run("INSERT INTO a.other VALUES (1)");
    c.run("ALTER TABLE a.t ADD KEY (k)");
    assert_eq!(c.fails("ALTER TABLE a.t ADD UNIQUE (v)"), 1062);
    assert_eq!(c.fails("ALTER TABLE a.t DROP COLUMN nope"), 1091);
    assert_eq!(
        number(&position(&mut c)),
        before + 2 + 1 + 2 + 2,
        "what fails before it begins is not logged"
    );
    drop(c);
    for replica in &replicas {
        equal(&server, replica);
    }
    for _ in 0..2 {
        die_between_the_phases(&mut server);
        server.client().run("INSERT INTO a.other SELECT MAX(id) + 1 FROM a.other");
        for replica in &replicas {
            equal(&server, replica);
        }
    }
    let mut c = server.client();
    c.run("SET SESSION binlog_alter_two_phase = ON");
    c.run("ALTER TABLE a.t MODIFY k BIGINT, ALGORITHM=COPY");
    for replica in &replicas {
        equal(&server, replica);
    }
    // Nothing is left for the next start to end.
    let last = position(&mut c);
    server.kill();
    server.restart();
    assert_eq!(position(&mut server.client()), last);
}

#[test]
fn replicas_follow_with_the_one_log() {
    follow_through(&[]);
}

#[test]
fn replicas_follow_with_files() {
    follow_through(&["--binlog-storage-engine=FILE", "--log-bin=log"]);
}
