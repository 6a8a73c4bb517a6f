//! TLS, the compressed protocol and accounts that ask for TLS, with MariaDB's own client.

use std::process::{Command, Output};

use blackbox::{Replica, Server, Version};

/// The `mariadb` client with these options; `None` where it is not installed.
fn mariadb(server: &Server, options: &[&str], sql: &str) -> Option<Output> {
    let mut command = Command::new("mariadb");
    command.args(["--no-defaults", "--host=127.0.0.1", &format!("--port={}", server.port), "-N"]);
    match command.args(options).args(["-e", sql]).output() {
        Ok(output) => Some(output),
        Err(_) => {
            println!("skipped: no mariadb client on this machine (cargo xtask test installs it)");
            None
        }
    }
}

fn answer(output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn complaint(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

const CIPHER: &str = "SHOW STATUS LIKE 'Ssl_version'";

#[test]
fn a_client_gets_tls_without_any_setting_up() {
    let mut server = Server::start(&[]);
    server.client().run("CREATE USER u@localhost IDENTIFIED BY 'p'");
    let Some(output) = mariadb(&server, &["-uu", "-pp", "--ssl"], CIPHER) else { return };
    assert_eq!(answer(&output), "Ssl_version\tTLSv1.3");
    let old = mariadb(&server, &["-uu", "-pp", "--ssl", "--tls-version=TLSv1.2"], CIPHER).unwrap();
    assert_eq!(answer(&old), "Ssl_version\tTLSv1.2");
    let plain = mariadb(&server, &["-uu", "-pp", "--skip-ssl"], CIPHER).unwrap();
    assert_eq!(answer(&plain), "Ssl_version");
    let certificate = std::fs::read(server.data().join("server-cert.pem")).unwrap();
    // A long answer and a long question, both ways, over TLS.
    let long = mariadb(
        &server,
        &["-uu", "-pp", "--ssl"],
        "SELECT LENGTH(REPEAT('x', 5000000)), REPEAT('y', 3000000)",
    );
    assert!(answer(&long.unwrap()).starts_with("5000000\tyyyy"));
    assert!(server.stop());
    server.restart();
    assert!(std::fs::read(server.data().join("server-cert.pem")).unwrap() == certificate);
}

#[test]
fn accounts_may_ask_for_tls_and_the_server_too() {
    let server = Server::start(&[]);
    let mut root = server.client();
    root.run("CREATE USER s@localhost IDENTIFIED BY 'p' REQUIRE SSL");
    root.run("CREATE USER x@localhost IDENTIFIED BY 'p' REQUIRE X509");
    root.run("CREATE USER c@localhost IDENTIFIED BY 'p' REQUIRE CIPHER 'TLS_AES_256_GCM_SHA384'");
    let Some(refused) = mariadb(&server, &["-us", "-pp", "--skip-ssl"], "SELECT 1") else { return };
    assert!(complaint(&refused).contains("ERROR 1045 (28000)"), "{}", complaint(&refused));
    assert_eq!(answer(&mariadb(&server, &["-us", "-pp", "--ssl"], "SELECT 1").unwrap()), "1");
    let without = mariadb(&server, &["-ux", "-pp", "--ssl"], "SELECT 1").unwrap();
    assert!(complaint(&without).contains("ERROR 1045"), "{}", complaint(&without));
    assert_eq!(answer(&mariadb(&server, &["-uc", "-pp", "--ssl"], "SELECT 1").unwrap()), "1");
    root.run("SET GLOBAL require_secure_transport = 1");
    let plain = mariadb(&server, &["-uroot", "--skip-ssl"], "SELECT 1").unwrap();
    assert!(complaint(&plain).contains("ERROR 3159 (08004)"), "{}", complaint(&plain));
    assert_eq!(answer(&mariadb(&server, &["-us", "-pp", "--ssl"], "SELECT 1").unwrap()), "1");
}

#[test]
fn answers_may_be_compressed_also_inside_tls() {
    let server = Server::start(&[]);
    server.client().run("CREATE USER u@localhost IDENTIFIED BY 'p'");
    server.client().run("CREATE DATABASE d");
    server.client().run("GRANT ALL ON d.* TO u@localhost");
    for tls in ["--skip-ssl", "--ssl"] {
        let options = ["-uu", "-pp", "-C", tls, "d"];
        let sql = "CREATE OR REPLACE TABLE t (a INT PRIMARY KEY, b LONGTEXT); \
                   INSERT INTO t SELECT seq, REPEAT(MD5(seq), 100) FROM (SELECT 1 seq UNION SELECT 2 UNION SELECT 3) s; \
                   SELECT COUNT(*), SUM(LENGTH(b)) FROM t; SELECT MD5(b) FROM t WHERE a = 3; SELECT REPEAT('z', 1000000)";
        let Some(output) = mariadb(&server, &options, sql) else { return };
        let text = answer(&output);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("3\t9600"), "{tls}");
        assert_eq!(lines.nth(1).map(str::len), Some(1_000_000), "{tls}");
    }
}

#[test]
fn without_tls_nothing_is_offered() {
    let server = Server::start(&["--skip-ssl"]);
    let Some(plain) = mariadb(&server, &["-uroot"], "SELECT @@have_ssl") else { return };
    assert_eq!(answer(&plain), "DISABLED");
    assert!(!server.data().join("server-cert.pem").exists());
}

#[test]
fn a_named_certificate_must_be_there() {
    let server = Server::start(&[]);
    let mut other = Server::start(&[]);
    assert!(other.stop());
    other.set_option("--ssl-cert=/nowhere/cert.pem");
    other.set_option("--ssl-key=/nowhere/key.pem");
    assert!(other.start_fails().contains("Failed to setup SSL"), "{}", other.start_fails());
    drop(server);
}

#[test]
fn replicas_follow_over_tls_and_compressed() {
    let server = Server::start(&["--server-id=1"]);
    let mut primary = server.client();
    primary.run("CREATE USER r@localhost IDENTIFIED BY 'p' REQUIRE SSL");
    primary.run("GRANT REPLICATION SLAVE ON *.* TO r@localhost");
    primary.run("CREATE DATABASE d");
    primary.run("CREATE TABLE d.t (a INT PRIMARY KEY, b LONGTEXT)");
    primary.run("SET GLOBAL rpl_semi_sync_master_enabled = 1");
    for program in Version::all() {
        for compressed in ["0", "1"] {
            let options = [
                format!("--slave-compressed-protocol={compressed}"),
                "--rpl-semi-sync-slave-enabled=1".into(),
            ];
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let replica = Replica::start(&program, 50, &options);
            let mut follower = replica.client();
            follower.run(&format!(
                "CHANGE MASTER TO master_host='127.0.0.1', master_port={}, master_user='r', master_password='p', \
                 master_use_gtid=slave_pos, master_ssl=1",
                server.port
            ));
            follower.run("START SLAVE");
            primary.run("DELETE FROM d.t");
            for n in 0..20 {
                primary.run(&format!("INSERT INTO d.t VALUES ({n}, REPEAT('x', {}))", n * 100_000));
            }
            let sum = "SELECT COUNT(*), SUM(LENGTH(b)) FROM d.t";
            let wanted = primary.rows(sum);
            let begin = std::time::Instant::now();
            while follower.query(sum).map(|r| r.lines()).ok().as_ref() != Some(&wanted) {
                assert!(begin.elapsed().as_secs() < 60, "{:?}", follower.rows("SHOW SLAVE STATUS"));
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    }
}
