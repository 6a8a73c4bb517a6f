//! Every file of `tests/sql` on this server; with SQL_TEST_SOCKET on the MariaDB behind that socket, which with
//! SQL_TEST_RECORD=1 also writes the expected results.

use blackbox::sqltest;

#[test]
fn sql_files_answer_as_recorded() {
    sqltest::run_folder("sql", &[]);
}
