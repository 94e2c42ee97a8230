//! The page of a diagnosis: the same HTML file as a result's page (`crate::page`), with the capture's data.

use super::encode::{Packets, encode};
use super::figures::FlowFigures;
use super::rows::Rows;
use super::{notes, summary, udp};
use crate::page::PageData;
use crate::page::shell::{Both, with_script};
use crate::strings::{Lang, text};
use result::diagnosis::{CaptureInfo, CauseSpan, Limiter, UdpFlowDiagnosis};
use result::{Cause, Diagnosis, FlowDiagnosis};
use serde::Serialize;
use track::PacketKind;

/// Flows in the page's table; `flows.parquet` has all of them.
const MAX_FLOWS: usize = 300;
/// UDP flows in the page's table: fewer, as each has curves of its own.
const MAX_UDP_FLOWS: usize = 50;

/// The kinds of packets by their number.
const KINDS: [PacketKind; 6] = [
    PacketKind::Ack,
    PacketKind::Data,
    PacketKind::Fast,
    PacketKind::Timeout,
    PacketKind::Probe,
    PacketKind::Reordered,
];

/// The data of the page of a capture.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "CapturePage"))]
pub(crate) struct CapturePage<'a> {
    /// `longfat-diagnosis/4`.
    format: &'static str,
    /// longfat's version.
    longfat: &'static str,
    /// The language to open in.
    lang: Lang,
    /// The capture file.
    capture: &'a CaptureInfo,
    /// Policers, shapers and bottlenecks on the path.
    limiters: &'a [Limiter],
    /// Names of the packets' kinds, by number.
    kinds: [&'static str; KINDS.len()],
    /// Names of causes, by number.
    causes: [&'static str; Cause::ALL.len()],
    /// The summary of each group of flows.
    summaries: Both<Vec<PageSummary>>,
    /// Notes on the capture's defects and gaps.
    notes: Both<Vec<String>>,
    /// TCP flows, the one with most bytes first.
    flows: Vec<PageFlow>,
    /// TCP flows that the page leaves out.
    more: usize,
    /// UDP flows, the one with most bytes first.
    udp: Vec<PageUdpFlow<'a>>,
    /// UDP flows that the page leaves out.
    more_udp: u64,
}

/// A UDP flow: its diagnosis, and the words of the terminal's table.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "CaptureUdpFlow"))]
struct PageUdpFlow<'a> {
    #[serde(flatten)]
    diagnosis: &'a UdpFlowDiagnosis,
    /// Share of the flow's packets that were lost, 0 to 1; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<f64>,
    /// The protocol, in both languages.
    protocol_text: Both<String>,
}

impl<'a> PageUdpFlow<'a> {
    fn of(flow: &'a UdpFlowDiagnosis) -> PageUdpFlow<'a> {
        let protocol_text = Both::of(|lang| udp::protocol(flow, lang));
        PageUdpFlow { diagnosis: flow, lost: udp::lost_share(flow), protocol_text }
    }
}

/// The summary of a group of flows.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PageSummary {
    /// The headline: what limited the flows and what to do about it.
    text: String,
    /// The evidence, a short line each.
    facts: Vec<String>,
    /// The flows' numbers; empty for a sentence on the flows that no group names.
    flows: Vec<u32>,
    /// The flows' main cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
}

/// A TCP flow: its diagnosis without the timeline, and what else the page needs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "CaptureFlow"))]
struct PageFlow {
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "FlowDiagnosis"))]
    diagnosis: serde_json::Value,
    /// Computed figures for the tables.
    figures: FlowFigures,
    /// The timeline of the causes.
    ribbon: Ribbon,
    /// The packets; null except for the flows with most bytes.
    packets: Option<Packets>,
}

/// A timeline of causes: each cause applies from its time on; the last time is the end.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Ribbon {
    /// Times, seconds.
    at: Vec<f64>,
    /// Indices into `causes`.
    cause: Vec<usize>,
}

/// The data that [`page`] embeds, for a page that is already loaded: its JSON, and the blob `series-N` of
/// each flow N with packets, in the order of the flows.
pub fn page_data(d: &Diagnosis, rows: &Rows, lang: Lang) -> PageData {
    let (page, series) = data(d, rows, lang);
    // Strings, numbers and options always serialise.
    let json = serde_json::to_string(&page).unwrap_or_default();
    PageData { json, series: series.into_iter().map(|(_, bytes)| bytes).collect() }
}

/// The page's data, and each flow's packets by the id of their script element.
fn data<'a>(d: &'a Diagnosis, rows: &Rows, lang: Lang) -> (CapturePage<'a>, Vec<(String, Vec<u8>)>) {
    let start = (d.capture.start_s.max(0.0) * 1e9).round() as u64;
    let mut blobs = Vec::new();
    let mut room = rows.shown();
    let mut flow = |f: &FlowDiagnosis| {
        let packets = rows.of(f.id).filter(|_| room > 0).map(|kept| {
            room -= 1;
            let name = format!("series-{}", f.id);
            let (packets, blob) = encode(&name, kept, start);
            blobs.push((name, blob));
            packets
        });
        let figures = FlowFigures::of(f);
        PageFlow { diagnosis: without_timeline(f), figures, ribbon: ribbon(&f.timeline), packets }
    };
    let flows = d.flows.iter().take(MAX_FLOWS).map(&mut flow).collect();
    let page = CapturePage {
        format: result::DIAGNOSIS_SCHEMA,
        longfat: env!("CARGO_PKG_VERSION"),
        lang,
        capture: &d.capture,
        limiters: &d.limiters,
        kinds: KINDS.map(PacketKind::name),
        causes: Cause::ALL.map(Cause::name),
        summaries: Both::of(|lang| summaries(d, lang)),
        notes: Both::of(|lang| notes::notes(d, lang)),
        flows,
        more: d.flows.len().saturating_sub(MAX_FLOWS),
        udp: d.udp_flows.iter().take(MAX_UDP_FLOWS).map(PageUdpFlow::of).collect(),
        more_udp: d.udp_flows.len().saturating_sub(MAX_UDP_FLOWS) as u64 + d.capture.omitted_udp_flows,
    };
    (page, blobs)
}

/// The page as HTML, which opens in `lang`, with the packets that `rows` kept.
pub fn page(d: &Diagnosis, rows: &Rows, lang: Lang) -> String {
    let (page, series) = data(d, rows, lang);
    let title = format!("{}: {}", text("diag.page.title", lang), d.capture.file);
    let summaries = if lang == Lang::Zh { &page.summaries.zh } else { &page.summaries.en };
    let headlines: Vec<&str> = summaries.iter().map(|s| s.text.as_str()).collect();
    with_script(lang, &title, &headlines, &page, series.iter().map(|(id, bytes)| (id.clone(), bytes)))
}

fn summaries(d: &Diagnosis, lang: Lang) -> Vec<PageSummary> {
    let (groups, rest) = summary::summary(d, lang);
    let of_group = |s: summary::GroupSummary| PageSummary {
        text: s.headline,
        facts: s.facts,
        flows: s.flows,
        cause: Some(s.cause.name()),
    };
    let bare = |text, facts| PageSummary { text, facts, flows: Vec::new(), cause: None };
    let rest = rest.into_iter().map(|text| bare(text, Vec::new()));
    let udp = (!d.udp_flows.is_empty()).then(|| {
        let n = d.udp_flows.len() as u64 + d.capture.omitted_udp_flows;
        let list = crate::strings::fill("diag.udp.list", lang, &[("n", &n.to_string())]);
        let text: Vec<String> = udp::sentences(d, lang).into_iter().chain([list]).collect();
        bare(text.join(" "), Vec::new())
    });
    groups.into_iter().map(of_group).chain(rest).chain(udp).collect()
}

/// The flow as JSON without its timeline, whose spans with all their keys would be most of the page.
fn without_timeline(f: &FlowDiagnosis) -> serde_json::Value {
    let bare = FlowDiagnosis { timeline: Vec::new(), ..f.clone() };
    let mut value = serde_json::to_value(bare).unwrap_or_default();
    if let Some(map) = value.as_object_mut() {
        map.remove("timeline");
    }
    value
}

fn ribbon(timeline: &[CauseSpan]) -> Ribbon {
    let index = |cause| Cause::ALL.iter().position(|&c| c == cause).unwrap_or(0);
    let micro = |s: f64| (s * 1e6).round() / 1e6;
    let last = timeline.last();
    Ribbon {
        at: timeline.iter().map(|s| micro(s.from_s)).chain(last.map(|s| micro(s.to_s))).collect(),
        cause: timeline.iter().chain(last).map(|s| index(s.cause)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_the_order_of_their_numbers() {
        for (i, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, i, "{}", kind.name());
        }
    }

    #[test]
    fn a_file_name_with_markup_is_escaped() {
        let file = "</script><script>pwned=1</script>{{data}}<!--".to_string();
        let d = Diagnosis { capture: CaptureInfo { file, ..CaptureInfo::default() }, ..Diagnosis::default() };
        let text = page(&d, &Rows::new(8, &[], 100), Lang::En);
        let harmless = page(&Diagnosis::default(), &Rows::new(8, &[], 100), Lang::En);
        for tag in ["<script", "</script", "<!--"] {
            assert_eq!(text.matches(tag).count(), harmless.matches(tag).count(), "{tag}");
        }
    }
}
