//! The page of a diagnosis: the same file as a result's (`crate::page`), with other data.

use super::encode::{Packets, encode};
use super::figures::FlowFigures;
use super::rows::Rows;
use super::{notes, told, udp};
use crate::page::PageData;
use crate::page::shell::{Both, with_script};
use crate::strings::{Lang, text};
use result::diagnosis::{CaptureInfo, CauseSpan, Limiter, UdpFlowDiagnosis};
use result::{Cause, Diagnosis, FlowDiagnosis};
use serde::Serialize;
use track::PacketKind;

/// Flows in the page's table: beyond these one filters in `flows.parquet`.
const MOST_FLOWS: usize = 300;
/// Flows of UDP in the page's table: each brings its curves.
const MOST_UDP_FLOWS: usize = 50;

/// Kinds of packets by number.
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
    /// `longfat-diagnosis/3`.
    format: &'static str,
    /// Version of longfat.
    longfat: &'static str,
    /// The language to open in.
    lang: Lang,
    /// The capture.
    capture: &'a CaptureInfo,
    /// What limits flows on the path.
    limiters: &'a [Limiter],
    /// Names of packets' kinds, by number.
    kinds: [&'static str; KINDS.len()],
    /// Names of causes, by number.
    causes: [&'static str; Cause::ALL.len()],
    /// What is said of groups of flows.
    told: Both<Vec<PageTold>>,
    /// What should be known of the capture.
    notes: Both<Vec<String>>,
    /// Most bytes first.
    flows: Vec<PageFlow>,
    /// Flows that are not here.
    more: usize,
    /// Flows of UDP, most bytes first.
    udp: Vec<PageUdpFlow<'a>>,
    /// Flows of UDP that are not here.
    more_udp: u64,
}

/// A flow of UDP: what the diagnosis says of it, and how the terminal's table says it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "CaptureUdpFlow"))]
struct PageUdpFlow<'a> {
    #[serde(flatten)]
    diagnosis: &'a UdpFlowDiagnosis,
    /// Share of its packets that were lost, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<f64>,
    /// What it is, in both languages.
    protocol_text: Both<String>,
}

impl<'a> PageUdpFlow<'a> {
    fn of(flow: &'a UdpFlowDiagnosis) -> PageUdpFlow<'a> {
        let protocol_text = Both::of(|lang| udp::protocol(flow, lang));
        PageUdpFlow { diagnosis: flow, lost: udp::lost_share(flow), protocol_text }
    }
}

/// What is said of a group of flows.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PageTold {
    /// A sentence or two.
    text: String,
    /// The evidence, a short line each.
    facts: Vec<String>,
    /// Numbers of the flows it is about; none of the sentence on the rest.
    flows: Vec<u32>,
    /// Their main cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
}

/// A flow: what the diagnosis says of it, but for its timeline, and what the page needs besides.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "CaptureFlow"))]
struct PageFlow {
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "FlowDiagnosis"))]
    diagnosis: serde_json::Value,
    /// What tables say of it.
    figures: FlowFigures,
    /// Its timeline.
    ribbon: Ribbon,
    /// Null beyond the flows with most bytes.
    packets: Option<Packets>,
}

/// The timeline: from each moment on a cause holds; the last moment is the end.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Ribbon {
    /// Seconds.
    at: Vec<f64>,
    /// Index into `causes`.
    cause: Vec<usize>,
}

/// What [`page`] puts into the page, for a page that is there already: `series-N` of each shown flow N in the order of the
/// flows.
pub fn page_data(d: &Diagnosis, rows: &Rows, lang: Lang) -> PageData {
    let (page, series) = data(d, rows, lang);
    // Strings, numbers and options only: nothing in a page can fail to serialise.
    let json = serde_json::to_string(&page).unwrap_or_default();
    PageData { json, series: series.into_iter().map(|(_, bytes)| bytes).collect() }
}

/// The page's data, and the columns of each shown flow by the id of their script element.
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
    let flows = d.flows.iter().take(MOST_FLOWS).map(&mut flow).collect();
    let page = CapturePage {
        format: result::DIAGNOSIS_SCHEMA,
        longfat: env!("CARGO_PKG_VERSION"),
        lang,
        capture: &d.capture,
        limiters: &d.limiters,
        kinds: KINDS.map(PacketKind::name),
        causes: Cause::ALL.map(Cause::name),
        told: Both::of(|lang| said(d, lang)),
        notes: Both::of(|lang| notes::notes(d, lang)),
        flows,
        more: d.flows.len().saturating_sub(MOST_FLOWS),
        udp: d.udp_flows.iter().take(MOST_UDP_FLOWS).map(PageUdpFlow::of).collect(),
        more_udp: d.udp_flows.len().saturating_sub(MOST_UDP_FLOWS) as u64 + d.capture.forgotten_udp_flows,
    };
    (page, blobs)
}

/// The page as text, in `lang` when it is opened, with the packets that `rows` kept.
pub fn page(d: &Diagnosis, rows: &Rows, lang: Lang) -> String {
    let (page, series) = data(d, rows, lang);
    let title = format!("{}: {}", text("diag.page.title", lang), d.capture.file);
    let told = if lang == Lang::Zh { &page.told.zh } else { &page.told.en };
    let told: Vec<&str> = told.iter().map(|t| t.text.as_str()).collect();
    with_script(lang, &title, &told, &page, series.iter().map(|(id, bytes)| (id.clone(), bytes)))
}

fn said(d: &Diagnosis, lang: Lang) -> Vec<PageTold> {
    let (told, rest) = told::told(d, lang);
    let one = |t: told::Told| PageTold {
        text: t.text,
        facts: t.facts,
        flows: t.flows,
        cause: Some(t.cause.name()),
    };
    let bare = |text, facts| PageTold { text, facts, flows: Vec::new(), cause: None };
    let rest = rest.into_iter().map(|text| bare(text, Vec::new()));
    let udp = (!d.udp_flows.is_empty()).then(|| {
        let n = d.udp_flows.len() as u64 + d.capture.forgotten_udp_flows;
        let list = crate::strings::fill("diag.udp.list", lang, &[("n", &n.to_string())]);
        let text: Vec<String> = udp::told(d, lang).into_iter().chain([list]).collect();
        bare(text.join(" "), Vec::new())
    });
    told.into_iter().map(one).chain(rest).chain(udp).collect()
}

/// Hundreds of spans with all their keys would be most of the page.
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
    fn kinds_are_written_by_their_number() {
        for (i, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, i, "{}", kind.name());
        }
    }

    #[test]
    fn a_files_name_is_text() {
        let file = "</script><script>pwned=1</script>{{data}}<!--".to_string();
        let d = Diagnosis { capture: CaptureInfo { file, ..CaptureInfo::default() }, ..Diagnosis::default() };
        let text = page(&d, &Rows::new(8, &[], 100), Lang::En);
        let harmless = page(&Diagnosis::default(), &Rows::new(8, &[], 100), Lang::En);
        for tag in ["<script", "</script", "<!--"] {
            assert_eq!(text.matches(tag).count(), harmless.matches(tag).count(), "{tag}");
        }
    }
}
