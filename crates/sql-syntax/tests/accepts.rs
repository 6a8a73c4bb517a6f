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
    assert_eq!((second.end, second.next), (29, None));
    // The end of a version comment belongs to the text: without it nobody can run the text again.
    for sql in ["create table t (a int) /*! engine = innodb */", "/*!50001 create view v as select 1 */"] {
        let parsed = parse(&arena, sql.as_bytes(), ParseOptions::default()).unwrap();
        assert_eq!((parsed.end, parsed.next), (sql.len(), None));
    }
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
    assert_eq!(parse(&arena, b"  ;", ParseOptions::default()).unwrap_err().code(), 1065);
    let comment = parse(&arena, b"/*!99999 select 1 */ -- x", ParseOptions::default()).unwrap();
    assert_eq!(comment.statement, Statement::Empty);
}

#[test]
fn modes_change_the_grammar() {
    let arena = Arena::new();
    let parses =
        |sql: &str, options: ParseOptions| parse(&arena, arena.alloc_slice_copy(sql.as_bytes()), options);
    let first = |sql: &str, options: ParseOptions| {
        let Ok(parsed) = parses(sql, options) else { panic!("{sql}") };
        let Statement::Query(Query { body: QueryBody::Select(select), .. }) = parsed.statement else {
            panic!()
        };
        let SelectItem::Expr(item) = select.items[0] else { panic!() };
        item.expr
    };
    let off = ParseOptions::default();
    let string = Expr::Literal(Literal::String(b"x"));
    assert_eq!(first("select \"x\"", off), string);
    let ansi = ParseOptions { ansi_quotes: true, ..off };
    assert!(matches!(first("select \"x\"", ansi), Expr::Column(c) if c.name.is("x")));
    assert!(matches!(first("select 1 || 2", off), Expr::Or(_)));
    let pipes = ParseOptions { pipes_as_concat: true, ..off };
    assert!(matches!(first("select 1 || 2", pipes), Expr::Binary { op: BinaryOp::Concat, .. }));
    let high = ParseOptions { high_not_precedence: true, ..off };
    assert!(matches!(first("select not a = b", off), Expr::Unary { op: UnaryOp::Not, .. }));
    assert!(matches!(first("select not a = b", high), Expr::Binary { op: BinaryOp::Eq, .. }));
    let plain = ParseOptions { no_backslash_escapes: true, ..off };
    assert_eq!(first("select 'a\\'", plain), Expr::Literal(Literal::String(b"a\\")));
    assert!(parses("select 'a\\'", off).is_err());
    let space = ParseOptions { ignore_space: true, ..off };
    assert!(parses("select count (*)", off).is_err() && parses("select count (*)", space).is_ok());
    assert!(parses("select ?", off).is_err());
}

#[test]
fn version_comments_follow_the_announced_version() {
    let arena = Arena::new();
    let runs =
        |sql: &str| parse(&arena, arena.alloc_slice_copy(sql.as_bytes()), ParseOptions::default()).is_ok();
    // `select 1` is whole with and without what the comment holds only when the comment is read.
    assert!(runs("/*! select */ 1") && runs("/*!50699 select */ 1") && runs("/*!100100 select */ 1"));
    assert!(runs("/*M!50701 select */ 1") && runs("/*M!110800 select */ 1"));
    assert!(!runs("/*!50700 select */ 1") && !runs("/*!99999 select */ 1") && !runs("/*!999999 select */ 1"));
    assert!(!runs("/*M!120000 select */ 1") && !runs("/*! select 1"));
    assert!(runs("select 1 /*!50701 garbage /* nested */ ( */ + 1"));
}
