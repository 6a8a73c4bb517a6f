//! What whoever runs a server relies on: logs of queries, read_only, init_connect, figures for Prometheus.

use std::io::{Read, Write};
use std::net::TcpStream;

use blackbox::{Client, Server};

fn file(server: &Server, name: &str) -> String {
    std::fs::read_to_string(server.data().join(name)).unwrap_or_default()
}

#[test]
fn the_general_log_says_what_was_asked() {
    let server = Server::start(&["--general-log-file=g.log"]);
    let mut client = server.client();
    client.run("SET GLOBAL log_output = 'FILE,TABLE'");
    client.run("SET GLOBAL general_log = 1");
    client.run("SELECT 'a', 1");
    client.fails("SELEC");
    let statement = client.prepare("SELECT ? + 1").unwrap();
    client.execute(&statement, &[wire::row::BinaryValue::Int(41)]).unwrap();
    drop(server.client());
    let text = file(&server, "g.log");
    for line in [
        " Query\tSELECT 'a', 1\n",
        " Query\tSELEC\n",
        " Prepare\tSELECT ? + 1\n",
        " Execute\tSELECT 41 + 1\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    assert!(text.contains(" Connect\troot@localhost on  using TCP/IP\n"), "{text}");
    assert!(text.contains("Time\t\t    Id Command\tArgument\n"), "{text}");
    let rows = client.rows("SELECT command_type, argument FROM mysql.general_log WHERE argument LIKE '%41%'");
    assert_eq!(rows[0], "Execute\tSELECT 41 + 1");
    // The file may be moved away.
    std::fs::rename(server.data().join("g.log"), server.data().join("old.log")).unwrap();
    client.run("FLUSH GENERAL LOGS");
    client.run("SELECT 'new'");
    assert!(file(&server, "g.log").contains("SELECT 'new'"));
    client.run("SET GLOBAL general_log = 0");
    client.run("SELECT 'silent'");
    assert!(!file(&server, "g.log").contains("silent"));
}

#[test]
fn the_slow_log_has_what_took_long_or_read_everything() {
    let server = Server::start(&["--slow-query-log", "--slow-query-log-file=s.log", "--long-query-time=0.2"]);
    let mut client = server.client();
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    client.run("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    client.run("SELECT SLEEP(0.25)");
    client.run("SELECT COUNT(*) FROM t");
    let text = file(&server, "s.log");
    assert!(text.contains("SELECT SLEEP(0.25);\n") && !text.contains("COUNT(*)"), "{text}");
    assert!(text.contains("# User@Host: root[root] @ localhost [127.0.0.1]\n"), "{text}");
    assert!(text.contains("use `d`;\nSET timestamp="), "{text}");
    assert_eq!(client.rows("SHOW GLOBAL STATUS LIKE 'Slow_queries'"), ["Slow_queries\t1"]);
    client.run("SET GLOBAL log_output = 'TABLE'");
    client.run("SET log_queries_not_using_indexes = 1");
    client.run("SELECT b FROM t WHERE b = 2");
    client.run("SELECT b FROM t WHERE a = 2");
    let logged = "SELECT sql_text, rows_sent, rows_examined, db FROM mysql.slow_log";
    assert_eq!(client.rows(logged), ["SELECT b FROM t WHERE b = 2\t1\t3\td"]);
    client.run("SET log_queries_not_using_indexes = 0");
    client.run("SET log_slow_min_examined_row_limit = 2, long_query_time = 0");
    client.run("SELECT b FROM t WHERE a = 3");
    client.run("SELECT a FROM t");
    let seen = client.rows("SELECT sql_text FROM mysql.slow_log WHERE sql_text LIKE 'SELECT _ FROM%'");
    assert_eq!(seen, ["SELECT b FROM t WHERE b = 2", "SELECT a FROM t"]);
}

#[test]
fn a_server_that_is_read_only_takes_changes_from_its_administrators_alone() {
    let server = Server::start(&[]);
    let mut root = server.client();
    root.run("CREATE DATABASE d");
    root.run("CREATE TABLE d.t (a INT PRIMARY KEY)");
    root.run("CREATE USER u@localhost IDENTIFIED BY 'p'");
    root.run("GRANT ALL ON d.* TO u@localhost");
    root.run("SET GLOBAL read_only = 1");
    let mut user = Client::unix_as(&server.socket(), "u", "p").unwrap();
    for refused in [
        "INSERT INTO d.t VALUES (1)",
        "UPDATE d.t SET a = 2 WHERE a = 9",
        "DELETE FROM d.t",
        "CREATE TABLE d.n (a INT)",
        "DROP TABLE d.t",
        "START TRANSACTION READ WRITE",
        "SET PASSWORD = PASSWORD('q')",
    ] {
        assert_eq!(user.fails(refused), 1290, "{refused}");
    }
    assert_eq!(user.rows("SELECT COUNT(*) FROM d.t"), ["0"]);
    user.run("START TRANSACTION");
    assert_eq!(user.fails("INSERT INTO d.t VALUES (1)"), 1290);
    user.run("COMMIT");
    assert_eq!(user.fails("SET GLOBAL read_only = 0"), 1227);
    root.run("INSERT INTO d.t VALUES (7)");
    root.run("SET GLOBAL read_only = 0");
    user.run("INSERT INTO d.t VALUES (1)");
}

#[test]
fn statements_run_at_the_start_and_for_each_client() {
    let scratch = tempfile::tempdir().unwrap();
    let init = scratch.path().join("init.sql");
    std::fs::write(
        &init,
        "CREATE DATABASE IF NOT EXISTS made;\nCREATE OR REPLACE TABLE made.t AS SELECT 5 AS a;\n",
    )
    .unwrap();
    let server = Server::start(&[&format!("--init-file={}", init.display())]);
    let mut root = server.client();
    assert_eq!(root.rows("SELECT a FROM made.t"), ["5"]);
    root.run("CREATE USER u@localhost IDENTIFIED BY 'p'");
    root.run("SET GLOBAL init_connect = 'SET @who = 7'");
    let mut user = Client::unix_as(&server.socket(), "u", "p").unwrap();
    assert_eq!(user.rows("SELECT @who"), ["7"]);
    assert_eq!(server.client().rows("SELECT @who"), ["NULL"]);
    root.run("SET GLOBAL init_connect = 'SELEC'");
    let mut user = Client::unix_as(&server.socket(), "u", "p").unwrap();
    assert!(user.query("SELECT 1").is_err());
}

#[test]
fn a_transaction_that_idles_too_long_ends() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (a INT PRIMARY KEY)");
    client.run("SET idle_transaction_timeout = 1");
    client.run("BEGIN");
    client.run("INSERT INTO d.t VALUES (1)");
    // The end of the connection is what the read returns with.
    assert!(client.receive().is_err());
    assert_eq!(server.client().rows("SELECT COUNT(*) FROM d.t"), ["0"]);
}

#[test]
fn prometheus_gets_the_figures() {
    let probe = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Server::start(&[&format!("--prometheus-port={probe}")]);
    server.client().run("SELECT 1");
    let ask = |request: &str| {
        let mut line = TcpStream::connect(("127.0.0.1", probe)).unwrap();
        line.write_all(format!("{request} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        line.read_to_string(&mut text).unwrap();
        text
    };
    let text = ask("GET /metrics");
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    for metric in [
        "\nmysql_up 1\n",
        "\nmysql_global_status_commands_total{command=\"select\"} ",
        "\nmysql_global_status_threads_connected ",
        "\nmysql_global_variables_max_connections 151\n",
    ] {
        assert!(text.contains(metric), "{metric}");
    }
    assert!(ask("GET /").starts_with("HTTP/1.1 404 "));
    assert!(ask("POST /metrics").starts_with("HTTP/1.1 405 "));
}

#[test]
fn tools_find_the_tables_that_they_read() {
    let server = Server::start(&[]);
    let mut client = server.client();
    for table in client.rows("SHOW TABLES FROM information_schema") {
        client.run(&format!("SELECT * FROM information_schema.{table} LIMIT 2"));
    }
    for table in client.rows("SHOW TABLES FROM performance_schema") {
        assert!(client.rows(&format!("SELECT * FROM performance_schema.{table}")).is_empty(), "{table}");
    }
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (a INT PRIMARY KEY)");
    client.run("INSERT INTO d.t VALUES (1)");
    client.run("BEGIN");
    client.run("UPDATE d.t SET a = 2");
    let mut waiter = server.client();
    waiter.send(3, b"DELETE FROM d.t WHERE a = 1").unwrap();
    let mut watcher = server.client();
    let begin = std::time::Instant::now();
    while watcher.rows("SELECT COUNT(*) FROM information_schema.INNODB_LOCK_WAITS") == ["0"] {
        assert!(begin.elapsed().as_secs() < 20, "nobody waits");
    }
    let waits = "SELECT trx_query FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'";
    assert_eq!(watcher.rows(waits), ["DELETE FROM d.t WHERE a = 1"]);
    client.run("ROLLBACK");
    waiter.reply(false).unwrap();
}

#[test]
fn a_server_stops_while_clients_go_on_connecting() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let mut server = Server::start(&[]);
    for _ in 0..10 {
        let stop = AtomicBool::new(false);
        let port = server.port;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                // A connection that is accepted in the last moment ends with the others.
                scope.spawn(|| {
                    let mut open = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        open.extend(TcpStream::connect(("127.0.0.1", port)));
                        std::thread::sleep(std::time::Duration::from_micros(300));
                    }
                });
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            let stopped = server.stop();
            stop.store(true, Ordering::Relaxed);
            assert!(stopped);
        });
        server.restart();
    }
}
