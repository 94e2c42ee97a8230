//! The table of variants: one row each, or one for each flow where flows were measured one at a time.

use crate::number::{alike, count, millis, percent, range, short};
use crate::style::{Style, Tone, tone_of_share};
use crate::table::{Cell, Column, printable, render};
use result::{Element, Estimate, Flow, Run, Variant};

/// What a row is about.
pub(crate) struct Row<'a> {
    pub variant: &'a Variant,
    /// The one flow, in a variant whose flows were measured one at a time.
    pub flow: Option<&'a Flow>,
}

impl<'a> Row<'a> {
    pub fn flows(&self) -> Vec<&'a Flow> {
        self.flow.map_or_else(|| self.variant.flows.iter().collect(), |f| vec![f])
    }

    /// TCP flows, or all when there is none.
    pub fn compared(&self) -> Vec<&'a Flow> {
        self.flow.map_or_else(|| self.variant.compared_flows().collect(), |f| vec![f])
    }

    /// The elements of this row's run: all, or those of the flow's own.
    pub fn elements(&self) -> Vec<&'a Element> {
        let all = &self.variant.elements;
        let Some(flow) = self.flow else { return all.iter().collect() };
        let of = |is: &dyn Fn(&str) -> bool| -> Vec<&'a Element> {
            all.iter().filter(|e| e.name.rsplit_once('@').is_some_and(|(_, run)| is(run))).collect()
        };
        let own = of(&|run| run == flow.name);
        if own.is_empty() { of(&|run| is_one_of(&flow.name, run)) } else { own }
    }

    pub fn goodput(&self) -> f64 {
        self.flow.map_or(self.variant.total_goodput_mbps, |f| f.goodput_mbps)
    }

    pub fn interval(&self) -> Option<Estimate> {
        match self.flow {
            Some(flow) => flow.repeats.map(|r| r.goodput_mbps),
            None => self.variant.repeats.as_ref().map(|r| r.total_goodput_mbps),
        }
    }

    /// The tightest limit it meets, Mbit/s.
    pub fn limit(&self) -> Option<f64> {
        self.flow.map_or(self.variant.limit_mbps, |f| f.limit_mbps)
    }

    fn share(&self) -> Option<f64> {
        let limit = self.limit()?;
        (limit > 0.0).then(|| self.goodput() / limit)
    }

    pub fn sum(&self, f: impl Fn(&Flow) -> u64) -> u64 {
        self.flows().into_iter().map(f).sum()
    }

    /// The share of data packets that the path dropped, where every flow knows it.
    fn lost(&self) -> Option<f64> {
        let lost: u64 = self.flows().iter().map(|f| f.lost_packets).sum::<Option<u64>>()?;
        let sent = self.sum(|f| f.sent_packets);
        (sent > 0).then(|| lost as f64 / sent as f64)
    }

    /// The flows' quantiles averaged, each flow weighing as many packets as it sent.
    pub fn rtt(&self, quantile: impl Fn(&Flow) -> f64) -> Option<f64> {
        let flows: Vec<&Flow> = self.compared().into_iter().filter(|f| f.rtt_ms.max > 0.0).collect();
        let weight: f64 = flows.iter().map(|f| f.sent_packets as f64).sum();
        let sum: f64 = flows.iter().map(|f| f.sent_packets as f64 * quantile(f)).sum();
        (weight > 0.0).then(|| sum / weight)
    }
}

/// Whether the flow called `name` is one of those that a flow with a count becomes: `flow-1` ….
fn is_one_of(name: &str, flow: &str) -> bool {
    let number = name.strip_prefix(flow).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

pub(crate) fn rows(run: &Run) -> Vec<Row<'_>> {
    run.variants.iter().flat_map(rows_of).collect()
}

/// One row, or one for each flow where they were measured one at a time.
pub(crate) fn rows_of(variant: &Variant) -> Vec<Row<'_>> {
    if variant.one_at_a_time && !variant.flows.is_empty() {
        variant.flows.iter().map(|flow| Row { variant, flow: Some(flow) }).collect()
    } else {
        vec![Row { variant, flow: None }]
    }
}

/// The table; its last line says what ± means when there is one.
pub(crate) fn table(run: &Run, style: Style) -> String {
    let rows = rows(run);
    let mut columns = vec![names(&rows)];
    let mut add = |head, rank, cell: &dyn Fn(&Row) -> Option<Cell>| {
        let cells: Vec<Option<Cell>> = rows.iter().map(cell).collect();
        // A column in which nothing is known says nothing.
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|c| c.unwrap_or_else(|| "–".into())).collect();
            columns.push(Column { head, text: rank == 0, rank, cells });
        }
    };
    let alone = rows.iter().any(|r| r.flow.is_some());
    if alone {
        add(["flow", ""], 0, &|r| r.flow.map(|f| printable(&f.name).into()));
    }
    add(["total", "Mbit/s"], 255, &|r| Some(total(r)));
    add(["of", "limit"], 90, &|r| {
        r.share().map(|s| Cell { text: format!("{:.0}%", s * 100.0), tone: tone_of_share(s) })
    });
    if rows.iter().any(|r| r.compared().len() > 1) {
        add(["each", "Mbit/s"], 40, &|r| each(r));
        add(["Jain", ""], 50, &|r| {
            (r.flow.is_none() && r.compared().len() > 1)
                .then(|| format!("{:.3}", r.variant.jain_index).into())
        });
    }
    add(["lost", "%"], 60, &|r| r.lost().map(|s| percent(s).into()));
    add(["resent", ""], 70, &|r| Some(count(r.sum(|f| f.retransmitted_packets)).into()));
    add(["RTO", ""], 65, &|r| {
        let n = r.sum(|f| f.timeouts);
        Some(Cell { text: count(n), tone: if n > 0 { Tone::Fair } else { Tone::Plain } })
    });
    add(["RTT ms", "p50/p95"], 80, &|r| {
        let (p50, p95) = (r.rtt(|f| f.rtt_ms.p50)?, r.rtt(|f| f.rtt_ms.p95)?);
        Some(format!("{}/{}", millis(p50), millis(p95)).into())
    });
    add(["drops", ""], 20, &|r| {
        (!r.elements().is_empty()).then(|| count(r.elements().iter().map(|e| e.dropped_packets).sum()).into())
    });
    add(["max", "queue"], 30, &|r| {
        r.elements().iter().map(|e| e.max_queue_packets).max().map(|n| count(n).into())
    });
    let mut text = render(columns, style);
    if let Some(repeats) = run.variants.iter().find_map(|v| v.repeats.as_ref()) {
        let note = format!("means of {} repeats, ± the 95 % interval", repeats.n);
        text += &(style.paint(Tone::Dim, &note) + "\n");
    }
    text
}

/// The variant's name, once for all its flows.
fn names(rows: &[Row]) -> Column {
    let mut last: Option<&Variant> = None;
    let mut cells = Vec::new();
    for row in rows {
        let seen = last.is_some_and(|v| std::ptr::eq(v, row.variant));
        cells.push(if seen { Cell::default() } else { printable(&row.variant.name).into() });
        last = Some(row.variant);
    }
    Column { head: ["variant", ""], text: true, rank: 0, cells }
}

fn total(row: &Row) -> Cell {
    let mean = short(row.goodput());
    match row.interval() {
        Some(e) => format!("{mean} ±{}", alike(e.ci95, &mean)).into(),
        None => mean.into(),
    }
}

fn each(row: &Row) -> Option<Cell> {
    let goodputs: Vec<f64> = row.compared().iter().map(|f| f.goodput_mbps).collect();
    let low = goodputs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = goodputs.iter().copied().fold(0.0, f64::max);
    (row.flow.is_none() && !goodputs.is_empty()).then(|| range(low, high).into())
}
