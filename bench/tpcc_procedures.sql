delimiter //
create procedure new_order(p_w smallint, p_warehouses smallint, p_d tinyint, p_c int, p_lines tinyint, p_items int, p_bad tinyint,
  out v_order int, out v_last varchar(16), out v_credit char(2), out v_discount decimal(4,4), out v_total decimal(12,2))
begin
  declare v_w_tax, v_d_tax decimal(4,4);
  declare v_item, v_number, v_quantity, v_stock int;
  declare v_supply smallint;
  declare v_local tinyint default 1;
  declare v_price decimal(5,2);
  declare v_amount decimal(12,2) default 0;
  declare v_name varchar(24);
  declare v_data, v_brand varchar(50);
  declare v_dist, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10 char(24);
  declare v_missing bool default false;
  declare continue handler for not found set v_missing = true;
  declare exit handler for sqlexception begin rollback; resignal; end;
  set v_total = 0;
  start transaction;
  select c_discount, c_last, c_credit, w_tax into v_discount, v_last, v_credit, v_w_tax
    from customer, warehouse where w_id = p_w and c_w_id = w_id and c_d_id = p_d and c_id = p_c;
  select d_next_o_id, d_tax into v_order, v_d_tax from district where d_w_id = p_w and d_id = p_d for update;
  update district set d_next_o_id = d_next_o_id + 1 where d_w_id = p_w and d_id = p_d;
  insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    values (p_w, p_d, v_order, p_c, now(), null, p_lines, 1);
  insert into new_orders (no_w_id, no_d_id, no_o_id) values (p_w, p_d, v_order);
  set v_number = 1;
  the_lines: while v_number <= p_lines do
    if p_bad = 1 and v_number = p_lines then
      set v_item = p_items + 1;
    else
      set v_item = ((floor(rand() * 8192) | floor(1 + rand() * p_items)) + 37) % p_items + 1;
    end if;
    if p_warehouses > 1 and rand() < 0.01 then
      set v_supply = 1 + (p_w + floor(rand() * (p_warehouses - 1))) % p_warehouses;
      set v_local = 0;
    else
      set v_supply = p_w;
    end if;
    set v_quantity = floor(1 + rand() * 10);
    select i_price, i_name, i_data into v_price, v_name, v_data from item where i_id = v_item;
    if v_missing then
      leave the_lines;
    end if;
    select s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10
      into v_stock, v_brand, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10 from stock where s_i_id = v_item and s_w_id = v_supply for update;
    if v_stock > v_quantity + 9 then
      set v_stock = v_stock - v_quantity;
    else
      set v_stock = v_stock - v_quantity + 91;
    end if;
    update stock set s_quantity = v_stock, s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
      s_remote_cnt = s_remote_cnt + if(v_supply = p_w, 0, 1) where s_i_id = v_item and s_w_id = v_supply;
    set v_amount = v_quantity * v_price;
    set v_total = v_total + v_amount * (1 + v_w_tax + v_d_tax) * (1 - v_discount);
    case p_d when 1 then set v_dist = d1; when 2 then set v_dist = d2; when 3 then set v_dist = d3; when 4 then set v_dist = d4;
      when 5 then set v_dist = d5; when 6 then set v_dist = d6; when 7 then set v_dist = d7; when 8 then set v_dist = d8;
      when 9 then set v_dist = d9; else set v_dist = d10; end case;
    insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
      values (p_w, p_d, v_order, v_number, v_item, v_supply, null, v_quantity, v_amount, v_dist);
    set v_number = v_number + 1;
  end while;
  if v_missing then
    rollback;
    set v_total = null;
  else
    if v_local = 0 then
      update orders set o_all_local = 0 where o_w_id = p_w and o_d_id = p_d and o_id = v_order;
    end if;
    commit;
  end if;
end //

create function last_name(p_number int) returns varchar(16) deterministic
  return concat(elt(p_number div 100 + 1, 'BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'),
    elt(p_number div 10 % 10 + 1, 'BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'),
    elt(p_number % 10 + 1, 'BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING')) //

create procedure payment(p_w smallint, p_d tinyint, p_c_w smallint, p_c_d tinyint, p_by_name tinyint, p_c int, p_name int, p_amount decimal(6,2),
  out v_customer int, out v_first varchar(16), out v_last varchar(16), out v_credit char(2), out v_balance decimal(12,2))
begin
  declare v_count, v_at int;
  declare v_w_name, v_d_name varchar(10);
  declare v_data varchar(500);
  declare v_done bool default false;
  declare by_name cursor for select c_id, c_first from customer where c_w_id = p_c_w and c_d_id = p_c_d and c_last = v_last order by c_first;
  declare continue handler for not found set v_done = true;
  declare exit handler for sqlexception begin rollback; resignal; end;
  start transaction;
  update warehouse set w_ytd = w_ytd + p_amount where w_id = p_w;
  select w_name into v_w_name from warehouse where w_id = p_w;
  update district set d_ytd = d_ytd + p_amount where d_w_id = p_w and d_id = p_d;
  select d_name into v_d_name from district where d_w_id = p_w and d_id = p_d;
  set v_customer = p_c;
  if p_by_name then
    set v_last = last_name(p_name);
    select count(c_id) into v_count from customer where c_w_id = p_c_w and c_d_id = p_c_d and c_last = v_last;
    set v_at = 0;
    open by_name;
    while v_at < (v_count + 1) div 2 do
      fetch by_name into v_customer, v_first;
      set v_at = v_at + 1;
    end while;
    close by_name;
  end if;
  select c_first, c_last, c_credit, c_balance into v_first, v_last, v_credit, v_balance from customer
    where c_w_id = p_c_w and c_d_id = p_c_d and c_id = v_customer for update;
  if v_credit = 'BC' then
    select c_data into v_data from customer where c_w_id = p_c_w and c_d_id = p_c_d and c_id = v_customer;
    set v_data = left(concat(v_customer, ' ', p_c_d, ' ', p_c_w, ' ', p_d, ' ', p_w, ' ', p_amount, ' | ', v_data), 500);
    update customer set c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1, c_data = v_data
      where c_w_id = p_c_w and c_d_id = p_c_d and c_id = v_customer;
  else
    update customer set c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1
      where c_w_id = p_c_w and c_d_id = p_c_d and c_id = v_customer;
  end if;
  insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (v_customer, p_c_d, p_c_w, p_d, p_w, now(), p_amount, concat(v_w_name, '    ', v_d_name));
  commit;
  set v_balance = v_balance - p_amount;
end //

create procedure order_status(p_w smallint, p_d tinyint, p_by_name tinyint, p_c int, p_name int,
  out v_customer int, out v_last varchar(16), out v_balance decimal(12,2), out v_order int, out v_lines int, out v_total decimal(12,2))
begin
  declare v_count, v_at, v_item int;
  declare v_first varchar(16);
  declare v_amount decimal(6,2);
  declare v_supply, v_quantity smallint;
  declare v_entry, v_delivery datetime;
  declare v_carrier tinyint;
  declare v_done bool default false;
  declare by_name cursor for select c_id, c_first, c_balance from customer where c_w_id = p_w and c_d_id = p_d and c_last = v_last order by c_first;
  declare the_lines cursor for select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line
    where ol_w_id = p_w and ol_d_id = p_d and ol_o_id = v_order;
  declare continue handler for not found set v_done = true;
  start transaction;
  if p_by_name then
    set v_last = last_name(p_name);
    select count(c_id) into v_count from customer where c_w_id = p_w and c_d_id = p_d and c_last = v_last;
    set v_at = 0;
    open by_name;
    while v_at < (v_count + 1) div 2 do
      fetch by_name into v_customer, v_first, v_balance;
      set v_at = v_at + 1;
    end while;
    close by_name;
  else
    set v_customer = p_c;
    select c_first, c_last, c_balance into v_first, v_last, v_balance from customer where c_w_id = p_w and c_d_id = p_d and c_id = p_c;
  end if;
  set v_done = false;
  select o_id, o_carrier_id, o_entry_d into v_order, v_carrier, v_entry from orders
    where o_w_id = p_w and o_d_id = p_d and o_c_id = v_customer order by o_id desc limit 1;
  set v_lines = 0, v_total = 0;
  if not v_done then
    open the_lines;
    read_lines: loop
      fetch the_lines into v_item, v_supply, v_quantity, v_amount, v_delivery;
      if v_done then
        leave read_lines;
      end if;
      set v_lines = v_lines + 1, v_total = v_total + v_amount;
    end loop;
    close the_lines;
  end if;
  commit;
end //

create procedure delivery(p_w smallint, p_carrier tinyint, out v_delivered int)
begin
  declare v_d tinyint default 1;
  declare v_order, v_customer int;
  declare v_sum decimal(12,2);
  declare v_missing bool default false;
  declare continue handler for not found set v_missing = true;
  declare exit handler for sqlexception begin rollback; resignal; end;
  set v_delivered = 0;
  start transaction;
  while v_d <= 10 do
    set v_missing = false;
    select no_o_id into v_order from new_orders where no_w_id = p_w and no_d_id = v_d order by no_o_id limit 1 for update;
    if not v_missing then
      delete from new_orders where no_w_id = p_w and no_d_id = v_d and no_o_id = v_order;
      select o_c_id into v_customer from orders where o_w_id = p_w and o_d_id = v_d and o_id = v_order;
      update orders set o_carrier_id = p_carrier where o_w_id = p_w and o_d_id = v_d and o_id = v_order;
      update order_line set ol_delivery_d = now() where ol_w_id = p_w and ol_d_id = v_d and ol_o_id = v_order;
      select sum(ol_amount) into v_sum from order_line where ol_w_id = p_w and ol_d_id = v_d and ol_o_id = v_order;
      update customer set c_balance = c_balance + v_sum, c_delivery_cnt = c_delivery_cnt + 1
        where c_w_id = p_w and c_d_id = v_d and c_id = v_customer;
      set v_delivered = v_delivered + 1;
    end if;
    set v_d = v_d + 1;
  end while;
  commit;
end //

create procedure stock_level(p_w smallint, p_d tinyint, p_threshold smallint, out v_low int)
begin
  declare v_next int;
  start transaction;
  select d_next_o_id into v_next from district where d_w_id = p_w and d_id = p_d;
  select count(distinct s_i_id) into v_low from order_line, stock where ol_w_id = p_w and ol_d_id = p_d and ol_o_id < v_next
    and ol_o_id >= v_next - 20 and s_w_id = p_w and s_i_id = ol_i_id and s_quantity < p_threshold;
  commit;
end //
delimiter ;
