//! Window functions over the rows of a block.
//!
//! All rows are gathered: the columns that are used later, the keys of each window, the arguments of each function. Then each
//! window sorts the rows and goes through its partitions; a function gives each row a value from the partition, the row's
//! place and its frame. At the end the rows go on in the order of the last window. Windows whose keys begin those of another
//! one share its order, so that the rows are sorted as rarely as MariaDB sorts them and come out in the same order.
//!
//! Frames that start with the partition grow row by row; the sums and counts of exact numbers also shrink row by row. Every
//! other moving frame is computed anew for each row.

use sql_plan::error::{SqlError, SqlResult};
use sql_plan::expr::{ArithOp, ColumnRef, Slot};
use sql_plan::meta::FieldType;
use sql_plan::ops;
use sql_plan::plan::{
    Aggregate, AggregateKind, Bound, Frame, SelectPlan, SortKey, Window, WindowFunction, WindowKind,
    WindowPlan,
};
use types::Value;

use crate::exec::{Exec, Flow};
use crate::group::Accumulator;
use crate::join::RowFn;
use crate::select::{compare_sorted, order};

struct Row {
    carried: Vec<Value>,
    /// Of each window: partition keys, then order keys.
    keys: Vec<Vec<Value>>,
    /// Of each function.
    args: Vec<Vec<Value>>,
    results: Vec<Value>,
}

/// The rows of one partition, in order.
struct Partition<'p> {
    rows: &'p [usize],
    /// First row and end of the rows that sort like each row.
    peers: Vec<(usize, usize)>,
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
        let mut rows: Vec<Row> = Vec::new();
        self.rows_before_windows(plan, &mut |exec| {
            rows.push(exec.window_row(windows)?);
            Ok(Flow::Continue)
        })?;
        let mut sequence: Vec<usize> = (0..rows.len()).collect();
        for (at, shared) in sorts(&windows.windows) {
            self.sort_window(&windows.windows[at], at, &rows, &mut sequence);
            for window in shared {
                self.compute(windows, window, &mut rows, &sequence)?;
            }
        }
        let slots = by_slot(&windows.carried);
        for at in sequence {
            let found = &mut rows[at];
            for (slot, width, columns) in &slots {
                let mut values = vec![Value::Null; *width];
                for (from, column) in columns {
                    values[*column] = std::mem::take(&mut found.carried[*from]);
                }
                self.set_values(*slot, values);
            }
            self.set_values(windows.slot, std::mem::take(&mut found.results));
            if row(self)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn window_row(&mut self, windows: &WindowPlan) -> SqlResult<Row> {
        use sql_plan::eval::Env;
        let carried: SqlResult<Vec<Value>> = windows.carried.iter().map(|c| self.column(*c)).collect();
        let mut keys = Vec::with_capacity(windows.windows.len());
        for window in &windows.windows {
            let all = window.partition.iter().chain(&window.order);
            let values: SqlResult<Vec<Value>> = all.map(|k| k.expr.eval(self)).collect();
            keys.push(values?);
        }
        let mut args = Vec::with_capacity(windows.functions.len());
        for function in &windows.functions {
            let values: SqlResult<Vec<Value>> = function.args.iter().map(|t| t.expr.eval(self)).collect();
            args.push(values?);
        }
        Ok(Row { carried: carried?, keys, args, results: vec![Value::Null; windows.functions.len()] })
    }

    fn sort_window(&mut self, window: &Window, at: usize, rows: &[Row], sequence: &mut [usize]) {
        let keys: Vec<SortKey> = window.partition.iter().chain(&window.order).cloned().collect();
        if !keys.is_empty() {
            let cx = &mut *self.cx.values;
            sequence.sort_by(|a, b| order(&keys, &rows[*a].keys[at], &rows[*b].keys[at], cx));
        }
    }

    /// All functions of a window, over rows that are in its order.
    fn compute(
        &mut self,
        windows: &WindowPlan,
        at: usize,
        rows: &mut [Row],
        sequence: &[usize],
    ) -> SqlResult<()> {
        let window = &windows.windows[at];
        let split = window.partition.len();
        let mut start = 0;
        while start < sequence.len() {
            let mut end = start + 1;
            while end < sequence.len()
                && self.same(&window.partition, &rows[sequence[start]], &rows[sequence[end]], at, 0)
            {
                end += 1;
            }
            let members = &sequence[start..end];
            let mut peers = Vec::with_capacity(members.len());
            while peers.len() < members.len() {
                let first = peers.len();
                let mut last = first + 1;
                while last < members.len()
                    && self.same(&window.order, &rows[members[first]], &rows[members[last]], at, split)
                {
                    last += 1;
                }
                peers.resize(last, (first, last));
            }
            let partition = Partition { rows: members, peers };
            for (f, function) in windows.functions.iter().enumerate() {
                if function.window == at {
                    self.function(function, f, window, &partition, rows)?;
                }
            }
            start = end;
        }
        Ok(())
    }

    fn same(&mut self, keys: &[SortKey], a: &Row, b: &Row, window: usize, skip: usize) -> bool {
        let cx = &mut *self.cx.values;
        let pairs = a.keys[window][skip..].iter().zip(&b.keys[window][skip..]);
        keys.iter().zip(pairs).all(|(key, (a, b))| compare_sorted(key.compare, a, b, cx).is_eq())
    }

    fn function(
        &mut self,
        function: &WindowFunction,
        f: usize,
        window: &Window,
        partition: &Partition<'_>,
        rows: &mut [Row],
    ) -> SqlResult<()> {
        use WindowKind as K;
        let n = partition.rows.len();
        match &function.kind {
            K::RowNumber | K::Rank | K::DenseRank | K::PercentRank | K::CumeDist => {
                let mut dense = 0;
                for i in 0..n {
                    let (first, last) = partition.peers[i];
                    dense += i64::from(first == i);
                    rows[partition.rows[i]].results[f] = match function.kind {
                        K::RowNumber => Value::Int(i as i64 + 1),
                        K::Rank => Value::Int(first as i64 + 1),
                        K::DenseRank => Value::Int(dense),
                        K::PercentRank if n == 1 => Value::Double(0.0),
                        K::PercentRank => Value::Double(first as f64 / (n - 1) as f64),
                        _ => Value::Double(last as f64 / n as f64),
                    };
                }
            }
            K::Ntile => self.ntile(f, partition, rows)?,
            K::Lag | K::Lead => self.shifted(f, matches!(function.kind, K::Lag), partition, rows),
            K::FirstValue | K::LastValue | K::NthValue => {
                self.placed(function, f, window, partition, rows)?;
            }
            K::PercentileCont | K::PercentileDisc => {
                let value = self.percentile(function, f, partition, rows)?;
                for at in partition.rows {
                    rows[*at].results[f] = value.clone();
                }
            }
            K::Aggregate(aggregate) => self.framed(function, f, aggregate, window, partition, rows)?,
        }
        Ok(())
    }

    fn ntile(&mut self, f: usize, partition: &Partition<'_>, rows: &mut [Row]) -> SqlResult<()> {
        let n = partition.rows.len() as i64;
        for (i, at) in partition.rows.iter().enumerate() {
            let buckets = rows[*at].args[f][0].to_i64(self.cx.values).unwrap_or(0);
            if buckets <= 0 {
                return Err(other(4024, "Argument of NTILE must be greater than 0"));
            }
            // The first `n % buckets` buckets have a row more.
            let (size, larger) = (n / buckets, n % buckets);
            let i = i as i64;
            let wide = larger * (size + 1);
            let bucket = if i < wide { i / (size + 1) } else { larger + (i - wide) / size.max(1) };
            rows[*at].results[f] = Value::Int(bucket + 1);
        }
        Ok(())
    }

    fn shifted(&mut self, f: usize, lag: bool, partition: &Partition<'_>, rows: &mut [Row]) {
        let n = partition.rows.len();
        for (i, at) in partition.rows.iter().enumerate() {
            let by = match rows[*at].args[f].get(1) {
                None => Some(1),
                Some(value) => value.to_i64(self.cx.values),
            };
            let target = by.and_then(|by| {
                let by = if lag { by.checked_neg()? } else { by };
                usize::try_from((i as i64).checked_add(by)?).ok().filter(|t| *t < n)
            });
            let value = target.map(|t| rows[partition.rows[t]].args[f][0].clone());
            rows[*at].results[f] = value.unwrap_or_default();
        }
    }

    fn placed(
        &mut self,
        function: &WindowFunction,
        f: usize,
        window: &Window,
        partition: &Partition<'_>,
        rows: &mut [Row],
    ) -> SqlResult<()> {
        let edges = self.edges(&function.frame)?;
        for i in 0..partition.rows.len() {
            let (low, high) =
                self.frame_of(&function.frame, &edges, window, function.window, partition, rows, i)?;
            let nth = match function.kind {
                WindowKind::NthValue => {
                    let n = rows[partition.rows[i]].args[f][1].to_i64(self.cx.values);
                    n.and_then(|n| usize::try_from(n.checked_sub(1)?).ok()).map(|n| low.saturating_add(n))
                }
                WindowKind::LastValue => high.checked_sub(1),
                _ => Some(low),
            };
            let found = nth.filter(|n| (low..high).contains(n));
            let value = found.map(|n| rows[partition.rows[n]].args[f][0].clone());
            rows[partition.rows[i]].results[f] = value.unwrap_or_default();
        }
        Ok(())
    }

    fn percentile(
        &mut self,
        function: &WindowFunction,
        f: usize,
        partition: &Partition<'_>,
        rows: &[Row],
    ) -> SqlResult<Value> {
        let wanted = rows[partition.rows[0]].args[f][0].to_f64(self.cx.values);
        let continuous = matches!(function.kind, WindowKind::PercentileCont);
        let Some(p) = wanted.filter(|p| (0.0..=1.0).contains(p)) else {
            let name = if continuous { "percentile_cont" } else { "percentile_disc" };
            let text = format!("Argument to the {name} function does not belong to the range [0,1]");
            return Err(other(4103, &text));
        };
        let values: Vec<&Value> =
            partition.rows.iter().map(|at| &rows[*at].args[f][1]).filter(|v| !v.is_null()).collect();
        let Some(last) = values.len().checked_sub(1) else { return Ok(Value::Null) };
        if !continuous {
            let at = (p * values.len() as f64).ceil() as usize;
            return Ok(values[at.saturating_sub(1).min(last)].clone());
        }
        let place = p * last as f64;
        let (low, high) = (place.floor() as usize, place.ceil() as usize);
        let cx = &mut *self.cx.values;
        let (a, b) =
            (values[low].to_f64(cx).unwrap_or(0.0), values[high.min(last)].to_f64(cx).unwrap_or(0.0));
        Ok(Value::Double(a + (b - a) * (place - low as f64)))
    }

    fn framed(
        &mut self,
        function: &WindowFunction,
        f: usize,
        aggregate: &Aggregate,
        window: &Window,
        partition: &Partition<'_>,
        rows: &mut [Row],
    ) -> SqlResult<()> {
        let edges = self.edges(&function.frame)?;
        let shrinks = matches!(aggregate.kind, AggregateKind::CountAll | AggregateKind::Count)
            || matches!(aggregate.kind, AggregateKind::Sum | AggregateKind::Avg)
                && aggregate.ty.field == FieldType::Decimal;
        let mut acc = Accumulator::default();
        let (mut from, mut to) = (0, 0);
        let mut last: Option<Value> = None;
        for i in 0..partition.rows.len() {
            let (low, high) =
                self.frame_of(&function.frame, &edges, window, function.window, partition, rows, i)?;
            self.count_row()?;
            if last.is_none() || (low, high) != (from, to) {
                if low < from || high < to || low > to || (low > from && !shrinks) {
                    acc = Accumulator::default();
                    (from, to) = (low, low);
                }
                for at in from..low.min(to) {
                    self.take_out(aggregate, &rows[partition.rows[at]].args[f], &mut acc)?;
                }
                for at in to..high {
                    self.feed(aggregate, &rows[partition.rows[at]].args[f], &mut acc)?;
                }
                (from, to) = (low, high.max(low));
                last = Some(self.result(aggregate, acc.clone())?);
            }
            rows[partition.rows[i]].results[f] = last.clone().unwrap_or_default();
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
    #[expect(clippy::too_many_arguments, reason = "one row's whole surroundings")]
    fn frame_of(
        &mut self,
        frame: &Frame,
        edges: &(Edge, Edge),
        window: &Window,
        at: usize,
        partition: &Partition<'_>,
        rows: &[Row],
        i: usize,
    ) -> SqlResult<(usize, usize)> {
        let n = partition.rows.len();
        let shift =
            |by: i64, more: i64| (i as i64).saturating_add(by).saturating_add(more).clamp(0, n as i64);
        let low = match &edges.0 {
            Edge::First => 0,
            Edge::Last => n,
            Edge::Current if frame.range => partition.peers[i].0,
            Edge::Current => i,
            Edge::Rows(by) => shift(*by, 0) as usize,
            Edge::Value { distance, preceding } => {
                self.value_edge(window, at, partition, rows, i, (distance, *preceding), false)?
            }
        };
        let high = match &edges.1 {
            Edge::Last => n,
            Edge::First => 0,
            Edge::Current if frame.range => partition.peers[i].1,
            Edge::Current => i + 1,
            Edge::Rows(by) => shift(*by, 1) as usize,
            Edge::Value { distance, preceding } => {
                self.value_edge(window, at, partition, rows, i, (distance, *preceding), true)?
            }
        };
        Ok((low.min(high), high))
    }

    /// RANGE n PRECEDING or FOLLOWING: the first row within the distance, or the first one behind it.
    #[expect(clippy::too_many_arguments, reason = "one row's whole surroundings")]
    fn value_edge(
        &mut self,
        window: &Window,
        at: usize,
        partition: &Partition<'_>,
        rows: &[Row],
        i: usize,
        (distance, preceding): (&Value, bool),
        end: bool,
    ) -> SqlResult<usize> {
        let key = &window.order[0];
        let column = window.partition.len();
        let own = &rows[partition.rows[i]].keys[at][column];
        if own.is_null() {
            // NULLs have no distance: they see each other.
            return Ok(if end { partition.peers[i].1 } else { partition.peers[i].0 });
        }
        let op = if preceding != key.descending { ArithOp::Sub } else { ArithOp::Add };
        let limit = ops::arith(op, own, distance, self.cx.values)?;
        let cx = &mut *self.cx.values;
        let before = |row: &usize| {
            let value = &rows[*row].keys[at][column];
            if value.is_null() {
                // NULLs come first in ascending order and last in descending.
                return !key.descending;
            }
            let found = ops::compare(key.compare, value, &limit, cx).unwrap_or(std::cmp::Ordering::Equal);
            let found = if key.descending { found.reverse() } else { found };
            if end { found.is_le() } else { found.is_lt() }
        };
        Ok(partition.rows.partition_point(before))
    }
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
