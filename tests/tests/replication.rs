//! Real MariaDB servers, and raw clients, follow this one.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use blackbox::{Client, Replica, Server, Version};

/// Tables whose sums must agree.
const TABLES: [&str; 3] = ["r.account", "r.many", "r.shape"];

fn create(c: &mut Client) {
    c.run("CREATE DATABASE r");
    c.run("CREATE TABLE r.account (id INT PRIMARY KEY, money BIGINT NOT NULL, KEY (money))");
    c.run("CREATE TABLE r.many (writer INT, n BIGINT, t VARCHAR(300), d DECIMAL(12,3), PRIMARY KEY (writer, n), KEY (t))");
    c.run("CREATE TABLE r.shape (id INT PRIMARY KEY, a INT)");
    for id in 0..40 {
        c.run(&format!("INSERT INTO r.account VALUES ({id}, 1000)"));
    }
}

/// One transaction of writer `w`.
fn transact(c: &mut Client, w: usize, n: u64) -> Result<(), blackbox::Failure> {
    let (from, to) = ((n * 7 + w as u64) % 40, (n * 3 + 11) % 40);
    c.query("BEGIN")?;
    c.query(&format!("UPDATE r.account SET money = money - 1 WHERE id = {}", from.min(to)))?;
    c.query(&format!("UPDATE r.account SET money = money + 1 WHERE id = {}", from.max(to)))?;
    c.query(&format!("INSERT INTO r.many VALUES ({w}, {n}, REPEAT('x', {}), {n}.125)", n % 250))?;
    if n.is_multiple_of(5) {
        c.query("SAVEPOINT s")?;
        c.query(&format!("DELETE FROM r.many WHERE writer = {w} AND n < {n}"))?;
        c.query("ROLLBACK TO s")?;
        c.query(&format!("UPDATE r.many SET d = d + 1 WHERE writer = {w} AND n = {}", n.saturating_sub(1)))?;
    }
    c.query("COMMIT").map(|_| ())
}

/// Writers on the server, until told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn start(port: u16, round: u64) -> Self {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let writer = |w: usize| {
            let (stop, done) = (Arc::clone(&stop), Arc::clone(&done));
            std::thread::spawn(move || {
                let Ok(mut c) = Client::tcp(port) else { return };
                for n in round * 1_000_000.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    match transact(&mut c, w, n) {
                        Ok(()) => {
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(e) if e.code() == 0 => break,
                        Err(_) => drop(c.query("ROLLBACK")),
                    }
                }
            })
        };
        let threads = (0..4).map(writer).collect();
        Self { stop, done, threads }
    }
    fn wait_for(&self, transactions: u64) {
        let goal = self.done.load(Ordering::Relaxed) + transactions;
        let begin = Instant::now();
        while self.done.load(Ordering::Relaxed) < goal && begin.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("a writer");
        }
    }
}

fn sums(c: &mut Client) -> Vec<String> {
    TABLES.iter().flat_map(|t| c.rows(&format!("CHECKSUM TABLE {t}"))).collect()
}

fn position(c: &mut Client) -> String {
    c.rows("SELECT @@GLOBAL.gtid_binlog_pos").concat()
}

fn equal(server: &Server, replica: &Replica) {
    let mut c = server.client();
    replica.catch_up(&position(&mut c));
    replica.check();
    let mine = sums(&mut c);
    let theirs = sums(&mut replica.client());
    assert_eq!(mine, theirs, "{}", replica.version);
}

#[test]
fn replicas_follow_through_load_definitions_crashes_and_purges() {
    let mut server = Server::start(&["--server-id=7", "--max-binlog-size=256K"]);
    create(&mut server.client());
    let replicas: Vec<_> = Version::all().iter().map(|v| Replica::start(v, 100, &[])).collect();
    for (i, replica) in replicas.iter().enumerate() {
        replica.client().run(&format!("SET GLOBAL server_id = {}", 100 + i));
        replica.follow(server.port, ", MASTER_HEARTBEAT_PERIOD=1");
    }
    for round in 0..4 {
        let load = Load::start(server.port, round);
        load.wait_for(150);
        let mut c = server.client();
        c.run(&format!("ALTER TABLE r.shape ADD c{round} INT DEFAULT {round}"));
        c.run(&format!("INSERT INTO r.shape (id, a) VALUES ({round}, {round})"));
        c.run("FLUSH BINARY LOGS");
        c.run(&format!("CREATE TABLE r.t{round} AS SELECT id, a FROM r.shape"));
        load.wait_for(100);
        server.kill();
        load.end();
        server.restart();
        // What a replica has, this server has: it is never ahead.
        let mut c = server.client();
        let own: u64 = position(&mut c).rsplit('-').next().expect("a number").parse().expect("a number");
        for replica in &replicas {
            let theirs = replica.client().rows("SELECT @@GLOBAL.gtid_slave_pos").concat();
            let theirs: u64 = theirs.rsplit('-').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            assert!(theirs <= own, "{} is at {theirs}, the primary at {own}", replica.version);
            replica.check();
        }
    }
    for replica in &replicas {
        equal(&server, replica);
    }
    // All have everything: old files may go, and the replicas do not notice.
    let mut c = server.client();
    c.run("FLUSH BINARY LOGS");
    let files = c.rows("SHOW BINARY LOGS");
    let last = files.last().and_then(|f| f.split('\t').next()).expect("a file").to_owned();
    for replica in &replicas {
        replica.catch_up(&position(&mut c));
    }
    c.run("INSERT INTO r.account VALUES (1000, 1)");
    for replica in &replicas {
        equal(&server, replica);
    }
    c.run(&format!("PURGE BINARY LOGS TO '{last}'"));
    assert_eq!(c.rows("SHOW BINARY LOGS").len(), 1, "{files:?}");
    for replica in &replicas {
        let mut r = replica.client();
        r.run("STOP SLAVE");
        r.run("START SLAVE");
    }
    c.run("DELETE FROM r.account WHERE id = 1000");
    for replica in &replicas {
        equal(&server, replica);
        for round in 0..4 {
            let rows = |c: &mut Client| c.rows(&format!("SELECT * FROM r.t{round} ORDER BY id"));
            assert_eq!(rows(&mut c), rows(&mut replica.client()));
        }
    }
}

#[test]
fn semi_synchronous_commits_wait_for_a_replica() {
    let mut server = Server::start(&["--server-id=7", "--rpl-semi-sync-master-timeout=60000"]);
    let mut c = server.client();
    create(&mut c);
    let replica = Replica::start(&Version::all()[0], 100, &["--rpl-semi-sync-slave-enabled=ON"]);
    replica.follow(server.port, "");
    replica.catch_up(&position(&mut c));
    c.run("SET GLOBAL rpl_semi_sync_master_enabled = ON");
    replica.client().run("STOP SLAVE");
    replica.client().run("START SLAVE");
    let status = |c: &mut Client, name: &str| {
        let row = c.rows(&format!("SHOW STATUS LIKE 'Rpl_semi_sync_master_{name}'")).concat();
        row.split('\t').nth(1).unwrap_or_default().to_owned()
    };
    let begin = Instant::now();
    while status(&mut c, "clients") != "1" {
        assert!(begin.elapsed() < Duration::from_secs(30), "no semi-synchronous replica");
        std::thread::sleep(Duration::from_millis(20));
    }
    for point in ["AFTER_COMMIT", "AFTER_SYNC"] {
        c.run(&format!("SET GLOBAL rpl_semi_sync_master_wait_point = {point}"));
        let load = Load::start(server.port, 1 + u64::from(point == "AFTER_SYNC"));
        load.wait_for(100);
        load.end();
    }
    assert_eq!(status(&mut c, "status"), "ON");
    assert_eq!(status(&mut c, "no_tx"), "0");
    assert!(status(&mut c, "yes_tx").parse::<u64>().expect("a number") >= 200);
    // What a client was told is on the replica when the primary dies.
    c.run("INSERT INTO r.account VALUES (777, 1)");
    server.kill();
    let begin = Instant::now();
    while replica.client().rows("SELECT id FROM r.account WHERE id = 777").is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(10), "an acknowledged commit is lost");
        std::thread::sleep(Duration::from_millis(10));
    }
    server.restart();
    equal(&server, &replica);
}

#[test]
fn without_acknowledgements_commits_go_on_after_the_timeout() {
    let server = Server::start(&["--rpl-semi-sync-master-timeout=300", "--rpl-semi-sync-master-enabled=ON"]);
    let mut c = server.client();
    let begin = Instant::now();
    c.run("CREATE DATABASE r");
    assert!(begin.elapsed() >= Duration::from_millis(300));
    let begin = Instant::now();
    c.run("CREATE TABLE r.t (id INT PRIMARY KEY)");
    c.run("INSERT INTO r.t VALUES (1)");
    assert!(begin.elapsed() < Duration::from_millis(300), "it is off by now");
    assert_eq!(
        c.rows("SHOW STATUS LIKE 'Rpl_semi_sync_master_status'"),
        ["Rpl_semi_sync_master_status\tOFF"]
    );
    assert_eq!(
        c.rows("SHOW STATUS LIKE 'Rpl_semi_sync_master_no_times'"),
        ["Rpl_semi_sync_master_no_times\t1"]
    );
}

#[test]
fn a_commit_is_not_seen_before_it_is_acknowledged() {
    let server = Server::start(&["--rpl-semi-sync-master-timeout=2000"]);
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
    let begin = Instant::now();
    while c.rows("SHOW STATUS LIKE 'Rpl_semi_sync_master_wait_sessions'").concat()
        != "Rpl_semi_sync_master_wait_sessions\t1"
    {
        assert!(begin.elapsed() < Duration::from_secs(10), "nobody waits");
        std::thread::yield_now();
    }
    assert!(c.rows("SELECT id FROM r.t").is_empty(), "no replica has it");
    assert_eq!(waiting.join().expect("the writer"), ["1"]);
    assert_eq!(c.rows("SELECT id FROM r.t"), ["1"]);
}

#[test]
fn a_shutdown_waits_for_acknowledgements() {
    // MDEV-11853
    let mut server =
        Server::start(&["--rpl-semi-sync-master-timeout=1500", "--rpl-semi-sync-master-enabled=ON"]);
    let mut writer = server.client();
    let mut c = server.client();
    let waiting = std::thread::spawn(move || writer.query("CREATE DATABASE r").is_ok());
    let begin = Instant::now();
    while c.rows("SHOW STATUS LIKE 'Rpl_semi_sync_master_wait_sessions'").concat()
        != "Rpl_semi_sync_master_wait_sessions\t1"
    {
        assert!(begin.elapsed() < Duration::from_secs(10), "nobody waits");
        std::thread::yield_now();
    }
    assert!(server.stop());
    assert!(begin.elapsed() >= Duration::from_millis(1000), "{:?}", begin.elapsed());
    // The commit is there, whatever its client heard.
    let _ = waiting.join();
    server.restart();
    assert_eq!(server.client().rows("SHOW DATABASES LIKE 'r'"), ["r"]);
}

#[test]
fn two_dumps_of_one_server_id_and_kills() {
    let server = Server::start(&[]);
    let mut c = server.client();
    c.run("CREATE DATABASE r");
    let dump = |id: u8| {
        let mut d = server.client();
        d.run("SET @master_binlog_checksum = 'CRC32'");
        d.run("SET @mariadb_slave_capability = 4");
        d.run("SET @slave_connect_state = ''");
        d.send(0x12, &[4, 0, 0, 0, 0, 0, id, 0, 0, 0]).expect("sent");
        // ROTATE, FORMAT_DESCRIPTION, CHECKPOINT or GTID_LIST.
        for _ in 0..3 {
            assert_eq!(d.receive().expect("an event")[0], 0);
        }
        d
    };
    let rest = |d: &mut Client| loop {
        match d.receive() {
            Ok(packet) if packet[0] == 0 => {}
            other => return other,
        }
    };
    let mut first = dump(9);
    let mut second = dump(9);
    let told = rest(&mut first).expect("an error packet");
    assert_eq!(u16::from_le_bytes([told[1], told[2]]), 4052, "{}", String::from_utf8_lossy(&told));
    // The first connection has its error before its thread has left the command.
    let mut list = c.rows("SHOW PROCESSLIST");
    let dumps = |list: &[String]| list.iter().filter(|p| p.contains("Binlog Dump")).count();
    for _ in 0..500 {
        if dumps(&list) == 1 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        list = c.rows("SHOW PROCESSLIST");
    }
    assert_eq!(dumps(&list), 1, "{list:?}");
    c.run(&format!("KILL QUERY {}", second.connection_id));
    assert_eq!(rest(&mut second).expect("EOF")[0], 0xfe);
    let mut third = dump(9);
    c.run(&format!("KILL {}", third.connection_id));
    assert!(rest(&mut third).is_err(), "the stream just ends");
    // A client that goes away is noticed without anything to send.
    drop(dump(11));
    let begin = Instant::now();
    while c.rows("SHOW PROCESSLIST").iter().any(|p| p.contains("Binlog Dump")) {
        assert!(begin.elapsed() < Duration::from_secs(10), "the dump of a lost client stays");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn malformed_commands_have_mariadbs_answers() {
    let server = Server::start(&[]);
    let mut c = server.client();
    let mut answer = |command: u8, body: &[u8]| {
        c.send(command, body).expect("sent");
        let packet = c.receive().expect("an answer");
        let code = if packet[0] == 0xff { u16::from_le_bytes([packet[1], packet[2]]) } else { 0 };
        (code, String::from_utf8_lossy(&packet[packet.len().min(9)..]).into_owned())
    };
    let mut register = vec![77, 0, 0, 0, 3];
    register.extend_from_slice(b"abc\x02us\x02pw\x67\x11\0\0\0\0\0\0\0\0");
    assert_eq!(answer(0x15, &register).0, 0);
    assert_eq!(
        answer(0x15, &register[..10]),
        (1105, "Failed to register slave: too long 'report-user'".into())
    );
    assert_eq!(answer(0x15, &[]).1, "Failed to register slave: too long 'report-host'");
    let (code, text) = answer(0x12, &[]);
    assert!(code == 1236 && text.contains("impossible position"), "{text}");
    assert_eq!(server.client().rows("SHOW SLAVE HOSTS"), ["77\tabc\t4455\t1"]);
    // A dump ends its connection.
    let (code, text) = answer(0x12, b"\x04\0\0\0\x01\0\x09\0\0\0nosuch");
    assert_eq!((code, &*text), (1236, "Could not find first log file name in binary log index file"));
    // Acknowledgements that mean nothing end the connection and nothing else.
    let mut raw = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
    raw.write_all(&[0xff; 64]).expect("sent");
    assert_eq!(server.client().rows("SELECT 1"), ["1"]);
}

#[test]
fn files_of_the_binary_log_are_shown_purged_and_reset() {
    let server = Server::start(&["--server-id=5"]);
    let mut c = server.client();
    c.run("CREATE DATABASE r");
    c.run("CREATE TABLE r.t (id INT PRIMARY KEY)");
    c.run("FLUSH BINARY LOGS");
    c.run("INSERT INTO r.t VALUES (1)");
    c.run("FLUSH BINARY LOGS");
    let names: Vec<String> = c
        .rows("SHOW BINARY LOGS")
        .iter()
        .map(|f| f.split('\t').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(names.len(), 3);
    let kinds = |rows: Vec<String>| -> Vec<String> {
        rows.iter().map(|r| r.split('\t').collect::<Vec<_>>()[2].to_owned()).collect()
    };
    let events = c.rows(&format!("SHOW BINLOG EVENTS IN '{}'", names[1]));
    assert!(events.iter().any(|e| e.ends_with("BEGIN GTID 0-5-3")), "{events:?}");
    let expected = ["Format_desc", "Gtid_list", "Gtid", "Annotate_rows", "Table_map", "Write_rows_v1", "Xid"];
    assert_eq!(kinds(events), expected);
    assert_eq!(kinds(c.rows(&format!("SHOW BINLOG EVENTS IN '{}' LIMIT 2, 2", names[1]))), expected[2..4]);
    assert_eq!(c.fails("SHOW BINLOG EVENTS IN 'nosuch'"), 1220);
    assert_eq!(c.fails("PURGE BINARY LOGS TO 'nosuch'"), 1373);
    c.run(&format!("PURGE BINARY LOGS TO '{}'", names[1]));
    assert_eq!(c.rows("SHOW BINARY LOGS").len(), 2);
    // A domain goes when no file has events of it any more.
    assert_eq!(c.fails("FLUSH BINARY LOGS DELETE_DOMAIN_ID=(0)"), 1076);
    c.run("FLUSH BINARY LOGS");
    c.run("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 HOUR");
    assert_eq!(c.rows("SHOW BINARY LOGS").len(), 1);
    c.run("FLUSH BINARY LOGS DELETE_DOMAIN_ID=(0)");
    assert_eq!(c.rows("SELECT @@GLOBAL.gtid_binlog_state"), [""]);
    c.run("INSERT INTO r.t VALUES (2)");
    assert_eq!(c.rows("SELECT @@last_gtid"), ["0-5-1"]);
    assert_eq!(c.fails("SET GLOBAL gtid_binlog_state = '0-5-100'"), 1956);
    c.run("RESET MASTER");
    assert_eq!(c.rows("SELECT @@GLOBAL.gtid_binlog_state"), [""]);
    assert_eq!(c.fails("SET GLOBAL gtid_binlog_state = 'x'"), 1941);
    c.run("SET GLOBAL gtid_binlog_state = '0-5-100,0-6-50,3-5-7'");
    assert_eq!(c.rows("SELECT @@GLOBAL.gtid_binlog_pos"), ["0-6-50,3-5-7"]);
    c.run("INSERT INTO r.t VALUES (3)");
    assert_eq!(c.rows("SELECT @@last_gtid"), ["0-5-101"]);
    assert_eq!(c.fails("RESET MASTER TO 5"), 4247);
}

#[test]
fn files_beyond_the_total_size_go_when_a_replica_has_passed_them() {
    let server = Server::start(&["--max-binlog-size=64K", "--slave-connections-needed-for-purge=0"]);
    let mut c = server.client();
    c.run("CREATE DATABASE r");
    c.run("CREATE TABLE r.t (id INT PRIMARY KEY, t TEXT)");
    for id in 0..40 {
        c.run(&format!("INSERT INTO r.t VALUES ({id}, REPEAT('x', 10000))"));
    }
    assert!(c.rows("SHOW BINARY LOGS").len() > 4);
    c.run("SET GLOBAL slave_connections_needed_for_purge = 1");
    c.run("SET GLOBAL max_binlog_total_size = 150000");
    assert!(c.rows("SHOW BINARY LOGS").len() > 4, "no replica has them");
    c.run("SET GLOBAL slave_connections_needed_for_purge = 0");
    c.run("FLUSH BINARY LOGS");
    assert!(c.rows("SHOW BINARY LOGS").len() <= 4);
}
