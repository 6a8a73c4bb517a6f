//! Who may log in and who may do what, over real connections.

use blackbox::{Client, Server};

/// A server with a user `u`, password `pw`, and a database `t`.
fn server() -> (Server, Client) {
    let server = Server::start(&[]);
    let mut root = server.client();
    root.run("CREATE DATABASE t");
    root.run("CREATE TABLE t.x (a INT, b INT)");
    root.run("INSERT INTO t.x VALUES (1, 2)");
    root.run("CREATE USER u IDENTIFIED BY 'pw'");
    (server, root)
}

fn log_in(server: &Server, user: &str, password: &str) -> Result<Client, u16> {
    Client::unix_as(&server.socket(), user, password).map_err(|e| e.code())
}

#[test]
fn accounts_survive_a_crash() {
    let (mut server, mut root) = server();
    root.run("GRANT SELECT (a) ON t.x TO u");
    root.run("CREATE ROLE r");
    root.run("GRANT r TO u");
    let before = root.rows("SHOW GRANTS FOR u");
    server.kill();
    server.restart();
    assert_eq!(server.client().rows("SHOW GRANTS FOR u"), before);
    assert_eq!(log_in(&server, "u", "wrong").err(), Some(1045));
    assert_eq!(log_in(&server, "nobody", "").err(), Some(1045));
    assert_eq!(log_in(&server, "u", "pw").unwrap().rows("SELECT CURRENT_USER()"), ["u@%"]);
}

#[test]
fn columns_and_tables_are_guarded_also_in_prepared_statements() {
    let (server, mut root) = server();
    root.run("GRANT SELECT (a) ON t.x TO u");
    let mut u = log_in(&server, "u", "pw").unwrap();
    assert_eq!(u.rows("SELECT a FROM t.x"), ["1"]);
    assert_eq!(u.fails("SELECT b FROM t.x"), 1143);
    assert_eq!(u.fails("SELECT a FROM t.x ORDER BY b"), 1143);
    assert_eq!(u.fails("SELECT * FROM t.x"), 1142);
    assert_eq!(u.fails("SELECT 1 FROM (SELECT b FROM t.x) d"), 1143);
    assert_eq!(u.fails("SELECT (SELECT b FROM t.x)"), 1143);
    assert_eq!(u.fails("SELECT x.a FROM t.x JOIN t.x y USING (b)"), 1143);
    assert_eq!(u.fails("INSERT INTO t.x SELECT * FROM t.x"), 1142);
    assert_eq!(u.fails("UPDATE t.x SET a = 1"), 1142);
    assert_eq!(u.fails("DELETE FROM t.x"), 1142);
    assert_eq!(u.fails("SELECT * FROM t.missing"), 1142);
    assert_eq!(u.fails("SELECT * FROM mysql.user"), 1142);
    let prepared = u.prepare("SELECT a FROM t.x").unwrap();
    assert!(u.execute(&prepared, &[]).is_ok());
    root.run("REVOKE SELECT (a) ON t.x FROM u");
    assert_eq!(u.execute(&prepared, &[]).unwrap_err().code(), 1142);
    root.run("GRANT SELECT ON t.x TO u");
    assert!(u.execute(&prepared, &[]).is_ok());
}

#[test]
fn changes_need_their_own_privileges() {
    let (server, mut root) = server();
    root.run("CREATE TABLE t.y (a INT)");
    root.run("GRANT UPDATE (a), INSERT (a) ON t.x TO u");
    let mut u = log_in(&server, "u", "pw").unwrap();
    u.run("UPDATE t.x SET a = 5");
    u.run("INSERT INTO t.x (a) VALUES (6)");
    assert_eq!(u.fails("UPDATE t.x SET b = 5"), 1143);
    assert_eq!(u.fails("UPDATE t.x SET a = b"), 1143);
    assert_eq!(u.fails("UPDATE t.x SET a = 1 WHERE a = 5"), 1143);
    assert_eq!(u.fails("INSERT INTO t.x VALUES (1, 2)"), 1143);
    assert_eq!(u.fails("REPLACE INTO t.x (a) VALUES (1)"), 1142);
    // Of several tables only what is changed needs more than SELECT.
    root.run("GRANT SELECT ON t.* TO u");
    root.run("GRANT DELETE ON t.y TO u");
    u.run("UPDATE t.x, t.y SET x.a = 1 WHERE x.a = y.a");
    assert_eq!(u.fails("UPDATE t.x, t.y SET y.a = 1 WHERE x.a = y.a"), 1142);
    u.run("DELETE y FROM t.x, t.y WHERE x.a = y.a");
    assert_eq!(u.fails("DELETE x FROM t.x, t.y WHERE x.a = y.a"), 1142);
}

#[test]
fn one_sees_what_one_may_use() {
    let (server, mut root) = server();
    root.run("CREATE TABLE t.z (a INT)");
    root.run("GRANT SELECT (b) ON t.x TO u");
    let mut u = log_in(&server, "u", "pw").unwrap();
    assert_eq!(u.rows("SHOW DATABASES"), ["information_schema", "t"]);
    assert_eq!(u.rows("SHOW TABLES FROM t"), ["x"]);
    let columns =
        "SELECT table_name, column_name, privileges FROM information_schema.columns WHERE table_schema = 't'";
    assert_eq!(u.rows(columns), ["x\tb\tselect"]);
    assert_eq!(u.fails("USE mysql"), 1044);
    assert_eq!(u.fails("SHOW TABLES FROM mysql"), 1044);
    assert_eq!(u.fails("SHOW CREATE TABLE t.x"), 1142);
    assert_eq!(u.fails("SHOW GRANTS FOR root@localhost"), 1044);
    assert_eq!(u.fails("DROP TABLE t.x"), 1142);
    assert_eq!(u.fails("CREATE DATABASE d"), 1044);
    assert_eq!(u.fails("SET GLOBAL wait_timeout = 5"), 1227);
    assert_eq!(u.fails("SHUTDOWN"), 1227);
    assert_eq!(u.fails("CREATE USER v"), 1227);
    assert_eq!(u.fails("GRANT SELECT ON t.x TO u"), 1142);
    let me = root.rows("SELECT CONNECTION_ID()");
    assert_eq!(u.fails(&format!("KILL {}", me[0])), 1095);
    assert_eq!(u.rows("SHOW PROCESSLIST").len(), 1);
}

#[test]
fn roles_are_taken_and_given_back() {
    let (server, mut root) = server();
    root.run("CREATE ROLE r");
    root.run("CREATE ROLE inner_role");
    root.run("GRANT inner_role TO r");
    root.run("GRANT SELECT ON t.* TO inner_role");
    root.run("GRANT r TO u");
    let mut u = log_in(&server, "u", "pw").unwrap();
    assert_eq!(u.fails("SELECT a FROM t.x"), 1142);
    u.run("SET ROLE r");
    assert_eq!(u.rows("SELECT a, CURRENT_ROLE() FROM t.x"), ["1\tr"]);
    assert_eq!(u.rows("SELECT role_name FROM information_schema.enabled_roles"), ["r", "inner_role"]);
    u.run("SET ROLE NONE");
    assert_eq!(u.fails("SELECT a FROM t.x"), 1142);
    root.run("SET DEFAULT ROLE r FOR u");
    let mut again = log_in(&server, "u", "pw").unwrap();
    assert_eq!(again.rows("SELECT CURRENT_ROLE()"), ["r"]);
}

#[test]
fn locked_expired_and_blocked_accounts() {
    let (server, mut root) = server();
    root.run("ALTER USER u ACCOUNT LOCK");
    assert_eq!(log_in(&server, "u", "pw").err(), Some(4151));
    root.run("ALTER USER u ACCOUNT UNLOCK PASSWORD EXPIRE");
    let mut u = log_in(&server, "u", "pw").unwrap();
    assert_eq!(u.fails("SELECT 1"), 1820);
    u.run("SET PASSWORD = PASSWORD('new')");
    assert_eq!(u.rows("SELECT 1"), ["1"]);
    assert_eq!(log_in(&server, "u", "pw").err(), Some(1045));
    root.run("SET GLOBAL max_password_errors = 2");
    assert_eq!(log_in(&server, "u", "pw").err(), Some(1045));
    assert_eq!(log_in(&server, "u", "new").err(), Some(4150));
    root.run("FLUSH PRIVILEGES");
    assert!(log_in(&server, "u", "new").is_ok());
}
