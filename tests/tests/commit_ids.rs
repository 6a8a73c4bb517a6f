//! Commit ids: a MariaDB replica in conservative parallel mode applies side by side what had its row locks side by side here.

use std::process::Command;

use blackbox::server::tool;
use blackbox::{Client, Replica, Server, Version};

const WRITERS: u64 = 8;

fn transact(port: u16, writer: u64) {
    let mut c = Client::tcp(port).expect("a connection");
    for n in 0..60 {
        let id = writer * 1000 + n;
        c.run("BEGIN");
        c.run(&format!("INSERT INTO r.t VALUES ({id}, {n})"));
        // Some wait for each other.
        c.run(&format!("UPDATE r.account SET money = money + 1 WHERE id = {}", (writer + n) % 20));
        c.run("COMMIT");
    }
}

/// Numbers of groups that follow each other with the same commit id.
fn shared(text: &str) -> Vec<usize> {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for line in text.lines().filter(|line| line.contains("\tGTID ")) {
        let id = line.split_whitespace().find_map(|w| w.strip_prefix("cid=")).unwrap_or_default().to_owned();
        match runs.last_mut() {
            Some((last, count)) if !id.is_empty() && *last == id => *count += 1,
            _ => runs.push((id, 1)),
        }
    }
    runs.into_iter().filter(|(id, _)| !id.is_empty()).map(|(_, count)| count).collect()
}

fn follow(options: &[&str], log: &str) {
    let server = Server::start(options);
    let mut c = server.client();
    c.run("CREATE DATABASE r");
    c.run("CREATE TABLE r.t (id BIGINT PRIMARY KEY, n INT, KEY (n))");
    c.run("CREATE TABLE r.account (id INT PRIMARY KEY, money INT)");
    for id in 0..20 {
        c.run(&format!("INSERT INTO r.account VALUES ({id}, 0)"));
    }
    let parallel = ["--slave-parallel-threads=4", "--slave-parallel-mode=conservative"];
    let replica = Replica::start(&Version::all()[0], 100, &parallel);
    replica.follow(server.port, "");
    let port = server.port;
    let writers: Vec<_> = (0..WRITERS).map(|w| std::thread::spawn(move || transact(port, w))).collect();
    writers.into_iter().for_each(|w| w.join().expect("a writer"));
    let position = c.rows("SELECT @@GLOBAL.gtid_binlog_pos").concat();
    replica.catch_up(&position);
    replica.check();
    let sums = |c: &mut Client| c.rows("CHECKSUM TABLE r.t, r.account");
    assert_eq!(sums(&mut c), sums(&mut replica.client()));
    let file = server.data().join(log).display().to_string();
    let output = Command::new(tool("morse-binlog")).arg(&file).output().expect("morse-binlog runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shared = shared(&String::from_utf8_lossy(&output.stdout));
    let members: usize = shared.iter().sum();
    assert!(members > 20 && shared.iter().all(|count| *count > 1), "{shared:?}");
}

#[test]
fn transactions_that_held_their_locks_together_share_one_in_the_one_log() {
    follow(&["--server-id=7"], "log");
}

#[test]
fn groups_that_are_written_together_share_one_in_files() {
    follow(
        &["--server-id=7", "--binlog-storage-engine=FILE", "--log-bin=mb", "--sync-binlog=1"],
        "mb.000001",
    );
}
