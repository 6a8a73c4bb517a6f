select 1
select distinct a, b as c, t.*, db.t.* from t, u as x where a = 1 and b <> 'x' group by a desc, b with rollup having count(*) > 1 order by a, b desc limit 5, 10
select sql_no_cache straight_join high_priority a from t use index (i) force index for join (i, j) ignore key for order by (k) where a in (1, 2) for update skip locked
select a from t left join (u, v) on t.a = u.a and t.b = v.b right outer join w using (a, b) natural left join x lock in share mode nowait
select * from t straight_join u on t.a = u.a cross join v inner join w on 1
(select 1) union all (select 2 order by 1 limit 1) except select 3 intersect select 4 order by 1 limit 2
with recursive c (n) as (select 1 union all select n + 1 from c where n < 10), d as (select 2) select * from c, d
values (1, 'a'), (2, null)
select a, row_number() over (partition by b order by c desc rows between unbounded preceding and current row) from t window w as (order by a)
select sum(a) over w, lag(a, 2) over (w order by b), percentile_cont(0.5) within group (order by a) over (partition by b) from t window w as (partition by c)
select group_concat(distinct a order by b desc separator '|' limit 3), count(distinct a, b), json_arrayagg(a order by b), json_objectagg(a, b) from t
select case a when 1 then 'x' else 'y' end, case when a then b end, if(a, b, c), nullif(a, b), coalesce(a, b)
select cast(a as char(10) charset utf8mb4), cast(a as decimal(10, 2)), convert(a, unsigned), convert(a using latin1), cast(a as inet6), binary a
select a like '%x' escape '!', a not like b, a regexp 'x', a not rlike 'y', a sounds like b, a between 1 and 2, a not in (select 1), a is not unknown
select date '2020-01-01', time'10:00', timestamp '2020-01-01 00:00:00', {d '2020-01-01'}, {fn now()}, x'4142', 0x4142, b'101', 0b11, _latin1'x' collate latin1_bin, N'y', 1e10, .5, 1., \N
select now() + interval 1 day, interval 2 hour + now(), date_add(a, interval '1:1' minute_second), adddate(a, 3), extract(year_month from a), timestampadd(week, 1, a), timestampdiff(day, a, b)
select trim(both 'x' from a), trim(a), substring(a from 2 for 3), position('a' in b), char(65, 66 using utf8mb4), weight_string(a as char(3) level 1), get_format(date, 'EUR')
select match (a, b) against ('+x' in boolean mode), match a against ('y' with query expansion)
select @a, @`b c`, @a := @b + 1, @@version, @@global.max_connections, @@session.sql_mode, @@hot_cache.key_buffer_size
select next value for s, nextval(s), previous value for db.s, lastval(s), setval(s, 5, true, 1)
select * from t partition (p0, p1) for system_time as of timestamp '2020-01-01' as x
select * from json_table('[]', '$[*]' columns (id for ordinality, a int path '$.a' default '1' on empty error on error, nested path '$.b[*]' columns (b int exists path '$'))) as jt
select a into @x, @y from t
select * from t into outfile '/tmp/x' character set utf8 fields terminated by ',' optionally enclosed by '"' escaped by '\\' lines starting by '>' terminated by '\n'
select a from t where (a, b) = (1, 2) and (a, b) in ((1, 2), (3, 4)) and a > all (select 1) and exists (select 1) and not a <=> null xor b
select column_create('a', 1 as int, 'b', 'x' as char charset latin1), column_get(a, 'b' as char), column_add(a, 'c', 2)
select a from t procedure analyse(10, 20)
select a from t offset 5 rows fetch first 3 rows with ties
insert into t values (1, 'a', default), (2, null, default(b))
insert ignore into db.t (a, t.b) values (?, ?) on duplicate key update a = values(a) + 1, b = value(b) returning a, b as c
insert low_priority t set a = 1, b = default
insert into t (a) select b from u where c = 1 on duplicate key update a = 2
insert into t () values ()
update t set a = 1, b = b + 1 where c = 2 order by d desc limit 3
update low_priority ignore t join u on t.a = u.a set t.b = u.b where u.c
update t for portion of p from '2000-01-01' to '2001-01-01' set a = 1
delete from t where a = 1 order by b limit 2 returning *
delete quick ignore t, db.u.* from t join u using (a) where t.b
delete from t, u using t inner join u where t.a = u.a
delete history from t before system_time '2020-01-01'
load data local infile 'x' replace into table t character set utf8 fields terminated by '\t' lines terminated by '\n' ignore 1 lines (a, @b) set c = @b
load xml infile 'x' into table t rows identified by '<row>'
handler t open as h
handler h read i >= (1, 2) where a limit 3
handler h read first
call db.p(1, @a)
do sleep(1), release_lock('x')
create table t (a int unsigned not null auto_increment primary key comment 'x', b varchar(10) character set utf8mb4 collate utf8mb4_bin default 'x', c decimal(10, 2) zerofill, d timestamp(6) default current_timestamp(6) on update current_timestamp(6), key (b(5) desc), unique u (c, d) using btree comment 'y') engine = InnoDB default charset = utf8mb4 collate = utf8mb4_general_ci auto_increment = 5 row_format = dynamic comment = 'z'
create or replace temporary table if not exists db.t (a enum('x', 'y'), b set('p'), c bit(3), d json, e year, f date, g time(3), h datetime, i double precision, j float(5, 2), k bool, l char byte, m national varchar(5), n longtext, o mediumblob, p text(100), q varbinary(5) compressed, r inet4, s uuid, t vector(3), u geometry, v point ref_system_id = 4326, w serial)
create table t (a int, b int generated always as (a + 1) stored, c int as (a * 2) virtual unique, d int check (d > 0), e int invisible, constraint fk foreign key f (a) references u (b) on delete cascade on update set null, constraint c check (a > b), fulltext index ft (b) with parser p, spatial key (a), period for p (a, b), unique (a, p without overlaps))
create table t (a int) partition by range (a) subpartition by hash (a) subpartitions 2 (partition p0 values less than (10) engine = innodb comment 'x', partition p1 values less than maxvalue)
create table t (a int) partition by list columns (a, b) (partition p values in ((1, 'x'), (2, 'y')), partition d default)
create table t (a int, s timestamp(6) generated always as row start, e timestamp(6) generated always as row end, period for system_time (s, e)) with system versioning partition by system_time interval 1 day auto
create table t like u
create table t (a int) ignore as select 1 as a
create table t select * from u
alter table t add column a int first, add (b int, c int), drop column d, modify e bigint after f, change g h int, add index i (a), add primary key (a), drop index j, drop foreign key k, rename to u, rename column l to m, rename index n to o, alter p set default 5, alter q drop default, convert to character set utf8mb4, engine = innodb, comment = 'x', algorithm = inplace, lock = none, force, disable keys
alter online ignore table if exists t wait 5 add column if not exists a int, drop column if exists b, order by c desc
alter table t add partition (partition p3 values less than (30))
alter table t drop partition p0, p1
alter table t reorganize partition p0 into (partition p1 values less than (5))
alter table t exchange partition p with table u without validation
alter table t truncate partition all
alter table t partition by hash (a) partitions 4
alter table t remove partitioning
alter table t discard tablespace
drop table if exists a, db.b cascade
drop temporary tables t
truncate table t nowait
rename table a to b, c to d
create unique index if not exists i using btree on t (a(10), b desc) comment 'x' algorithm = copy
drop index i on t
create database if not exists d default character set = utf8mb4 collate utf8mb4_bin comment 'x'
alter database d character set latin1
drop schema if exists d
create or replace algorithm = merge definer = root@localhost sql security invoker view v (a, b) as select 1, 2 with local check option
alter view v as select 1
drop view if exists v, w
create sequence s start with 1 increment by 2 minvalue -5 maxvalue 100 cache 10 cycle engine = innodb
alter sequence s restart 5
create server s foreign data wrapper mysql options (host 'x', port 3306)
set a = 1, @b = 2, global c = on, @@session.d = default, session e = all, names utf8mb4 collate utf8mb4_bin
set transaction isolation level repeatable read, read only
set global transaction read write
set password for u@h = password('x')
set role r
set default role r for u
set statement max_statement_time = 1 for select 1
show full columns from t from d like 'a%'
show index from t where key_name = 'x'
show global status like 'x'
show create table d.t
show engine innodb status
show grants for u@h
show count(*) warnings
show warnings limit 1, 2
show binlog events in 'x' from 4 limit 5
show all slaves status
show procedure status where db = 'x'
explain extended select 1
explain format = json update t set a = 1
analyze format = json select 1
describe t 'a%'
use d
start transaction with consistent snapshot, read only
commit and no chain release
rollback to savepoint s
savepoint s
release savepoint s
lock tables t as a read local, u write
unlock tables
prepare s from 'select ?'
execute s using @a, 5
execute immediate concat('select ', 1) using @b
deallocate prepare s
kill soft query id 5
signal sqlstate value '45000' set message_text = 'x', mysql_errno = 5
get diagnostics condition 1 @a = message_text, @b = returned_sqlstate
check table t, u extended for upgrade
checksum table t quick
analyze local table t persistent for columns (a) indexes all
optimize table t
repair table t quick use_frm
flush tables t, u with read lock
flush local hosts, privileges, binary logs
reset master to 5
cache index t key (i) in hot
install plugin p soname 'x'
backup stage block_commit
xa start 'a', 'b', 5 join
xa commit 'a' one phase
xa recover format = 'sql'
binlog 'AAAA'
purge binary logs before '2020-01-01'
change master 'c' to master_host = 'h', master_port = 3306, master_use_gtid = slave_pos, ignore_server_ids = (1, 2)
start slave sql_thread until master_log_file = 'f', master_log_pos = 4
stop all slaves
create or replace user u@'%' identified by 'x'
create user u identified via ed25519 using password('x') or unix_socket require ssl with max_user_connections 5 account lock password expire interval 5 day
alter user current_user() identified by 'x'
drop user if exists u, v@h
create role r with admin current_user
grant select (a, b), insert, grant option on d.* to u@h with grant option
grant create routine, replication slave on *.* to u require subject 'x' and issuer 'y'
grant r to u with admin option
revoke all privileges, grant option from u
revoke execute on procedure p from u
create definer = u@h procedure if not exists p (in a int, out b varchar(5), inout c decimal) comment 'x' deterministic reads sql data sql security invoker begin declare i, j int default 0; declare c cursor for select 1; declare exit handler for sqlexception, not found, 1062, sqlstate '23000' set i = 1; l: loop if i > 3 then leave l; elseif i = 2 then iterate l; else set i = i + 1; end if; end loop l; open c; fetch c into i; close c; end
create function f(a int) returns int return a + 1
create trigger t before insert on u for each row follows x set new.a = new.a + 1
create event e on schedule every 1 day starts now() ends '2030-01-01' on completion preserve disable comment 'x' do delete from t
begin not atomic for i in 1 .. 3 do select i; end for; while 1 do set @a = 1; end while; repeat select 1; until 1 end repeat; case 1 when 1 then select 1; else select 2; end case; end
/*!50000 select */ /*M!100100 1 */ -- comment
