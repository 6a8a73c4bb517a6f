//! Statements nested as deep as the parser admits, and deeper: an answer or an error, and the server is there afterwards.

use blackbox::{Client, Failure, Server};

/// `shape` around itself `depth` times; `@` is where the next one stands.
fn nested(shape: &str, depth: usize) -> String {
    let (before, after) = shape.split_once('@').expect("a place for the next one");
    [before.repeat(depth), "1".to_owned(), after.repeat(depth)].concat()
}

fn answers(c: &mut Client, sql: &str) {
    if let Err(failure) = c.query(sql) {
        assert!(matches!(failure, Failure::Server { .. }), "{failure}: {}", &sql[..80]);
    }
    assert_eq!(c.rows("SELECT 'alive'"), ["alive"]);
}

/// IF 600 deep in an UPDATE took the server down.
#[test]
fn a_statement_nested_to_the_limit_leaves_the_server_up() {
    let server = Server::start(&[]);
    let mut c = server.client();
    c.run("CREATE DATABASE n");
    c.run("USE n");
    c.run("CREATE TABLE t (a INT, b BIGINT)");
    c.run("INSERT INTO t VALUES (1, 1)");
    let shapes = [
        "IF(b <= 11, 2, @)",
        "IFNULL(NULL, b + @)",
        "CASE b WHEN 5 THEN 1 ELSE @ END",
        "CONCAT('a', @)",
        "(b + @)",
        "NOT (b = @)",
        "COALESCE(NULL, GREATEST(b, @))",
        "JSON_ARRAY(@)",
        "CAST(@ AS CHAR)",
        "b IN (1, @)",
        "b BETWEEN 1 AND (@)",
    ];
    for shape in shapes {
        for depth in [100, 340, 560, 690, 5000] {
            let e = nested(shape, depth);
            answers(&mut c, &format!("SELECT {e} FROM t"));
            answers(&mut c, &format!("SELECT a FROM t WHERE {e} ORDER BY {e}"));
            answers(&mut c, &format!("UPDATE t SET a = LENGTH({e}) WHERE b < 10"));
            answers(&mut c, &format!("PREPARE s FROM 'SELECT {} FROM t'", e.replace('\'', "''")));
        }
    }
}
