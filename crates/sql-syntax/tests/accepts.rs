//! Statements that must parse, and texts that must not, by family.

use sql_syntax::ast::*;
use sql_syntax::{Arena, ParseOptions, parse, parse_at};

fn accepts(list: &[&str]) {
    let options = ParseOptions { params: true, ..ParseOptions::default() };
    for sql in list {
        let arena = Arena::new();
        if let Err(error) = parse(&arena, sql.as_bytes(), options) {
            panic!("{sql}\n  {error}");
        }
    }
}

fn rejects(list: &[&str]) {
    for sql in list {
        let arena = Arena::new();
        let result = parse(&arena, sql.as_bytes(), ParseOptions::default());
        assert!(matches!(&result, Err(error) if error.code() == 1064), "{sql}: {result:?}");
    }
}

#[test]
fn what_sysbench_sends() {
    accepts(&[
        "CREATE TABLE sbtest1(\n  id INTEGER NOT NULL AUTO_INCREMENT,\n  k INTEGER DEFAULT '0' NOT NULL,\n  \
         c CHAR(120) DEFAULT '' NOT NULL,\n  pad CHAR(60) DEFAULT '' NOT NULL,\n  PRIMARY KEY (id)\n) \
         /*! ENGINE = innodb */",
        "CREATE INDEX k_1 ON sbtest1(k)",
        "INSERT INTO sbtest1(k, c, pad) VALUES(5, 'a', 'b'),(6, 'c', 'd')",
        "SELECT c FROM sbtest1 WHERE id=?",
        "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
        "UPDATE sbtest1 SET k=k+1 WHERE id=?",
        "DELETE FROM sbtest1 WHERE id=?",
        "BEGIN",
        "COMMIT",
        "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, ?)",
        "SELECT count(k) FROM sbtest1 WHERE k BETWEEN 1 AND 2 OR k BETWEEN 3 AND 4",
        "DROP TABLE IF EXISTS sbtest1",
    ]);
}

#[test]
fn what_clients_send_at_login() {
    accepts(&[
        "select @@version_comment limit 1",
        "SELECT DATABASE(), USER() limit 1",
        "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
        "SET autocommit=0, @@session.sql_mode = CONCAT(@@sql_mode, ',ANSI'), @a := 5",
        "show variables like 'max_allowed_packet'",
        "SHOW FULL TABLES FROM `db` WHERE Table_type = 'BASE TABLE'",
        "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */",
        "/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */",
        "LOCK TABLES `t1` WRITE, t2 AS x READ LOCAL",
        "/*!40000 ALTER TABLE `t1` DISABLE KEYS */",
    ]);
}

#[test]
fn joins_take_their_conditions() {
    let arena = Arena::new();
    let sql = b"select 1 from a join b join c on x on y";
    let Ok(parsed) = parse(&arena, sql, ParseOptions::default()) else { panic!() };
    let Statement::Query(query) = parsed.statement else { panic!() };
    let QueryBody::Select(select) = query.body else { panic!() };
    let [TableRef::Join(outer)] = select.from else { panic!() };
    assert!(matches!(outer.left, TableRef::Table(t) if t.name.name.is("a")));
    assert!(matches!(outer.right, TableRef::Join(inner) if matches!(inner.condition, JoinCondition::On(_))));
}

#[test]
fn statements_are_split() {
    let arena = Arena::new();
    let sql = b"select 1 ; select ';' /* ; */ ;\n";
    let first = parse(&arena, sql, ParseOptions::default()).unwrap();
    assert_eq!((first.end, first.next), (8, Some(10)));
    let second = parse_at(&arena, sql, 10, ParseOptions::default()).unwrap();
    assert_eq!((second.end, second.next), (21, None));
}

#[test]
fn errors_point_at_the_token() {
    rejects(&[
        "select from t",
        "create table max(a int)",
        "select 'abc",
        "select 1 /* abc",
        "select x'4'",
        "select ?",
    ]);
    let arena = Arena::new();
    let message = |sql: &str| parse(&arena, sql.as_bytes(), ParseOptions::default()).unwrap_err().to_string();
    assert!(message("select 1,\n2 from from t").ends_with("near 'from t' at line 2"));
    assert!(message("select 1 from").ends_with("near '' at line 1"));
    let long = format!("selec {}", "a".repeat(200));
    assert!(message(&long).ends_with(&format!("near 'selec {}...' at line 1", "a".repeat(71))));
    assert_eq!(parse(&arena, b"  /* x */ ;", ParseOptions::default()).unwrap_err().code(), 1065);
}
