<?php
// Smoke tests of mysqli and PDO: php clients_php.php PORT. Prints `name passed|failed reason` a line.
$port = (int) $argv[1];
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
function same($a, $b) { if ($a !== $b) throw new Exception(json_encode($a) . ' != ' . json_encode($b)); }
function i($port) { $c = new mysqli('127.0.0.1', 'root', '', '', $port); $c->set_charset('utf8mb4'); $c->query('create database if not exists test_php'); $c->select_db('test_php'); return $c; }
function p($port, $emulate) {
    return new PDO("mysql:host=127.0.0.1;port=$port;dbname=test_php;charset=utf8mb4", 'root', '', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => $emulate]);
}
$tests = [
    'mysqli select' => function () use ($port) { same(i($port)->query("select 1 a, 'ä😀' b, null c")->fetch_assoc(), ['a' => '1', 'b' => 'ä😀', 'c' => null]); },
    'mysqli prepared' => function () use ($port) {
        $c = i($port);
        $c->query('create or replace table t (a int auto_increment primary key, b varchar(20), c double, d blob)');
        $s = $c->prepare('insert into t (b, c, d) values (?, ?, ?)');
        $b = 'x'; $x = 1.5; $d = "\0\xff"; $s->bind_param('sds', $b, $x, $d); $s->execute();
        same([$s->insert_id, $s->affected_rows], [1, 1]);
        $s = $c->prepare('select a, b, c, d from t where a = ?'); $id = 1; $s->bind_param('i', $id); $s->execute();
        same($s->get_result()->fetch_row(), [1, 'x', 1.5, "\0\xff"]);
    },
    'mysqli multi query' => function () use ($port) {
        $c = i($port); $c->multi_query('select 1; select 2'); $out = [];
        do { $out[] = $c->store_result()->fetch_row()[0]; } while ($c->more_results() && $c->next_result());
        same($out, ['1', '2']);
    },
    'mysqli transaction' => function () use ($port) {
        $c = i($port); $c->query('create or replace table u (a int primary key)');
        $c->begin_transaction(); $c->query('insert into u values (1)'); $c->rollback();
        $c->begin_transaction(); $c->query('insert into u values (2)'); $c->commit();
        same($c->query('select group_concat(a) from u')->fetch_row()[0], '2');
    },
    'mysqli errors' => function () use ($port) { try { i($port)->query('select nothing_there'); } catch (mysqli_sql_exception $e) { return same([$e->getCode(), $e->getSqlState()], [1054, '42S22']); } throw new Exception('no error'); },
    'mysqli warnings' => function () use ($port) { $c = i($port); $c->query("select 1 + '1x'"); same($c->warning_count, 1); same($c->get_warnings()->errno, 1292); },
    'mysqli procedure' => function () use ($port) {
        $c = i($port); $c->query('drop procedure if exists pr'); $c->query('create procedure pr(in n int) begin select n + 1; select n + 2; end');
        $c->multi_query('call pr(1)'); $out = [];
        do { if ($r = $c->store_result()) $out[] = $r->fetch_row()[0]; } while ($c->more_results() && $c->next_result());
        same($out, ['2', '3']);
    },
    'mysqli cursor' => function () use ($port) {
        $c = i($port); $s = $c->prepare('with recursive r as (select 1 n union all select n + 1 from r where n < 100) select n from r');
        $s->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY); $s->execute(); $s->bind_result($n); $sum = 0;
        while ($s->fetch()) $sum += $n;
        same($sum, 5050);
    },
    'mysqli change user' => function () use ($port) { $c = i($port); $c->query('set @x = 1'); $c->change_user('root', '', 'test_php'); same($c->query('select @x')->fetch_row()[0], null); },
    'mysqli latin1' => function () use ($port) { $c = i($port); $c->set_charset('latin1'); same($c->query("select hex('\xe9'), '\xe9'")->fetch_row(), ['E9', "\xe9"]); },
];
foreach ([true, false] as $emulate) {
    $kind = $emulate ? 'pdo emulated' : 'pdo native';
    $tests["$kind select"] = function () use ($port, $emulate) {
        $s = p($port, $emulate)->prepare('select :a a, :b b'); $s->execute(['a' => 'ä', 'b' => null]); same($s->fetch(PDO::FETCH_ASSOC), ['a' => 'ä', 'b' => null]);
    };
    $tests["$kind transaction"] = function () use ($port, $emulate) {
        $c = p($port, $emulate); $c->exec('create or replace table v (a int primary key)');
        $c->beginTransaction(); $c->exec('insert into v values (1)'); $c->rollBack();
        $c->beginTransaction(); $c->exec('insert into v values (2)'); $c->commit();
        same((string) $c->query('select group_concat(a) from v')->fetchColumn(), '2');
    };
    $tests["$kind insert id"] = function () use ($port, $emulate) {
        $c = p($port, $emulate); $c->exec('create or replace table w (a int auto_increment primary key, b int)');
        $c->prepare('insert into w (b) values (?)')->execute([5]); same($c->lastInsertId(), '1');
    };
    $tests["$kind errors"] = function () use ($port, $emulate) { try { p($port, $emulate)->query('select nothing_there'); } catch (PDOException $e) { return same($e->getCode(), '42S22'); } throw new Exception('no error'); };
    $tests["$kind row sets"] = function () use ($port, $emulate) {
        $c = p($port, $emulate); $c->exec('drop procedure if exists ps'); $c->exec('create procedure ps() begin select 1; select 2; end');
        $s = $c->query('call ps()'); $out = []; do { if ($s->columnCount() && ($v = $s->fetchColumn()) !== false) $out[] = (int) $v; } while ($s->nextRowset()); same($out, [1, 2]);
    };
}
foreach ($tests as $name => $run) {
    try { $run(); echo "$name\tpassed\n"; } catch (Throwable $e) { echo "$name\tfailed\t" . substr($e->getMessage(), 0, 200) . "\n"; }
}
