"""A mixed database for dumps: every column type, keys of all kinds, foreign keys, views, triggers, routines, an event, a sequence, two character
sets, NULLs and binary data. `SCHEMA` makes it empty; `rows(mib)` gives statements that fill it with about that many MiB on a real MariaDB
(they use its sequence tables, so they need no data from outside and always make the same rows)."""

SCHEMA = r"""
CREATE DATABASE mixed DEFAULT CHARACTER SET utf8mb4;
USE mixed;
CREATE TABLE customers (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  email VARCHAR(120) NOT NULL,
  name VARCHAR(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL DEFAULT '' COMMENT 'as it is spoken',
  joined DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  changed TIMESTAMP NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP,
  balance DECIMAL(12,2) DEFAULT 0.00,
  level ENUM('none','silver','gold') NOT NULL DEFAULT 'none',
  likes SET('tea','coffee','water') DEFAULT NULL,
  UNIQUE KEY by_email (email), KEY by_name (name, joined), KEY by_level (level)
) ENGINE=InnoDB COMMENT='who buys';
CREATE TABLE orders (
  id BIGINT NOT NULL AUTO_INCREMENT, customer INT UNSIGNED NOT NULL, placed DATETIME(3) NOT NULL, state TINYINT NOT NULL DEFAULT 0,
  total DECIMAL(14,4) DEFAULT NULL, remark TEXT, PRIMARY KEY (id), KEY by_customer (customer, placed), KEY by_state (state),
  CONSTRAINT orders_customer FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT total_is_positive CHECK (total IS NULL OR total >= 0)
) ENGINE=InnoDB AUTO_INCREMENT=1000;
CREATE TABLE items (
  order_id BIGINT NOT NULL, line SMALLINT UNSIGNED NOT NULL, article CHAR(12) CHARACTER SET latin1 NOT NULL, amount INT NOT NULL DEFAULT 1,
  price DECIMAL(10,2) NOT NULL, value DECIMAL(14,2) GENERATED ALWAYS AS (amount * price) STORED, code VARCHAR(20) AS (CONCAT(article, '-', line)) VIRTUAL,
  PRIMARY KEY (order_id, line), KEY by_article (article), KEY by_value (value),
  CONSTRAINT items_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE
) ENGINE=InnoDB;
CREATE TABLE notes (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, customer INT UNSIGNED DEFAULT NULL, subject VARCHAR(100) NOT NULL, body MEDIUMTEXT,
  KEY by_subject (subject(20)), KEY by_customer (customer),
  CONSTRAINT notes_customer FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE files (
  id BINARY(16) NOT NULL PRIMARY KEY, path VARBINARY(200) NOT NULL, size INT UNSIGNED NOT NULL, content MEDIUMBLOB, digest BINARY(20) DEFAULT NULL, UNIQUE KEY by_path (path)
) ENGINE=InnoDB;
CREATE TABLE heap_of_rows (word VARCHAR(40) DEFAULT NULL, n INT DEFAULT NULL, KEY by_n (n)) ENGINE=InnoDB;
CREATE TABLE all_types (
  id INT NOT NULL PRIMARY KEY,
  t1 TINYINT, t2 TINYINT UNSIGNED, s1 SMALLINT, s2 SMALLINT(5) UNSIGNED ZEROFILL, m1 MEDIUMINT, m2 MEDIUMINT UNSIGNED, i1 INT, i2 INT UNSIGNED, b1 BIGINT,
  b2 BIGINT UNSIGNED, bo BOOL, bi1 BIT(1), bi17 BIT(17), bi64 BIT(64), d1 DECIMAL(65,38), d2 DECIMAL(5,0) UNSIGNED, f FLOAT, db DOUBLE,
  da DATE, ti TIME, ti6 TIME(6), dt DATETIME, dt6 DATETIME(6), ts TIMESTAMP NULL DEFAULT NULL, ts6 TIMESTAMP(6) NULL DEFAULT NULL, y YEAR,
  c CHAR(10), cb CHAR(7) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, v VARCHAR(50), vl VARCHAR(50) CHARACTER SET latin1 COLLATE latin1_german1_ci, v3 VARCHAR(30) CHARACTER SET utf8mb3,
  bn BINARY(5), vb VARBINARY(30), tt TINYTEXT, tx TEXT, mt MEDIUMTEXT, lt LONGTEXT, tb TINYBLOB, bl BLOB, mb MEDIUMBLOB, lb LONGBLOB,
  en ENUM('a','b','it''s','ö'), se SET('one','two','three'), js JSON, uu UUID, i4 INET4, i6 INET6,
  ex VARCHAR(40) DEFAULT (CONCAT('made ', 1 + 1)), hidden INT INVISIBLE DEFAULT 7,
  KEY (v), KEY (dt6), KEY (d1), UNIQUE KEY (uu), KEY (tx(12))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE journal (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, at DATETIME NOT NULL, what VARCHAR(200)) ENGINE=InnoDB;
CREATE SEQUENCE numbers START WITH 5 INCREMENT BY 3 MAXVALUE 100000 CACHE 10;
CREATE VIEW gold AS SELECT id, name, balance FROM customers WHERE level = 'gold' WITH CASCADED CHECK OPTION;
CREATE SQL SECURITY INVOKER VIEW turnover AS SELECT c.id AS id, c.name AS name, COUNT(o.id) AS orders, SUM(i.value) AS value
  FROM customers c JOIN orders o ON o.customer = c.id LEFT JOIN items i ON i.order_id = o.id GROUP BY c.id, c.name;
CREATE VIEW best AS SELECT g.name, t.value FROM gold g JOIN turnover t ON t.id = g.id;
DELIMITER $$
CREATE TRIGGER customers_bi BEFORE INSERT ON customers FOR EACH ROW SET NEW.email = LOWER(NEW.email)$$
CREATE TRIGGER orders_ai AFTER INSERT ON orders FOR EACH ROW
BEGIN
  IF NEW.state > 100 THEN INSERT INTO journal (at, what) VALUES (NOW(), CONCAT('order ', NEW.id)); END IF;
END$$
CREATE TRIGGER orders_au AFTER UPDATE ON orders FOR EACH ROW INSERT INTO journal (at, what) VALUES (NOW(), CONCAT(OLD.state, ' to ', NEW.state))$$
CREATE FUNCTION full_price(amount INT, price DECIMAL(10,2)) RETURNS DECIMAL(14,2) DETERMINISTIC COMMENT 'with a comment' RETURN amount * price$$
CREATE PROCEDURE settle(IN who INT UNSIGNED, OUT sum DECIMAL(14,2))
    MODIFIES SQL DATA
    SQL SECURITY INVOKER
BEGIN
  DECLARE done INT DEFAULT 0;
  DECLARE v DECIMAL(14,2);
  DECLARE c CURSOR FOR SELECT i.value FROM items i JOIN orders o ON o.id = i.order_id WHERE o.customer = who;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1;
  SET sum = 0;
  OPEN c;
  each_item: LOOP
    FETCH c INTO v;
    IF done THEN LEAVE each_item; END IF;
    SET sum = sum + v;
  END LOOP;
  CLOSE c;
  UPDATE customers SET balance = sum WHERE id = who; -- the name of a table: `customers`
END$$
CREATE EVENT tidy ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01 00:00:00' ON COMPLETION PRESERVE DISABLE COMMENT 'by night' DO DELETE FROM journal WHERE at < NOW() - INTERVAL 30 DAY$$
DELIMITER ;
"""

TABLES = ['customers', 'orders', 'items', 'notes', 'files', 'heap_of_rows', 'all_types', 'journal']

# MariaDB's CHECKSUM TABLE of a table with a virtual column depends on how many rows it has read ahead.
SUMS = {'items': "select count(*), sum(crc32(concat_ws('|', order_id, line, article, amount, price, value, code))) from mixed.items"}

# Per row: the table, bytes of a row on disk, its share of the whole, and the query over `seq`.
WORDS = "elt(1 + seq % 7, 'Ärger', 'naïve', '日本語', 'plain', 'O''Brien', '😀 smile', 'back\\\\slash')"
FILL = [
    ('customers', 150, 0.10, "(id, email, name, joined, changed, balance, level, likes) select seq, concat('Mail', seq, '@example.org'), concat(" + WORDS +
     ", ' ', seq * 7919 % 1000003), '2020-01-01' + interval seq minute, if(seq % 3, null, '2021-05-05 05:05:05'), (seq * 31 % 100000) / 100, 1 + seq % 3, nullif(seq % 8, 0)"),
    ('orders', 130, 0.15, "(id, customer, placed, state, total, remark) select seq, 1 + seq * 7919 % {customers}, '2022-01-01' + interval seq * 1003 microsecond, seq % 5,"
     " if(seq % 11, seq % 10000 / 8, null), if(seq % 4, concat('remark of ', md5(seq), '\\n\\t\"quoted\" ', " + WORDS + "), null)"),
    ('items', 75, 0.25, "(order_id, line, article, amount, price) select 1 + seq div 4, seq % 4, concat('A', lpad(seq * 7919 % 100003, 8, '0')), 1 + seq % 9, seq % 5000 / 100"),
    ('notes', 600, 0.15, "(id, customer, subject, body) select seq, if(seq % 5, 1 + seq * 31 % {customers}, null), concat('Straße ', md5(seq)),"
     " if(seq % 9, repeat(concat(md5(seq), ' Ümläut; '), 12), null)"),
    ('files', 9000, 0.20, "(id, path, size, content, digest) select unhex(md5(seq)), concat('/srv/', sha1(seq)), seq, if(seq % 6, repeat(unhex(sha2(seq, 512)), 1 + seq * 37 % 280), null), unhex(sha1(seq))"),
    ('heap_of_rows', 60, 0.03, "(word, n) select if(seq % 10, md5(seq % 1000), null), if(seq % 13, seq * 7919 % 1000, null)"),
    ('all_types', 1100, 0.12, """select seq, seq % 256 - 128, seq % 256, seq % 65536 - 32768, seq % 65536, seq % 16777216 - 8388608, seq % 16777216, -seq * 1000 % 2147483648, seq * 1009,
      -seq * 1000000007, cast(seq as unsigned) * 10000000019, seq % 2, b'1', seq % 131072, seq * 1000003, cast(seq as decimal(65,38)) / 7, seq % 100000, seq % 4000 / 8, seq / 7e10,
      '1000-01-01' + interval seq % 3000000 day, sec_to_time(seq % 3000000 - 1500000), '-838:59:58.999999', '2000-02-29' + interval seq second, '1999-12-31 23:59:59' + interval seq microsecond,
      '2001-01-01' + interval seq minute, '2002-02-02' + interval seq microsecond, 1901 + seq % 255,
      left(md5(seq), seq % 11), 'ßüß', concat(""" + WORDS + """, seq), 'Größe', '€uro',
      left(unhex(md5(seq)), 5), unhex(md5(seq)), md5(seq), repeat(md5(seq), 3), concat('\\0\\Z\\'\\"%_\\\\', md5(seq)), if(seq % 50, null, repeat('long text ', 2000)), unhex(md5(seq)), unhex(sha2(seq, 256)),
      repeat(unhex(md5(seq)), 5), if(seq % 60, null, repeat(unhex(sha2(seq, 512)), 400)), 1 + seq % 4, seq % 8, json_object('n', seq, 'a', json_array(1, null, 'x')),
      concat(left(md5(seq), 8), '-0000-4000-8000-', right(md5(seq), 12)), concat(seq % 256, '.', seq % 255, '.1.2'), concat('2001:db8::', hex(seq % 65536)), concat('made ', seq)"""),
]


def counts(mib):
    """Rows of each table for about so many MiB."""
    return {table: max(1, int(mib * 1048576 * share / size)) for table, size, share, _ in FILL}


def rows(mib):
    """Statements that fill the database, 100,000 rows each."""
    count = counts(mib)
    count['items'] = min(count['items'], 4 * count['orders'] - 4)
    for table, _, _, query in FILL:
        for begin in range(1, count[table] + 1, 100000):
            end = min(begin + 99999, count[table])
            yield 'insert into %s %s from seq_%d_to_%d' % (table, query.replace('{customers}', str(count['customers'])), begin, end)
    # One row of nothing but NULLs and defaults, and one of limits.
    yield 'insert into all_types (id) values (-1)'
    yield ("insert into all_types (id, t1, b1, b2, d1, f, db, da, dt6, y, c, v) values (-2, -128, -9223372036854775808, 18446744073709551615, "
           "-99999999999999999999999999.99999999999999999999999999999999999999, -3.4e38, 1.7976931348623157e308, '9999-12-31', '9999-12-31 23:59:59.999999', 0, '', '')")
