-- One transaction of the TPC-C-like mix a sysbench event: a CALL of one of the procedures of tpcc_procedures.sql.
-- 45 new orders, 43 payments, 4 each of order status, delivery and stock level of a hundred.

sysbench.cmdline.options = {
   warehouses = {"Warehouses", 4},
   customers = {"Customers a district", 3000},
   items = {"Items", 100000},
}

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   -- Each thread is a terminal of one warehouse.
   home = sysbench.tid % sysbench.opt.warehouses + 1
end

function thread_done()
   con:disconnect()
end

local function uniform(low, high)
   return sysbench.rand.uniform(low, high)
end

-- The specification's skewed choice: hot numbers by an OR of two uniform ones.
local function skewed(a, low, high)
   return bit.bor(uniform(0, a), uniform(low, high)) % (high - low + 1) + low
end

-- Calls a procedure and asks for what it gave.
local function run(name, arguments, ...)
   local out = {...}
   for i, variable in ipairs(out) do out[i] = "@" .. variable end
   local names = table.concat(out, ", ")
   con:query("call " .. name .. "(" .. arguments .. ", " .. names .. ")")
   con:query("select " .. names)
end

local function new_order(w, d)
   -- One order of a hundred names an item that does not exist and is rolled back.
   run("new_order", string.format("%d, %d, %d, %d, %d, %d, %d", w, sysbench.opt.warehouses, d,
      skewed(1023, 1, sysbench.opt.customers), uniform(5, 15), sysbench.opt.items, uniform(1, 100) == 1 and 1 or 0),
      "the_order", "last", "credit", "discount", "total")
end

local function payment(w, d)
   local cw, cd = w, d
   if sysbench.opt.warehouses > 1 and uniform(1, 100) > 85 then
      repeat cw = uniform(1, sysbench.opt.warehouses) until cw ~= w
      cd = uniform(1, 10)
   end
   local by_name = uniform(1, 100) <= 60 and 1 or 0
   run("payment", string.format("%d, %d, %d, %d, %d, %d, %d, %.2f", w, d, cw, cd, by_name,
      skewed(1023, 1, sysbench.opt.customers), skewed(255, 0, math.min(999, sysbench.opt.customers - 1)),
      uniform(100, 500000) / 100), "customer", "first", "last", "credit", "balance")
end

local function order_status(w, d)
   run("order_status", string.format("%d, %d, %d, %d, %d", w, d, uniform(1, 100) <= 60 and 1 or 0,
      skewed(1023, 1, sysbench.opt.customers), skewed(255, 0, math.min(999, sysbench.opt.customers - 1))),
      "customer", "last", "balance", "the_order", "lines", "total")
end

function event()
   local w, d, dice = home, uniform(1, 10), uniform(1, 100)
   if dice <= 45 then
      new_order(w, d)
   elseif dice <= 88 then
      payment(w, d)
   elseif dice <= 92 then
      order_status(w, d)
   elseif dice <= 96 then
      run("delivery", string.format("%d, %d", w, uniform(1, 10)), "delivered")
   else
      run("stock_level", string.format("%d, %d, %d", w, d, uniform(10, 20)), "low")
   end
end
