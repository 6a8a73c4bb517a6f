//! Window functions over the rows of a block.
//!
//! All rows are gathered: the columns that are used later, the keys of each window, the arguments of each function. Then each
//! window sorts the rows (`sort`) into pages (`paged`), of which memory holds what it has room for, and goes through its
//! partitions; a function gives each row a value from the partition, the row's place and its frame. At the end the rows go on in the order of the last window. Windows whose keys begin those of another
//! one share its order, so that the rows are sorted as rarely as MariaDB sorts them and come out in the same order.
//!
//! Frames that start with the partition grow row by row; the sums and counts of exact numbers also shrink row by row. Every
//! other moving frame is computed anew for each row.

use std::ops::Range;

use sql_plan::error::{SqlError, SqlResult};
use sql_plan::expr::{ArithOp, ColumnRef, Slot};
use sql_plan::meta::FieldType;
use sql_plan::ops;
use sql_plan::plan::{
    Aggregate, AggregateKind, Bound, Frame, SelectPlan, SortKey, Window, WindowFunction, WindowKind,
    WindowPlan,
};
use types::Value;

use crate::context::Work;
use crate::exec::{Exec, Flow};
use crate::group::Accumulator;
use crate::join::RowFn;
use crate::paged::PagedRows;
use crate::select::{Limit, compare_sorted};
use crate::sort::Sorter;

/// Where a row of values has what: columns, then the keys of each window (partition, then order), the arguments of each function,
/// the results.
struct Shape {
    keys: Vec<Range<usize>>,
    args: Vec<Range<usize>>,
    results: usize,
}

impl Shape {
    fn new(windows: &WindowPlan) -> Self {
        let mut end = windows.carried.len();
        let mut next = |width: usize| {
            let start = end;
            end += width;
            start..end
        };
        let keys = windows.windows.iter().map(|w| next(w.partition.len() + w.order.len())).collect();
        let args = windows.functions.iter().map(|f| next(f.args.len())).collect();
        Self { keys, args, results: end }
    }
}

/// The rows of one partition, in order: `rows` from `start` on.
struct Partition<'p> {
    shape: &'p Shape,
    rows: &'p mut PagedRows,
    start: usize,
    len: usize,
    /// The rows that sort like the current one: the first one and the end.
    peers: Range<usize>,
}

impl Partition<'_> {
    /// The arguments of a function in row `i`.
    fn args(&mut self, f: usize, i: usize) -> SqlResult<&[Value]> {
        let row = self.rows.get(self.start + i)?;
        Ok(&row[self.shape.args[f].clone()])
    }

    fn keys(&mut self, window: usize, i: usize) -> SqlResult<&[Value]> {
        let row = self.rows.get(self.start + i)?;
        Ok(&row[self.shape.keys[window].clone()])
    }

    fn set(&mut self, f: usize, i: usize, value: Value) -> SqlResult<()> {
        let at = self.shape.results + f;
        self.rows.get_mut(self.start + i)?[at] = value;
        Ok(())
    }
}

/// The bounds of a frame with their distances evaluated.
enum Edge {
    First,
    Current,
    /// Rows, or the difference of values under RANGE; negative = preceding.
    Rows(i64),
    Value {
        distance: Value,
        preceding: bool,
    },
    Last,
}

impl Exec<'_, '_> {
    pub(crate) fn windowed(
        &mut self,
        plan: &SelectPlan,
        windows: &WindowPlan,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        let shape = Shape::new(windows);
        let sorts = sorts(&windows.windows);
        let first = sorts.first().map(|(at, _)| sort_keys(&windows.windows[*at])).unwrap_or_default();
        let mut sorter = Sorter::new(&first, Limit::NONE, self.sort_space());
        let at = sorts.first().map_or(0, |(at, _)| *at);
        self.rows_before_windows(plan, &mut |exec| {
            let values = exec.window_row(windows)?;
            sorter.add(values[shape.keys[at].clone()].to_vec(), values, exec.cx.values)?;
            Ok(Flow::Continue)
        })?;
        let mut rows = self.in_order(sorter)?;
        for (n, (at, shared)) in sorts.iter().enumerate() {
            if n > 0 {
                rows = self.sort_again(&windows.windows[*at], &shape.keys[*at], rows)?;
            }
            for window in shared {
                self.compute(windows, *window, &shape, &mut rows)?;
            }
        }
        if rows.on_disk() {
            self.cx.session.count(Work::TemporaryDiskTables, 1);
            self.cx.session.count(Work::TemporaryFiles, 1);
        }
        self.emit_windowed(windows, &shape, rows, row)
    }

    fn emit_windowed(
        &mut self,
        windows: &WindowPlan,
        shape: &Shape,
        rows: PagedRows,
        row: &mut RowFn<'_>,
    ) -> SqlResult<Flow> {
        let slots = by_slot(&windows.carried);
        let mut rows = rows.into_rows();
        while let Some(mut found) = rows.next()? {
            for (slot, width, columns) in &slots {
                let mut values = vec![Value::Null; *width];
                for (from, column) in columns {
                    values[*column] = std::mem::take(&mut found[*from]);
                }
                self.set_values(*slot, values);
            }
            self.set_values(windows.slot, found.split_off(shape.results));
            if row(self)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Columns, keys, arguments, and room for the results.
    fn window_row(&mut self, windows: &WindowPlan) -> SqlResult<Vec<Value>> {
        use sql_plan::eval::Env;
        let mut values = Vec::new();
        for column in &windows.carried {
            values.push(self.column(*column)?);
        }
        for window in &windows.windows {
            for key in window.partition.iter().chain(&window.order) {
                values.push(key.expr.eval(self)?);
            }
        }
        for function in &windows.functions {
            for arg in &function.args {
                values.push(arg.expr.eval(self)?);
            }
        }
        values.resize(values.len() + windows.functions.len(), Value::Null);
        Ok(values)
    }

    fn in_order(&mut self, sorter: Sorter<'_>) -> SqlResult<PagedRows> {
        let mut rows = PagedRows::new(self.row_space(), self.cx.values.interrupted.clone());
        let mut sorted = sorter.finish(self.cx.values)?;
        while let Some(row) = sorted.next(self.cx.values)? {
            rows.push(row)?;
        }
        Ok(rows)
    }

    fn sort_again(&mut self, window: &Window, keys: &Range<usize>, rows: PagedRows) -> SqlResult<PagedRows> {
        if keys.is_empty() {
            return Ok(rows);
        }
        let order = sort_keys(window);
        let mut sorter = Sorter::new(&order, Limit::NONE, self.sort_space());
        let mut rows = rows.into_rows();
        while let Some(row) = rows.next()? {
            self.count_row()?;
            sorter.add(row[keys.clone()].to_vec(), row, self.cx.values)?;
        }
        self.in_order(sorter)
    }

    /// All functions of a window, over rows that are in its order.
    fn compute(
        &mut self,
        windows: &WindowPlan,
        at: usize,
        shape: &Shape,
        rows: &mut PagedRows,
    ) -> SqlResult<()> {
        let window = &windows.windows[at];
        let split = window.partition.len();
        let mut start = 0;
        while start < rows.len() {
            let key = rows.get(start)?[shape.keys[at].clone()][..split].to_vec();
            let mut end = start + 1;
            while end < rows.len()
                && self.same(&window.partition, &key, &rows.get(end)?[shape.keys[at].clone()])
            {
                end += 1;
                self.count_row()?;
            }
            let mut partition = Partition { shape, rows, start, len: end - start, peers: 0..0 };
            for (f, function) in windows.functions.iter().enumerate() {
                if function.window == at {
                    partition.peers = 0..0;
                    self.function(function, f, window, &mut partition)?;
                }
            }
            start = end;
        }
        Ok(())
    }

    fn same(&mut self, keys: &[SortKey], a: &[Value], b: &[Value]) -> bool {
        let cx = &mut *self.cx.values;
        keys.iter().zip(a.iter().zip(b)).all(|(key, (a, b))| compare_sorted(key.compare, a, b, cx).is_eq())
    }

    /// Sets the peers of row `i`; rows are asked for in ascending order.
    fn find_peers(
        &mut self,
        window: &Window,
        at: usize,
        partition: &mut Partition<'_>,
        i: usize,
    ) -> SqlResult<()> {
        if i < partition.peers.end {
            return Ok(());
        }
        let split = window.partition.len();
        let key = partition.keys(at, i)?[split..].to_vec();
        let mut end = i + 1;
        while end < partition.len && self.same(&window.order, &key, &partition.keys(at, end)?[split..]) {
            end += 1;
        }
        partition.peers = i..end;
        Ok(())
    }

    fn function(
        &mut self,
        function: &WindowFunction,
        f: usize,
        window: &Window,
        partition: &mut Partition<'_>,
    ) -> SqlResult<()> {
        use WindowKind as K;
        let n = partition.len;
        match &function.kind {
            K::RowNumber | K::Rank | K::DenseRank | K::PercentRank | K::CumeDist => {
                let mut dense = 0;
                for i in 0..n {
                    self.find_peers(window, function.window, partition, i)?;
                    let Range { start: first, end: last } = partition.peers;
                    dense += i64::from(first == i);
                    let value = match function.kind {
                        K::RowNumber => Value::Int(i as i64 + 1),
                        K::Rank => Value::Int(first as i64 + 1),
                        K::DenseRank => Value::Int(dense),
                        K::PercentRank if n == 1 => Value::Double(0.0),
                        K::PercentRank => Value::Double(first as f64 / (n - 1) as f64),
                        _ => Value::Double(last as f64 / n as f64),
                    };
                    partition.set(f, i, value)?;
                }
            }
            K::Ntile => self.ntile(f, partition)?,
            K::Lag | K::Lead => self.shifted(f, matches!(function.kind, K::Lag), partition)?,
            K::FirstValue | K::LastValue | K::NthValue => self.placed(function, f, window, partition)?,
            K::PercentileCont | K::PercentileDisc => {
                let value = self.percentile(function, f, partition)?;
                for i in 0..n {
                    partition.set(f, i, value.clone())?;
                }
            }
            K::Aggregate(aggregate) => self.framed(function, f, aggregate, window, partition)?,
        }
        Ok(())
    }

    fn ntile(&mut self, f: usize, partition: &mut Partition<'_>) -> SqlResult<()> {
        let n = partition.len as i64;
        for i in 0..n {
            let buckets = partition.args(f, i as usize)?[0].to_i64(self.cx.values).unwrap_or(0);
            if buckets <= 0 {
                return Err(other(4024, "Argument of NTILE must be greater than 0"));
            }
            // The first `n % buckets` buckets have a row more.
            let (size, larger) = (n / buckets, n % buckets);
            let wide = larger * (size + 1);
            let bucket = if i < wide { i / (size + 1) } else { larger + (i - wide) / size.max(1) };
            partition.set(f, i as usize, Value::Int(bucket + 1))?;
        }
        Ok(())
    }

    fn shifted(&mut self, f: usize, lag: bool, partition: &mut Partition<'_>) -> SqlResult<()> {
        let n = partition.len;
        for i in 0..n {
            let by = match partition.args(f, i)?.get(1) {
                None => Some(1),
                Some(value) => value.to_i64(self.cx.values),
            };
            let target = by.and_then(|by| {
                let by = if lag { by.checked_neg()? } else { by };
                usize::try_from((i as i64).checked_add(by)?).ok().filter(|t| *t < n)
            });
            let value = match target {
                Some(t) => partition.args(f, t)?[0].clone(),
                None => Value::Null,
            };
            partition.set(f, i, value)?;
        }
        Ok(())
    }

    fn placed(
        &mut self,
        function: &WindowFunction,
        f: usize,
        window: &Window,
        partition: &mut Partition<'_>,
    ) -> SqlResult<()> {
        let edges = self.edges(&function.frame)?;
        for i in 0..partition.len {
            let (low, high) =
                self.frame_of(&function.frame, &edges, window, function.window, partition, i)?;
            let nth = match function.kind {
                WindowKind::NthValue => {
                    let n = partition.args(f, i)?[1].to_i64(self.cx.values);
                    n.and_then(|n| usize::try_from(n.checked_sub(1)?).ok()).map(|n| low.saturating_add(n))
                }
                WindowKind::LastValue => high.checked_sub(1),
                _ => Some(low),
            };
            let value = match nth.filter(|n| (low..high).contains(n)) {
                Some(n) => partition.args(f, n)?[0].clone(),
                None => Value::Null,
            };
            partition.set(f, i, value)?;
        }
        Ok(())
    }

    fn percentile(
        &mut self,
        function: &WindowFunction,
        f: usize,
        partition: &mut Partition<'_>,
    ) -> SqlResult<Value> {
        let wanted = partition.args(f, 0)?[0].to_f64(self.cx.values);
        let continuous = matches!(function.kind, WindowKind::PercentileCont);
        let Some(p) = wanted.filter(|p| (0.0..=1.0).contains(p)) else {
            let name = if continuous { "percentile_cont" } else { "percentile_disc" };
            let text = format!("Argument to the {name} function does not belong to the range [0,1]");
            return Err(other(4103, &text));
        };
        // The rows are in the order of the values: NULLs stand together at one end.
        let (mut first, mut count) = (0, 0);
        for i in 0..partition.len {
            match (partition.args(f, i)?[1].is_null(), count) {
                (true, 0) => first = i + 1,
                (true, _) => break,
                (false, _) => count += 1,
            }
        }
        let Some(last) = usize::checked_sub(count, 1) else { return Ok(Value::Null) };
        if !continuous {
            let at = ((p * count as f64).ceil() as usize).saturating_sub(1).min(last);
            return Ok(partition.args(f, first + at)?[1].clone());
        }
        let place = p * last as f64;
        let (low, high) = (place.floor() as usize, (place.ceil() as usize).min(last));
        let a = partition.args(f, first + low)?[1].to_f64(self.cx.values).unwrap_or(0.0);
        let b = partition.args(f, first + high)?[1].to_f64(self.cx.values).unwrap_or(0.0);
        Ok(Value::Double(a + (b - a) * (place - low as f64)))
    }

    fn framed(
        &mut self,
        function: &WindowFunction,
        f: usize,
        aggregate: &Aggregate,
        window: &Window,
        partition: &mut Partition<'_>,
    ) -> SqlResult<()> {
        let edges = self.edges(&function.frame)?;
        let shrinks = matches!(aggregate.kind, AggregateKind::CountAll | AggregateKind::Count)
            || matches!(aggregate.kind, AggregateKind::Sum | AggregateKind::Avg)
                && aggregate.ty.field == FieldType::Decimal;
        let mut acc = Accumulator::default();
        let (mut from, mut to) = (0, 0);
        let mut last: Option<Value> = None;
        for i in 0..partition.len {
            let (low, high) =
                self.frame_of(&function.frame, &edges, window, function.window, partition, i)?;
            self.count_row()?;
            if last.is_none() || (low, high) != (from, to) {
                if low < from || high < to || low > to || (low > from && !shrinks) {
                    acc = Accumulator::default();
                    (from, to) = (low, low);
                }
                for at in from..low.min(to) {
                    self.take_out(aggregate, partition.args(f, at)?, &mut acc)?;
                }
                for at in to..high {
                    self.feed(aggregate, partition.args(f, at)?, &mut acc)?;
                }
                (from, to) = (low, high.max(low));
                last = Some(self.result(aggregate, acc.clone())?);
            }
            partition.set(f, i, last.clone().unwrap_or_default())?;
        }
        Ok(())
    }

    fn edges(&mut self, frame: &Frame) -> SqlResult<(Edge, Edge)> {
        Ok((self.edge(&frame.start, frame.range)?, self.edge(&frame.end, frame.range)?))
    }

    fn edge(&mut self, bound: &Bound, range: bool) -> SqlResult<Edge> {
        let (e, preceding) = match bound {
            Bound::First => return Ok(Edge::First),
            Bound::Current => return Ok(Edge::Current),
            Bound::Last => return Ok(Edge::Last),
            Bound::Preceding(e) => (e, true),
            Bound::Following(e) => (e, false),
        };
        let distance = e.eval(self)?;
        if range {
            return Ok(Edge::Value { distance, preceding });
        }
        let rows = distance.to_i64(self.cx.values).unwrap_or(0);
        Ok(Edge::Rows(if preceding { rows.saturating_neg() } else { rows }))
    }

    /// First row and end of the frame of row `i`.
    fn frame_of(
        &mut self,
        frame: &Frame,
        edges: &(Edge, Edge),
        window: &Window,
        at: usize,
        partition: &mut Partition<'_>,
        i: usize,
    ) -> SqlResult<(usize, usize)> {
        let n = partition.len;
        if frame.range {
            self.find_peers(window, at, partition, i)?;
        }
        let shift =
            |by: i64, more: i64| (i as i64).saturating_add(by).saturating_add(more).clamp(0, n as i64);
        let low = match &edges.0 {
            Edge::First => 0,
            Edge::Last => n,
            Edge::Current if frame.range => partition.peers.start,
            Edge::Current => i,
            Edge::Rows(by) => shift(*by, 0) as usize,
            Edge::Value { distance, preceding } => {
                self.value_edge(window, at, partition, i, (distance, *preceding), false)?
            }
        };
        let high = match &edges.1 {
            Edge::Last => n,
            Edge::First => 0,
            Edge::Current if frame.range => partition.peers.end,
            Edge::Current => i + 1,
            Edge::Rows(by) => shift(*by, 1) as usize,
            Edge::Value { distance, preceding } => {
                self.value_edge(window, at, partition, i, (distance, *preceding), true)?
            }
        };
        Ok((low.min(high), high))
    }

    /// RANGE n PRECEDING or FOLLOWING: the first row within the distance, or the first one behind it.
    fn value_edge(
        &mut self,
        window: &Window,
        at: usize,
        partition: &mut Partition<'_>,
        i: usize,
        (distance, preceding): (&Value, bool),
        end: bool,
    ) -> SqlResult<usize> {
        let key = &window.order[0];
        let column = window.partition.len();
        let own = partition.keys(at, i)?[column].clone();
        if own.is_null() {
            // NULLs have no distance: they see each other.
            return Ok(if end { partition.peers.end } else { partition.peers.start });
        }
        let op = if preceding != key.descending { ArithOp::Sub } else { ArithOp::Add };
        let limit = ops::arith(op, &own, distance, self.cx.values)?;
        let cx = &mut *self.cx.values;
        let (mut low, mut high) = (0, partition.len);
        while low < high {
            let middle = low + (high - low) / 2;
            let value = &partition.keys(at, middle)?[column];
            let before = if value.is_null() {
                // NULLs come first in ascending order and last in descending.
                !key.descending
            } else {
                let found = ops::compare(key.compare, value, &limit, cx).unwrap_or(std::cmp::Ordering::Equal);
                let found = if key.descending { found.reverse() } else { found };
                if end { found.is_le() } else { found.is_lt() }
            };
            if before {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

/// Partition keys, then order keys.
fn sort_keys(window: &Window) -> Vec<SortKey> {
    window.partition.iter().chain(&window.order).cloned().collect()
}

/// Which windows sort the rows, and which windows each order serves, itself included.
fn sorts(windows: &[Window]) -> Vec<(usize, Vec<usize>)> {
    let keys: Vec<Vec<String>> = windows
        .iter()
        .map(|w| w.partition.iter().chain(&w.order).map(|k| format!("{k:?}")).collect())
        .collect();
    let serves =
        |a: usize, b: usize| keys[a].starts_with(&keys[b]) && (keys[a].len() > keys[b].len() || a < b);
    let mut out: Vec<(usize, Vec<usize>)> = Vec::new();
    for at in 0..windows.len() {
        if !(0..windows.len()).any(|other| other != at && serves(other, at)) {
            out.push((at, vec![at]));
        }
    }
    for at in 0..windows.len() {
        if out.iter().all(|(own, _)| *own != at)
            && let Some((_, shared)) = out.iter_mut().find(|(own, _)| serves(*own, at))
        {
            shared.push(at);
        }
    }
    out
}

type SlotColumns = (Slot, usize, Vec<(usize, usize)>);

/// Carried columns by slot: width of the row, and from where to where each value goes.
fn by_slot(carried: &[ColumnRef]) -> Vec<SlotColumns> {
    let mut out: Vec<SlotColumns> = Vec::new();
    for (from, column) in carried.iter().enumerate() {
        let to = usize::from(column.column);
        match out.iter_mut().find(|(slot, ..)| *slot == column.slot) {
            Some((_, width, columns)) => {
                *width = (*width).max(to + 1);
                columns.push((from, to));
            }
            None => out.push((column.slot, to + 1, vec![(from, to)])),
        }
    }
    out
}

fn other(errno: u16, text: &str) -> SqlError {
    SqlError::Other { errno, state: *b"HY000", text: text.to_owned() }
}
