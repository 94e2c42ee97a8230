//! One scored flow: its truth and its verdict, as a row of a table that can be kept as CSV.

use crate::{FlowTruth, LimiterTruth};
use result::diagnosis::{Diagnosis, FlowDiagnosis, Limiter, LimiterKind};

/// Least share of its time for a flow to count as policed. It must also have a drop at a policer.
const POLICED_SHARE: f64 = 0.3;

/// A limiter in a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limit {
    /// `policer`, `shaper`, `bottleneck`, or empty for none.
    pub kind: String,
    /// Mbit/s.
    pub rate: Option<f64>,
    /// Bytes.
    pub burst: Option<f64>,
    /// The law by which its queue drops, or empty for none: `codel`.
    pub aqm: String,
}

/// A flow scored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Number of the case, or the name of the trace.
    pub case: String,
    /// Sender, `address:port`.
    pub from: String,
    /// `sender`, `middle`, `receiver`.
    pub vantage: String,
    /// Number of flows of the case.
    pub flows: usize,
    /// The intended cause.
    pub intended: String,
    /// Rate of the intended limiter, Mbit/s.
    pub rate: f64,
    /// Right causes, the greatest first; empty where the truth is undecided.
    pub right: Vec<String>,
    /// Main cause as diagnosed; `missing` where the flow is not in the diagnosis.
    pub verdict: String,
    /// Confidence of the verdict.
    pub confidence: f64,
    /// Alternatives, the more probable first; not in the CSV.
    pub alternatives: Vec<String>,
    /// Whether a policer limits it; `None` if a policer dropped packets but did not matter.
    pub policed: Option<bool>,
    /// The true limiter.
    pub limiter: Limit,
    /// The reported limiter.
    pub found: Limit,
}

/// The header of the CSV.
pub const COLUMNS: &str = "case,from,vantage,flows,intended,rate_mbps,right,verdict,confidence,policed,\
                           limiter,limiter_rate_mbps,limiter_burst_bytes,found,found_rate_mbps,found_burst_bytes,\
                           aqm,found_aqm";

fn name(kind: LimiterKind) -> &'static str {
    match kind {
        LimiterKind::Policer => "policer",
        LimiterKind::Shaper => "shaper",
        LimiterKind::Bottleneck => "bottleneck",
    }
}

impl From<&Limiter> for Limit {
    fn from(l: &Limiter) -> Limit {
        let rate = l.rate_range_mbps.is_none().then_some(l.rate_mbps);
        let aqm = l.aqm.map_or("", |_| "codel").into();
        Limit { kind: name(l.kind).into(), rate, burst: l.burst_bytes, aqm }
    }
}

impl From<&LimiterTruth> for Limit {
    fn from(l: &LimiterTruth) -> Limit {
        let aqm = l.aqm.as_deref().unwrap_or_default().into();
        Limit { kind: l.kind.to_string(), rate: Some(l.rate_mbps), burst: l.burst_bytes, aqm }
    }
}

impl Limit {
    fn csv(&self) -> String {
        let number = |n: Option<f64>| n.map_or(String::new(), |n| format!("{n:.6}"));
        format!("{},{},{}", self.kind, number(self.rate), number(self.burst))
    }

    fn parse(fields: &[&str], aqm: &str) -> Option<Limit> {
        let number = |i: usize| fields.get(i).and_then(|f| f.parse().ok());
        Some(Limit { kind: fields.first()?.to_string(), rate: number(1), burst: number(2), aqm: aqm.into() })
    }
}

impl Line {
    /// Scores the diagnosis of a flow with known truth.
    pub fn of(truth: &FlowTruth, diagnosis: &Diagnosis) -> Line {
        let same = |f: &&FlowDiagnosis| f.from == truth.from && f.to == truth.to;
        let flow = diagnosis.flows.iter().find(same);
        let found = flow.and_then(|f| f.limiter).and_then(|i| diagnosis.limiters.get(i));
        let drops = truth.lost.get("policer").copied().unwrap_or(0);
        Line {
            from: truth.from.clone(),
            right: truth.right.iter().map(|s| s.to_string()).collect(),
            verdict: flow.map_or("missing", |f| f.cause.name()).into(),
            confidence: flow.map_or(0.0, |f| f.confidence),
            alternatives: flow
                .map_or(Vec::new(), |f| f.alternatives.iter().map(|a| a.cause.name().into()).collect()),
            policed: match truth.policed_share {
                share if share >= POLICED_SHARE && drops > 0 => Some(true),
                _ if drops == 0 => Some(false),
                _ => None,
            },
            limiter: truth.limiter.as_ref().map(Limit::from).unwrap_or_default(),
            found: found.map(Limit::from).unwrap_or_default(),
            ..Line::default()
        }
    }

    /// Whether the main cause is right; `None` where the truth is undecided.
    pub fn is_right(&self) -> Option<bool> {
        (!self.right.is_empty()).then(|| self.right.contains(&self.verdict))
    }

    /// Whether the diagnosis names a policer, as main cause or as another.
    pub fn names_policer(&self) -> bool {
        self.verdict == "policed" || self.found.kind == "policer"
    }

    /// Whether the found limiter works as the true one does: both drop, or both delay.
    pub fn finds_alike(&self) -> bool {
        let drops = [&self.limiter, &self.found].map(|l| l.kind == "policer");
        !self.found.kind.is_empty() && drops[0] == drops[1]
    }

    /// Returns the relative error of the rate, where such a limiter is found with one rate.
    pub fn rate_error(&self) -> Option<f64> {
        let (truth, found) = (self.limiter.rate?, self.found.rate?);
        self.finds_alike().then(|| found / truth - 1.0)
    }

    /// Returns the relative error of the bucket, where the kind is right and a bucket is given.
    pub fn burst_error(&self) -> Option<f64> {
        let (truth, found) = (self.limiter.burst?, self.found.burst?);
        (self.found.kind == self.limiter.kind).then(|| found / truth - 1.0)
    }

    /// Returns the row as CSV.
    pub fn csv(&self) -> String {
        let policed = self.policed.map_or("", |p| if p { "yes" } else { "no" });
        format!(
            "{},{},{},{},{},{:.6},{},{},{:.3},{policed},{},{},{},{}",
            self.case,
            self.from,
            self.vantage,
            self.flows,
            self.intended,
            self.rate,
            self.right.join("|"),
            self.verdict,
            self.confidence,
            self.limiter.csv(),
            self.found.csv(),
            self.limiter.aqm,
            self.found.aqm
        )
    }

    /// Returns header and rows as CSV.
    pub fn table(lines: &[&Line]) -> String {
        let rows: String = lines.iter().map(|l| l.csv() + "\n").collect();
        format!("{COLUMNS}\n{rows}")
    }

    /// Parses a row of CSV; `None` for the header and for lines that are not rows.
    pub fn parse(line: &str) -> Option<Line> {
        let f: Vec<&str> = line.split(',').collect();
        if f.len() != 18 || f[0] == "case" {
            return None;
        }
        Some(Line {
            case: f[0].into(),
            from: f[1].into(),
            vantage: f[2].into(),
            flows: f[3].parse().ok()?,
            intended: f[4].into(),
            rate: f[5].parse().ok()?,
            right: f[6].split('|').filter(|s| !s.is_empty()).map(String::from).collect(),
            verdict: f[7].into(),
            confidence: f[8].parse().ok()?,
            policed: match f[9] {
                "yes" => Some(true),
                "no" => Some(false),
                _ => None,
            },
            limiter: Limit::parse(&f[10..13], f[16])?,
            found: Limit::parse(&f[13..16], f[17])?,
            alternatives: Vec::new(),
        })
    }
}
