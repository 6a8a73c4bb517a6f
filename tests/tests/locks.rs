//! Locks between sessions that wait: user locks, LOCK TABLES, the global read lock.

use blackbox::Server;
use std::sync::mpsc;
use std::thread;

/// Waits until `n` connections run a statement that starts with `text`.
fn until_running(server: &Server, text: &str) {
    let mut c = server.client();
    while !c.rows("SHOW PROCESSLIST").iter().any(|r| r.contains(&format!("\t{text}"))) {
        thread::yield_now();
    }
}

#[test]
fn crossing_user_locks_make_one_victim_whose_transaction_lives() {
    let server = Server::start(&[]);
    let (mut a, mut b) = (server.client(), server.client());
    a.run("CREATE DATABASE t");
    a.run("CREATE TABLE t.x (a INT)");
    a.run("DO GET_LOCK('one', 0)");
    b.run("DO GET_LOCK('two', 0)");
    let waiter = thread::spawn(move || b.rows("SELECT GET_LOCK('one', 60)"));
    until_running(&server, "SELECT GET_LOCK('one'");
    a.run("BEGIN");
    a.run("INSERT INTO t.x VALUES (1)");
    // The other one may have said that it runs a moment before it waits: until then this is a timeout.
    let victim = loop {
        if let Err(e) = a.query("SELECT GET_LOCK('two', 0)") {
            break e;
        }
    };
    assert_eq!(victim.code(), 1213);
    a.run("COMMIT");
    assert_eq!(a.rows("SELECT COUNT(*) FROM t.x"), ["1"]);
    assert_eq!(a.rows("SELECT RELEASE_LOCK('one')"), ["1"]);
    assert_eq!(waiter.join().unwrap(), ["1"]);
}

#[test]
fn the_read_lock_lets_running_changes_end_and_keeps_new_ones_out() {
    let server = Server::start(&[]);
    let (mut a, mut b, mut c) = (server.client(), server.client(), server.client());
    a.run("CREATE DATABASE t");
    a.run("CREATE TABLE t.x (a INT PRIMARY KEY)");
    b.run("BEGIN");
    b.run("INSERT INTO t.x VALUES (1)");
    // A change that waits for a row: the read lock waits for it, and b's COMMIT, which frees it, is let through.
    let (done, told) = mpsc::channel();
    let blocked = thread::spawn(move || {
        c.run("INSERT INTO t.x VALUES (1) ON DUPLICATE KEY UPDATE a = 2");
        done.send(()).unwrap();
    });
    until_running(&server, "INSERT INTO t.x VALUES (1) ON");
    let locker = thread::spawn(move || {
        a.run("FLUSH TABLES WITH READ LOCK");
        a
    });
    until_running(&server, "FLUSH TABLES WITH");
    b.run("COMMIT");
    let mut a = locker.join().unwrap();
    told.recv().unwrap();
    blocked.join().unwrap();
    let writer = thread::spawn(move || b.run("INSERT INTO t.x VALUES (9)"));
    until_running(&server, "INSERT INTO t.x VALUES (9)");
    assert_eq!(a.rows("SELECT a FROM t.x"), ["2"]);
    a.run("UNLOCK TABLES");
    writer.join().unwrap();
    assert_eq!(a.rows("SELECT a FROM t.x"), ["2", "9"]);
}

#[test]
fn locks_end_with_their_connection() {
    let server = Server::start(&[]);
    let mut a = server.client();
    a.run("CREATE DATABASE t");
    a.run("CREATE TABLE t.x (a INT)");
    {
        let mut b = server.client();
        b.run("DO GET_LOCK('one', 0)");
        b.run("FLUSH TABLES WITH READ LOCK");
        b.run("LOCK TABLES t.x READ");
    }
    a.run("INSERT INTO t.x VALUES (1)");
    assert_eq!(a.rows("SELECT GET_LOCK('one', 30)"), ["1"]);
}
