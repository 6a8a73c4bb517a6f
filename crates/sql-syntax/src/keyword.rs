//! The words that the grammar knows.
//!
//! Three sets: reserved words are never identifiers, function words are not when a `(` follows, free words always can
//! be (with the exceptions that the grammar names where it reads a label, an alias or a variable).
//!
//! Lookup happens for each word of a statement, so it is a hash of the word's length, first and last bytes into a
//! table that the compiler builds.

macro_rules! keywords {
    (reserved { $($r:ident),* $(,)? } function { $($f:ident),* $(,)? } free { $($n:ident),* $(,)? }) => {
        /// A word of the grammar; `ANY_OTHER` is any word that is none of them.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub(crate) enum Kw { $($r,)* $($f,)* $($n,)* ANY_OTHER }

        const WORDS: &[Kw] = &[$(Kw::$r,)* $(Kw::$f,)* $(Kw::$n,)*];
        const TEXTS: &[&str] = &[$(stringify!($r),)* $(stringify!($f),)* $(stringify!($n),)*];
        const RESERVED: usize = [$(stringify!($r),)*].len();
        const FUNCTIONS: usize = [$(stringify!($f),)*].len();
    };
}

/// Every word that the grammar knows.
pub fn words() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().copied()
}

keywords! {
    reserved {
        ACCESSIBLE, ADD, ALL, ALTER, ANALYZE, AND, AS, ASC, ASENSITIVE, BEFORE, BETWEEN, BIGINT, BINARY,
        BLOB, BOTH, BY, CALL, CASCADE, CASE, CHANGE, CHAR, CHARACTER, CHECK, COLLATE, COLUMN, CONDITION,
        CONSTRAINT, CONTINUE, CONVERT, CREATE, CROSS, CURRENT_DATE, CURRENT_ROLE, CURRENT_TIME,
        CURRENT_TIMESTAMP, CURRENT_USER, CURSOR, DATABASES, DAY_HOUR, DAY_MICROSECOND, DAY_MINUTE,
        DAY_SECOND, DEC, DECIMAL, DECLARE, DEFAULT, DELAYED, DELETE, DELETE_DOMAIN_ID, DESC, DESCRIBE,
        DETERMINISTIC, DISTINCT, DISTINCTROW, DIV, DOUBLE, DO_DOMAIN_IDS, DROP, DUAL, EACH, ELSE, ELSEIF,
        ENCLOSED, ESCAPED, EXCEPT, EXISTS, EXIT, EXPLAIN, FALSE, FETCH, FLOAT, FLOAT4, FLOAT8, FOR, FORCE,
        FOREIGN, FROM, FULLTEXT, GRANT, GROUP, HAVING, HIGH_PRIORITY, HOUR_MICROSECOND, HOUR_MINUTE,
        HOUR_SECOND, IF, IGNORE, IGNORE_DOMAIN_IDS, IN, INDEX, INFILE, INNER, INOUT, INSENSITIVE, INSERT,
        INT, INT1, INT2, INT3, INT4, INT8, INTEGER, INTERSECT, INTERVAL, INTO, IS, ITERATE, JOIN, KEY,
        KEYS, KILL, LEADING, LEAVE, LEFT, LIKE, LIMIT, LINEAR, LINES, LOAD, LOCALTIME, LOCALTIMESTAMP,
        LOCK, LONG, LONGBLOB, LONGTEXT, LOOP, LOW_PRIORITY, MASTER_DEMOTE_TO_REPLICA,
        MASTER_DEMOTE_TO_SLAVE, MATCH, MAXVALUE, MEDIUMBLOB, MEDIUMINT, MEDIUMTEXT, MIDDLEINT,
        MINUTE_MICROSECOND, MINUTE_SECOND, MOD, MODIFIES, NATURAL, NOT, NO_WRITE_TO_BINLOG, NULL, NUMERIC,
        OFFSET, ON, OPTIMIZE, OPTIONALLY, OR, ORDER, OUT, OUTER, OUTFILE, OVER, PAGE_CHECKSUM,
        PARSE_VCOL_EXPR, PARTITION, PORTION, PRECISION, PRIMARY, PROCEDURE, PURGE, RANGE, READ, READS,
        READ_WRITE, REAL, RECURSIVE, REFERENCES, REF_SYSTEM_ID, REGEXP, RELEASE, RENAME, REPEAT, REPLACE,
        REQUIRE, RESIGNAL, RESTRICT, RETURN, RETURNING, REVOKE, RIGHT, RLIKE, ROWS, ROW_NUMBER, SCHEMAS,
        SECOND_MICROSECOND, SELECT, SENSITIVE, SEPARATOR, SET, SHOW, SIGNAL, SMALLINT, SPATIAL, SPECIFIC,
        SQL, SQLEXCEPTION, SQLSTATE, SQLWARNING, SQL_AFTER_GTIDS, SQL_BEFORE_GTIDS, SQL_BIG_RESULT,
        SQL_CALC_FOUND_ROWS, SQL_SMALL_RESULT, SSL, STARTING, STATS_AUTO_RECALC, STATS_PERSISTENT,
        STATS_SAMPLE_PAGES, STRAIGHT_JOIN, TABLE, TERMINATED, THEN, TINYBLOB, TINYINT, TINYTEXT, TO,
        TRAILING, TRIGGER, TRUE, UNDO, UNION, UNIQUE, UNLOCK, UNSIGNED, UPDATE, USAGE, USE, USING,
        UTC_DATE, UTC_TIME, UTC_TIMESTAMP, VALUES, VARBINARY, VARCHAR, VARCHARACTER, VARYING, VECTOR, WHEN,
        WHERE, WHILE, WITH, WRITE, XOR, YEAR_MONTH, ZEROFILL,
    }
    function {
        ADDDATE, ADD_MONTHS, BIT_AND, BIT_OR, BIT_XOR, CAST, COUNT, CUME_DIST, CURDATE, CURTIME, DATE_ADD,
        DATE_FORMAT, DATE_SUB, DECODE, DENSE_RANK, EXTRACT, FIRST_VALUE, GROUP_CONCAT, JSON_ARRAYAGG,
        JSON_OBJECTAGG, LAG, LEAD, MAX, MEDIAN, MID, MIN, NOW, NTH_VALUE, NTILE, PERCENTILE_CONT,
        PERCENTILE_DISC, PERCENT_RANK, POSITION, RANK, SESSION_USER, STD, STDDEV, STDDEV_POP, STDDEV_SAMP,
        SUBDATE, SUBSTR, SUBSTRING, SUM, SYSTEM_USER, TRIM, VARIANCE, VAR_POP, VAR_SAMP,
    }
    free {
        ACCOUNT, ACTION, ADMIN, AFTER, AGAINST, AGGREGATE, ALGORITHM, ALWAYS, ANY, ASCII, AT, ATOMIC,
        AUTHORS, AUTO, AUTOEXTEND_SIZE, AUTO_INCREMENT, AVG, AVG_ROW_LENGTH, BACKUP, BEGIN, BINLOG, BIT,
        BLOCK, BODY, BOOL, BOOLEAN, BTREE, BYTE, CACHE, CASCADED, CATALOG_NAME, CHAIN, CHANGED, CHANNEL,
        CHARSET, CHECKPOINT, CHECKSUM, CIPHER, CLASS_ORIGIN, CLIENT, CLOB, CLOSE, COALESCE, CODE,
        COLLATION, COLUMNS, COLUMN_ADD, COLUMN_CHECK, COLUMN_CREATE, COLUMN_DELETE, COLUMN_GET,
        COLUMN_NAME, COMMENT, COMMIT, COMMITTED, COMPACT, COMPLETION, COMPRESSED, CONCURRENT, CONNECTION,
        CONSISTENT, CONSTRAINT_CATALOG, CONSTRAINT_NAME, CONSTRAINT_SCHEMA, CONTAINS, CONTEXT,
        CONTRIBUTORS, CPU, CUBE, CURRENT, CURRENT_POS, CURSOR_NAME, CYCLE, DATA, DATABASE, DATAFILE, DATE,
        DATETIME, DAY, DEALLOCATE, DEFINER, DELAY_KEY_WRITE, DES_KEY_FILE, DIAGNOSTICS, DIRECTORY, DISABLE,
        DISCARD, DISK, DO, DUMPFILE, DUPLICATE, DYNAMIC, ELSIF, EMPTY, ENABLE, END, ENDS, ENGINE, ENGINES,
        ENUM, ERROR, ERRORS, ESCAPE, EVENT, EVENTS, EVERY, EXAMINED, EXCEPTION, EXCHANGE, EXCLUDE, EXECUTE,
        EXPANSION, EXPIRE, EXPORT, EXTENDED, EXTENT_SIZE, FAST, FAULTS, FEDERATED, FIELDS, FILE, FIRST,
        FIXED, FLUSH, FOLLOWING, FOLLOWS, FORMAT, FOUND, FULL, FUNCTION, GENERAL, GENERATED, GET,
        GET_FORMAT, GLOBAL, GOTO, GRANTS, HANDLER, HARD, HASH, HELP, HISTORY, HOSTS, HOUR, ID, IDENTIFIED,
        IGNORED, IGNORE_SERVER_IDS, IMMEDIATE, IMPORT, INCREMENT, INDEXES, INITIAL_SIZE, INSERT_METHOD,
        INSTALL, INVISIBLE, INVOKER, IO, IO_THREAD, IPC, ISOLATION, ISOPEN, ISSUER, JSON, JSON_TABLE,
        KEY_BLOCK_SIZE, LANGUAGE, LAST, LASTVAL, LAST_VALUE, LEAVES, LESS, LEVEL, LIST, LOCAL, LOCKED,
        LOCKS, LOG, LOGFILE, LOGS, MASTER, MASTER_CONNECT_RETRY, MASTER_DELAY, MASTER_GTID_POS,
        MASTER_HEARTBEAT_PERIOD, MASTER_HOST, MASTER_LOG_FILE, MASTER_LOG_POS, MASTER_PASSWORD,
        MASTER_PORT, MASTER_SERVER_ID, MASTER_SSL, MASTER_SSL_CA, MASTER_SSL_CAPATH, MASTER_SSL_CERT,
        MASTER_SSL_CIPHER, MASTER_SSL_CRL, MASTER_SSL_CRLPATH, MASTER_SSL_KEY,
        MASTER_SSL_VERIFY_SERVER_CERT, MASTER_USER, MASTER_USE_GTID, MAX_CONNECTIONS_PER_HOUR,
        MAX_QUERIES_PER_HOUR, MAX_ROWS, MAX_SIZE, MAX_STATEMENT_TIME, MAX_UPDATES_PER_HOUR,
        MAX_USER_CONNECTIONS, MEDIUM, MEMORY, MERGE, MESSAGE_TEXT, MICROSECOND, MIGRATE, MINUS, MINUTE,
        MINVALUE, MIN_ROWS, MODE, MODIFY, MONITOR, MONTH, MUTEX, MYSQL, MYSQL_ERRNO, NAME, NAMES, NATIONAL,
        NCHAR, NESTED, NEVER, NEXT, NEXTVAL, NO, NOCACHE, NOCOPY, NOCYCLE, NODEGROUP, NOMAXVALUE,
        NOMINVALUE, NONE, NOTFOUND, NOWAIT, NO_WAIT, NUMBER, NVARCHAR, OF, OLD_PASSWORD, ONE, ONLINE, ONLY,
        OPEN, OPTION, OPTIONS, ORDINALITY, OTHERS, OVERLAPS, PACKAGE, PACK_KEYS, PAGE, PARSER, PARTIAL,
        PARTITIONING, PARTITIONS, PASSWORD, PATH, PERIOD, PERSISTENT, PHASE, PLUGIN, PLUGINS, PORT,
        PRECEDES, PRECEDING, PREPARE, PRESERVE, PREV, PREVIOUS, PRIVILEGES, PROCESS, PROCESSLIST, PROFILE,
        PROFILES, PROXY, QUARTER, QUERY, QUICK, RAISE, RAW, READ_ONLY, REBUILD, RECORD, RECOVER, REDOFILE,
        REDO_BUFFER_SIZE, REDUNDANT, RELAY, RELAYLOG, RELAY_LOG_FILE, RELAY_LOG_POS, RELAY_THREAD, RELOAD,
        REMOVE, REORGANIZE, REPAIR, REPEATABLE, REPLAY, REPLICA, REPLICAS, REPLICATION, REPLICA_POS, RESET,
        RESTART, RESTORE, RESUME, RETURNED_SQLSTATE, RETURNS, REUSE, REVERSE, ROLE, ROLLBACK, ROLLUP,
        ROUTINE, ROW, ROWCOUNT, ROWNUM, ROWTYPE, ROW_COUNT, ROW_FORMAT, RTREE, SAVEPOINT, SCHEDULE, SCHEMA,
        SCHEMA_NAME, SECOND, SECURITY, SEQUENCE, SERIAL, SERIALIZABLE, SERVER, SESSION, SETVAL, SHARE,
        SHUTDOWN, SIGNED, SIMPLE, SKIP, SLAVE, SLAVES, SLAVE_POS, SLOW, SNAPSHOT, SOFT, SOME, SONAME,
        SOUNDS, SOURCE, SQL_BUFFER_RESULT, SQL_CACHE, SQL_NO_CACHE, SQL_THREAD, SQL_TSI_DAY, SQL_TSI_HOUR,
        SQL_TSI_MINUTE, SQL_TSI_MONTH, SQL_TSI_QUARTER, SQL_TSI_SECOND, SQL_TSI_WEEK, SQL_TSI_YEAR, STAGE,
        START, STARTS, STATEMENT, STATUS, STOP, STORAGE, STORED, STRING, SUBCLASS_ORIGIN, SUBJECT,
        SUBPARTITION, SUBPARTITIONS, SUPER, SUSPEND, SWAPS, SWITCHES, SYSDATE, SYSTEM, SYSTEM_TIME, TABLES,
        TABLESPACE, TABLE_CHECKSUM, TABLE_NAME, TEMPORARY, TEMPTABLE, TEXT, THAN, THREADS, TIES, TIME,
        TIMESTAMP, TIMESTAMPADD, TIMESTAMPDIFF, TRANSACTION, TRANSACTIONAL, TRIGGERS, TRUNCATE, TYPE,
        UNBOUNDED, UNCOMMITTED, UNDEFINED, UNDOFILE, UNDO_BUFFER_SIZE, UNICODE, UNINSTALL, UNKNOWN, UNTIL,
        UPGRADE, USER, USER_RESOURCES, USE_FRM, VALIDATION, VALUE, VARCHAR2, VARIABLES, VERSIONING, VIA,
        VIEW, VIRTUAL, VISIBLE, WAIT, WARNINGS, WEEK, WEIGHT_STRING, WINDOW, WITHIN, WITHOUT, WORK,
        WRAPPER, X509, XA, XML, YEAR,
    }
}

/// Power of two with room to spare: 700 words.
const SLOTS: usize = 4096;
/// No word is longer.
const LONGEST: usize = 32;

const fn upper(b: u8) -> u32 {
    (b & 0xdf) as u32
}

const fn hash(word: &[u8]) -> usize {
    let n = word.len();
    let mut h = n as u32;
    h = h.wrapping_mul(0x9e37_79b1) ^ upper(word[0]);
    h = h.wrapping_mul(0x9e37_79b1) ^ upper(word[n / 3]);
    h = h.wrapping_mul(0x9e37_79b1) ^ upper(word[n / 2]);
    h = h.wrapping_mul(0x9e37_79b1) ^ upper(word[2 * n / 3]);
    h = h.wrapping_mul(0x9e37_79b1) ^ upper(word[n - 1]);
    h = h.wrapping_mul(0x9e37_79b1) ^ upper(word[if n > 1 { n - 2 } else { 0 }]);
    (h.wrapping_mul(0x9e37_79b1) >> 20) as usize
}

/// Open addressing; 0 is empty, otherwise index + 1.
static TABLE: [u16; SLOTS] = {
    let mut table = [0u16; SLOTS];
    let mut i = 0;
    while i < TEXTS.len() {
        let mut slot = hash(TEXTS[i].as_bytes());
        while table[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = i as u16 + 1;
        i += 1;
    }
    table
};

impl Kw {
    pub(crate) fn lookup(word: &[u8]) -> Kw {
        if word.is_empty() || word.len() > LONGEST {
            return Kw::ANY_OTHER;
        }
        let mut slot = hash(word);
        while TABLE[slot] != 0 {
            let i = usize::from(TABLE[slot]) - 1;
            if TEXTS[i].as_bytes().eq_ignore_ascii_case(word) {
                return WORDS[i];
            }
            slot = (slot + 1) % SLOTS;
        }
        Kw::ANY_OTHER
    }

    pub(crate) fn is_reserved(self) -> bool {
        (self as usize) < RESERVED
    }

    pub(crate) fn is_function(self) -> bool {
        let i = self as usize;
        (RESERVED..RESERVED + FUNCTIONS).contains(&i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_in_any_case() {
        for (text, kw) in TEXTS.iter().zip(WORDS) {
            assert_eq!(Kw::lookup(text.as_bytes()), *kw);
            assert_eq!(Kw::lookup(text.to_lowercase().as_bytes()), *kw);
            assert!(text.len() <= LONGEST);
        }
        assert_eq!(Kw::lookup(b"sbtest1"), Kw::ANY_OTHER);
        assert!(Kw::SELECT.is_reserved() && !Kw::COUNT.is_reserved() && Kw::COUNT.is_function());
    }

    #[test]
    fn probes_are_short() {
        let moved = TEXTS.iter().filter(|t| {
            usize::from(TABLE[hash(t.as_bytes())]) == 0
                || TEXTS[usize::from(TABLE[hash(t.as_bytes())]) - 1] != **t
        });
        assert!(moved.count() < TEXTS.len() / 6);
    }
}
