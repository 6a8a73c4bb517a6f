//! XA branches that outlive what made them: their session, the server by kill -9, and an orderly shutdown; and their replication.

use blackbox::{Client, Replica, Server, Version};

fn prepare(c: &mut Client, name: &str, statements: &[&str]) {
    c.run(&format!("XA START '{name}'"));
    for statement in statements {
        c.run(statement);
    }
    c.run(&format!("XA END '{name}'"));
    c.run(&format!("XA PREPARE '{name}'"));
}

fn set_up(server: &Server) -> Client {
    let mut c = server.client();
    c.run("CREATE DATABASE x");
    c.run("CREATE TABLE x.t (id INT PRIMARY KEY, v INT, KEY (v))");
    c.run("INSERT INTO x.t VALUES (1, 1), (2, 2), (3, 3)");
    c
}

fn rows(c: &mut Client) -> Vec<String> {
    c.rows("SELECT id, v FROM x.t ORDER BY id")
}

fn names(c: &mut Client) -> Vec<String> {
    let mut names: Vec<_> =
        c.rows("XA RECOVER").iter().filter_map(|row| row.rsplit('\t').next().map(str::to_owned)).collect();
    names.sort();
    names
}

fn table(pairs: &[(i32, i32)]) -> Vec<String> {
    pairs.iter().map(|(id, v)| format!("{id}\t{v}")).collect()
}

#[test]
fn a_prepared_branch_goes_on_without_its_session() {
    let server = Server::start(&[]);
    let mut c = set_up(&server);
    for name in ["commit", "rollback"] {
        let id = if name == "commit" { 1 } else { 2 };
        let mut owner = server.client();
        prepare(&mut owner, name, &[&format!("UPDATE x.t SET v = 10 WHERE id = {id}")]);
        assert_eq!(c.fails(&format!("XA COMMIT '{name}'")), 1397, "another session has it");
        drop(owner);
    }
    // The server notices the end of a session by itself.
    while c.query("XA COMMIT 'commit'").is_err() {
        std::thread::yield_now();
    }
    c.run("SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1");
    assert_eq!(c.fails("UPDATE x.t SET v = 7 WHERE id = 2"), 1205);
    assert_eq!(c.fails("DROP TABLE x.t"), 1205, "a branch keeps its tables");
    c.run("XA ROLLBACK 'rollback'");
    assert_eq!(rows(&mut c), table(&[(1, 10), (2, 2), (3, 3)]));
    assert_eq!(c.fails("XA ROLLBACK 'rollback'"), 1397);
}

#[test]
fn prepared_branches_survive_kill_9_and_shutdown() {
    let mut server = Server::start(&[]);
    let mut c = set_up(&server);
    let mut owners: Vec<Client> = (0..3).map(|_| server.client()).collect();
    prepare(
        &mut owners[0],
        "commit",
        &["UPDATE x.t SET v = 10 WHERE id = 1", "INSERT INTO x.t VALUES (4, 4)"],
    );
    prepare(
        &mut owners[1],
        "rollback",
        &["UPDATE x.t SET v = 20 WHERE id = 2", "INSERT INTO x.t VALUES (5, 5)"],
    );
    owners[2].run("XA START 'idle'");
    owners[2].run("DELETE FROM x.t WHERE id = 3");
    owners[2].run("XA END 'idle'");
    server.kill();
    for round in 0..2 {
        server.restart();
        c = server.client();
        assert_eq!(names(&mut c), ["commit", "rollback"], "round {round}");
        assert_eq!(rows(&mut c), table(&[(1, 1), (2, 2), (3, 3)]));
        c.run("SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1");
        assert_eq!(c.fails("UPDATE x.t SET v = 7 WHERE id = 2"), 1205);
        assert_eq!(c.fails("ALTER TABLE x.t ADD w INT"), 1205, "a branch keeps its tables over a restart");
        if round == 0 {
            assert!(server.stop(), "an orderly shutdown");
        }
    }
    c.run("XA COMMIT 'commit'");
    c.run("XA ROLLBACK 'rollback'");
    server.kill();
    server.restart();
    c = server.client();
    assert!(names(&mut c).is_empty());
    assert_eq!(rows(&mut c), table(&[(1, 10), (2, 2), (3, 3), (4, 4)]));
    assert_eq!(c.rows("CHECK TABLE x.t"), ["x.t\tcheck\tstatus\tOK"]);
}

#[test]
fn the_text_of_a_log_prepares_many_branches_in_one_session() {
    let server = Server::start(&[]);
    let mut c = set_up(&server);
    c.run("SET pseudo_slave_mode = 1");
    prepare(&mut c, "a", &["INSERT INTO x.t VALUES (10, 10)"]);
    c.run("SET gtid_seq_no = 50");
    c.run("INSERT INTO x.t VALUES (11, 11)");
    assert_eq!(c.rows("SELECT @@last_gtid"), ["0-1-50"]);
    prepare(&mut c, "b", &["INSERT INTO x.t VALUES (12, 12)"]);
    assert_eq!(names(&mut c), ["a", "b"]);
    assert_eq!(c.rows("SELECT @@in_transaction"), ["0"]);
    c.run("XA COMMIT 'a'");
    c.run("XA ROLLBACK 'b'");
    assert_eq!(rows(&mut c), table(&[(1, 1), (2, 2), (3, 3), (10, 10), (11, 11)]));
    // Without it the session keeps its branch.
    c.run("SET pseudo_slave_mode = 0");
    prepare(&mut c, "c", &["INSERT INTO x.t VALUES (13, 13)"]);
    assert_eq!(c.fails("INSERT INTO x.t VALUES (14, 14)"), 1399);
    assert_eq!(c.fails("SET gtid_seq_no = 60"), 1953);
    c.run("XA COMMIT 'c'");
}

#[test]
fn branches_are_replicated_in_their_two_phases() {
    let mut server = Server::start(&[]);
    let mut c = set_up(&server);
    let programs = Version::all();
    if programs.is_empty() {
        eprintln!("not run: no MariaDB server is installed");
    }
    for (at, program) in programs.iter().enumerate() {
        let id = 100 + at as i32 * 10;
        let replica = Replica::start(program, 100, &[]);
        replica.follow(server.port, "");
        for (name, id) in [("commit", id), ("roll back", id + 1), ("later", id + 2)] {
            let mut owner = server.client();
            let change = format!("INSERT INTO x.t VALUES ({id}, {id}), ({}, {id})", id + 1000);
            prepare(&mut owner, name, &[&change]);
        }
        let position = c.rows("SELECT @@gtid_binlog_pos")[0].clone();
        replica.catch_up(&position);
        assert_eq!(names(&mut replica.client()), ["commit", "later", "roll back"], "prepared there too");
        for statement in ["XA COMMIT 'commit'", "XA ROLLBACK 'roll back'"] {
            while c.query(statement).is_err() {
                std::thread::yield_now();
            }
        }
        // A branch of before a crash is decided by name.
        server.kill();
        server.restart();
        c = server.client();
        c.run("XA COMMIT 'later'");
        let position = c.rows("SELECT @@gtid_binlog_pos")[0].clone();
        replica.catch_up(&position);
        replica.check();
        assert!(names(&mut replica.client()).is_empty());
        assert_eq!(rows(&mut replica.client()), rows(&mut c), "{}", replica.version);
    }
}
