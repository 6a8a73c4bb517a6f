//! Every file of `tests/sql` on this server; with SQL_TEST_SOCKET on the MariaDB behind that socket, which with
//! SQL_TEST_RECORD=1 also writes the expected results.

use blackbox::{Client, Server, sqltest};
use std::path::Path;

#[test]
fn sql_files_answer_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("tests/sql").map(|e| e.expect("an entry").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "test"));
    files.sort();
    let filter = std::env::var("SQL_TEST_FILE").unwrap_or_default();
    files.retain(|f| f.to_string_lossy().contains(&filter));
    assert!(!files.is_empty(), "no test files");
    let socket = std::env::var("SQL_TEST_SOCKET").ok();
    let server = socket.is_none().then(|| Server::start(&[]));
    let connect = || match (&socket, &server) {
        (Some(path), _) => Client::unix(Path::new(path)).expect("the reference server"),
        (None, Some(server)) => server.client(),
        (None, None) => unreachable!("one of both is there"),
    };
    let mut failed = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let (differences, recorded) = sqltest::run(&text, connect);
        if std::env::var_os("SQL_TEST_RECORD").is_some() {
            std::fs::write(&file, recorded).expect("written");
        } else if !differences.is_empty() {
            failed.push(format!(
                "{}:\n{}",
                file.file_name().unwrap_or_default().to_string_lossy(),
                differences.join("\n")
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
