//! Queries.

use super::*;

impl Printer<'_> {
    pub(super) fn query(&mut self, query: &Query<'_>) {
        if let Some(with) = query.with {
            self.with(with);
        }
        self.body(&query.body);
        if !query.order_by.is_empty() {
            self.text(" ");
            self.order_by(query.order_by);
        }
        if let Some(limit) = query.limit {
            self.limit(limit);
        }
        if let Some(lock) = query.lock {
            self.lock(lock);
        }
    }

    fn with(&mut self, with: &With<'_>) {
        self.text(if with.recursive { "with recursive " } else { "with " });
        self.list(with.tables, ", ", |p, table| {
            if table.name.0.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_') {
                p.out.extend_from_slice(table.name.0);
            } else {
                p.ident(table.name);
            }
            if !table.columns.is_empty() {
                p.idents(table.columns);
            }
            p.text(" as ");
            p.subquery(table.query);
            if !table.cycle.is_empty() {
                p.text(" cycle ");
                p.list(table.cycle, ",", |p, name| p.ident(*name));
                p.text(" restrict ");
            }
        });
    }

    fn idents(&mut self, names: &[Ident<'_>]) {
        self.text("(");
        self.list(names, ",", |p, name| p.ident(*name));
        self.text(")");
    }

    fn body(&mut self, body: &QueryBody<'_>) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => {
                self.text("values ");
                self.list(rows, ",", |p, row| {
                    p.text("(");
                    p.exprs(row);
                    p.text(")");
                });
            }
            QueryBody::Nested(query) => self.subquery(query),
            QueryBody::SetOperation(operation) => {
                self.term(&operation.first);
                for term in operation.rest {
                    self.text(match term.op {
                        SetOp::Union => " union ",
                        SetOp::Except => " except ",
                        SetOp::Intersect => " intersect ",
                    });
                    self.text(if term.all { "all " } else { "" });
                    self.term(&term.body);
                }
            }
        }
    }

    /// INTERSECT inside needs no parentheses: it binds tighter.
    fn term(&mut self, body: &QueryBody<'_>) {
        self.body(body);
    }

    fn select(&mut self, select: &Select<'_>) {
        self.text("select ");
        let options = &select.options;
        for (set, word) in [
            (options.distinct, "distinct "),
            (options.straight_join, "straight_join "),
            (options.high_priority, "high_priority "),
            (options.small_result, "sql_small_result "),
            (options.big_result, "sql_big_result "),
            (options.buffer_result, "sql_buffer_result "),
            (options.calc_found_rows, "sql_calc_found_rows "),
            (options.cache == Some(true), "sql_cache "),
            (options.cache == Some(false), "sql_no_cache "),
        ] {
            self.text(if set { word } else { "" });
        }
        self.list(select.items, ",", |p, item| p.item(item));
        if !select.from.is_empty() {
            self.text(" from ");
            self.tables(select.from);
        }
        if let Some(filter) = &select.filter {
            self.text(" where ");
            self.expr(filter, 0);
        }
        if !select.group_by.is_empty() {
            self.text(" group by ");
            self.list(select.group_by, ",", |p, item| p.order_item(item));
            self.text(if select.rollup { " with rollup" } else { "" });
        }
        if let Some(having) = &select.having {
            self.text(" having ");
            self.expr(having, 0);
        }
        for (i, window) in select.windows.iter().enumerate() {
            self.text(if i == 0 { " window " } else { "," });
            self.ident(window.name);
            self.text(" as ");
            self.window_spec(&window.spec);
        }
    }

    fn item(&mut self, item: &SelectItem<'_>) {
        match item {
            SelectItem::All => self.text("*"),
            SelectItem::AllOf(table) => {
                self.object(table);
                self.text(".*");
            }
            SelectItem::Expr(item) => {
                self.expr(&item.expr, 0);
                if item.alias.is_none() && item.text.is_empty() {
                    // A view's text leaves out the names of inner queries' columns.
                    return;
                }
                self.text(" AS ");
                match (item.alias, item.expr) {
                    (Some(alias), _) => self.ident(alias),
                    (None, Expr::Column(column)) => self.ident(column.name),
                    (None, _) => self.ident(Ident(item.text)),
                }
            }
        }
    }

    fn tables(&mut self, list: &[TableRef<'_>]) {
        if let [single] = list {
            return self.table(single);
        }
        self.text("(");
        self.list(list, " join ", |p, table| p.table(table));
        self.text(")");
    }

    fn table(&mut self, table: &TableRef<'_>) {
        match table {
            TableRef::Table(factor) => self.factor(factor),
            TableRef::Derived(derived) => {
                self.subquery(derived.query);
                if let Some(time) = derived.system_time {
                    self.system_time(time);
                }
                self.text(" ");
                self.ident(derived.alias);
                if !derived.columns.is_empty() {
                    self.idents(derived.columns);
                }
            }
            TableRef::Join(join) => self.join(join),
            TableRef::List(list) => self.tables(list),
            TableRef::JsonTable(table) => self.json_table(table),
        }
    }

    fn join(&mut self, join: &Join<'_>) {
        self.text("(");
        self.table(&join.left);
        self.text(if join.natural { " natural" } else { "" });
        self.text(match join.kind {
            _ if join.straight => " straight_join ",
            JoinKind::Inner => " join ",
            JoinKind::Left => " left join ",
            JoinKind::Right => " right join ",
        });
        self.table(&join.right);
        match &join.condition {
            JoinCondition::None => {}
            JoinCondition::On(condition) => {
                self.text(" on(");
                self.expr(condition, 0);
                self.text(")");
            }
            JoinCondition::Using(columns) => {
                self.text(" using ");
                self.idents(columns);
            }
        }
        self.text(")");
    }

    fn factor(&mut self, factor: &TableFactor<'_>) {
        self.object(&factor.name);
        if !factor.partitions.is_empty() {
            self.text(" PARTITION ");
            self.idents(factor.partitions);
        }
        if let Some(time) = factor.system_time {
            self.system_time(time);
        }
        if let Some(alias) = factor.alias {
            self.text(" ");
            self.ident(alias);
        }
        for hint in factor.hints {
            self.text(match hint.kind {
                IndexHintKind::Use => " USE INDEX ",
                IndexHintKind::Force => " FORCE INDEX ",
                IndexHintKind::Ignore => " IGNORE INDEX ",
            });
            self.text(match hint.scope {
                IndexHintScope::All => "",
                IndexHintScope::Join => "FOR JOIN ",
                IndexHintScope::OrderBy => "FOR ORDER BY ",
                IndexHintScope::GroupBy => "FOR GROUP BY ",
            });
            self.idents(hint.indexes);
        }
    }

    fn system_time(&mut self, time: &SystemTime<'_>) {
        self.text(" FOR SYSTEM_TIME ");
        match time {
            SystemTime::All => self.text("ALL"),
            SystemTime::AsOf(point) => {
                self.text("AS OF ");
                self.point(point);
            }
            SystemTime::Before(point) => {
                self.text("BEFORE ");
                self.point(point);
            }
            SystemTime::Between(from, to) => {
                self.text("BETWEEN ");
                self.point(from);
                self.text(" AND ");
                self.point(to);
            }
            SystemTime::FromTo(from, to) => {
                self.text("FROM ");
                self.point(from);
                self.text(" TO ");
                self.point(to);
            }
        }
    }

    fn point(&mut self, point: &SystemPoint<'_>) {
        self.text(if point.transaction { "TRANSACTION " } else { "TIMESTAMP " });
        self.expr(&point.value, 8);
    }

    fn json_table(&mut self, table: &JsonTable<'_>) {
        self.text("JSON_TABLE(");
        self.expr(&table.document, 0);
        self.text(", ");
        self.string(table.path);
        self.json_columns(table.columns);
        self.text(") ");
        self.ident(table.alias);
    }

    fn json_columns(&mut self, columns: &[JsonColumn<'_>]) {
        self.text(" COLUMNS (");
        self.list(columns, ", ", |p, column| match column {
            JsonColumn::Ordinality(name) => {
                p.ident(*name);
                p.text(" FOR ORDINALITY");
            }
            JsonColumn::Value { name, type_text, path, on_empty, on_error, .. } => {
                p.ident(*name);
                p.text(" ");
                p.out.extend_from_slice(type_text);
                p.text(" PATH ");
                p.string(path);
                p.json_on(on_empty, " ON EMPTY");
                p.json_on(on_error, " ON ERROR");
            }
            JsonColumn::Exists { name, type_text, path, .. } => {
                p.ident(*name);
                p.text(" ");
                p.out.extend_from_slice(type_text);
                p.text(" EXISTS PATH ");
                p.string(path);
            }
            JsonColumn::Nested { path, columns } => {
                p.text("NESTED PATH ");
                p.string(path);
                p.json_columns(columns);
            }
        });
        self.text(")");
    }

    fn json_on(&mut self, on: &JsonOn<'_>, tail: &str) {
        match on {
            JsonOn::Null => return,
            JsonOn::Error => self.text(" ERROR"),
            JsonOn::Default(text) => {
                self.text(" DEFAULT ");
                self.string(text);
            }
        }
        self.text(tail);
    }

    pub(super) fn order_by(&mut self, items: &[OrderItem<'_>]) {
        self.text("order by ");
        self.list(items, ",", |p, item| p.order_item(item));
    }

    fn order_item(&mut self, item: &OrderItem<'_>) {
        self.expr(&item.expr, 0);
        self.text(if item.descending { " desc" } else { "" });
    }

    pub(super) fn limit(&mut self, limit: &Limit<'_>) {
        if limit.with_ties {
            if let Some(offset) = &limit.offset {
                self.text(" offset ");
                self.expr(offset, 0);
                self.text(" rows");
            }
            if let Some(count) = &limit.count {
                self.text(" fetch first ");
                self.expr(count, 0);
                self.text(" rows with ties");
            }
            return;
        }
        match (&limit.count, &limit.offset) {
            (Some(count), offset) => {
                self.text(" limit ");
                if let Some(offset) = offset {
                    self.expr(offset, 0);
                    self.text(",");
                }
                self.expr(count, 0);
            }
            (None, Some(offset)) => {
                self.text(" offset ");
                self.expr(offset, 0);
                self.text(" rows");
            }
            (None, None) => self.text(" limit"),
        }
        if let Some(rows) = &limit.rows_examined {
            self.text(" rows examined ");
            self.expr(rows, 0);
        }
    }

    fn lock(&mut self, lock: RowLock) {
        self.text(match lock.strength {
            LockStrength::Shared => " lock in share mode",
            LockStrength::Exclusive => " for update",
        });
        match lock.wait {
            LockWait::Default => {}
            LockWait::NoWait => self.text(" nowait"),
            LockWait::SkipLocked => self.text(" skip locked"),
            LockWait::Seconds(n) => {
                self.text(" wait ");
                self.number(n);
            }
        }
    }

    pub(super) fn window_spec(&mut self, spec: &WindowSpec<'_>) {
        self.text("(");
        let mut gap = "";
        if let Some(base) = spec.base {
            self.ident(base);
            gap = " ";
        }
        if !spec.partition_by.is_empty() {
            self.text(gap);
            self.text("partition by ");
            self.list(spec.partition_by, ",", |p, item| p.order_item(item));
            gap = " ";
        }
        if !spec.order_by.is_empty() {
            self.text(gap);
            self.order_by(spec.order_by);
            gap = " ";
        }
        if let Some(frame) = spec.frame {
            self.text(gap);
            self.frame(frame);
        }
        self.text(")");
    }

    fn frame(&mut self, frame: &WindowFrame<'_>) {
        self.text(if frame.unit == FrameUnit::Rows { "rows " } else { "range " });
        match &frame.end {
            Some(end) => {
                self.text("between ");
                self.bound(&frame.start);
                self.text(" and ");
                self.bound(end);
            }
            None => self.bound(&frame.start),
        }
        self.text(match frame.exclude {
            FrameExclude::NoOthers => "",
            FrameExclude::CurrentRow => " exclude current row",
            FrameExclude::Group => " exclude group",
            FrameExclude::Ties => " exclude ties",
        });
    }

    fn bound(&mut self, bound: &FrameBound<'_>) {
        match bound {
            FrameBound::UnboundedPreceding => self.text("unbounded preceding"),
            FrameBound::UnboundedFollowing => self.text("unbounded following"),
            FrameBound::CurrentRow => self.text("current row"),
            FrameBound::Preceding(offset) => {
                self.expr(offset, 8);
                self.text(" preceding");
            }
            FrameBound::Following(offset) => {
                self.expr(offset, 8);
                self.text(" following");
            }
        }
    }
}
