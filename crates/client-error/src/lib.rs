//! Every error below becomes MariaDB's number, SQLSTATE and text here.
