//! Clauses on packets too big for the path: an MTU black hole, reduced segments, fragments.

use super::MIN_FRAGMENTED_SHARE;
use super::clause::Clause;
use crate::figures::Row;
use result::ElementResult;

/// The clauses, the most severe first.
pub(super) fn facts(row: &Row) -> Vec<Clause> {
    [black_hole(row), cut_segments(row), fragments(row)].into_iter().flatten().collect()
}

/// The element where the most packets were too big, of those that notify their senders (`notifies`) or of
/// those that do not.
fn tightest<'a>(row: &Row<'a>, notifies: bool) -> Option<&'a ElementResult> {
    let elements = row.elements().into_iter().filter(|e| e.too_big.is_some_and(|t| t.icmp_sent == notifies));
    elements.max_by_key(|e| e.too_big_packets)
}

fn black_hole(row: &Row) -> Option<Clause> {
    let element = tightest(row, false)?;
    let too_big = element.too_big?;
    let (size_bytes, mtu_bytes) = (too_big.largest_bytes, too_big.mtu_bytes);
    Some(Clause::BlackHole {
        element: element.name.clone(),
        kind: element.kind.clone(),
        size_bytes,
        mtu_bytes,
    })
}

/// Senders were notified of the MTU and reduced their segments.
fn cut_segments(row: &Row) -> Option<Clause> {
    let mtu_bytes = tightest(row, true)?.too_big?.mtu_bytes;
    let sizes = row.compared().into_iter().filter_map(|f| f.mss_bytes);
    // IP and TCP headers take 40 bytes without options.
    let mss_bytes = sizes.filter(|mss| mss + 40 <= mtu_bytes).max()?;
    Some(Clause::CutSegments { mtu_bytes, mss_bytes })
}

fn fragments(row: &Row) -> Option<Clause> {
    let element = row.elements().into_iter().max_by_key(|e| e.fragmented_packets)?;
    let (cut, fragments) = (element.fragmented_packets, element.fragments);
    let came = (element.passed_packets + cut).saturating_sub(fragments).max(cut);
    let (name, kind) = (element.name.clone(), element.kind.clone());
    let many = cut as f64 >= MIN_FRAGMENTED_SHARE * came.max(1) as f64;
    many.then_some(Clause::Fragmented { element: name, kind, cut, came, fragments })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strings::Lang;
    use result::{FlowResult, TooBigPackets, VariantResult};

    fn sentences(element: ElementResult, lang: Lang) -> Vec<String> {
        let flow = FlowResult { name: "f".into(), mss_bytes: Some(1424), ..FlowResult::default() };
        let elements = vec![ElementResult { name: "l.forward.vpn".into(), kind: "tunnel".into(), ..element }];
        let variant = VariantResult { flows: vec![flow], elements, ..VariantResult::default() };
        let plain = |s: String| s.replace(['\u{2068}', '\u{2069}'], "").replace('\u{a0}', " ");
        facts(&Row { variant: &variant, flow: None }).iter().map(|c| plain(c.say(lang))).collect()
    }

    fn refusing(notifies: bool) -> ElementResult {
        let too_big = Some(TooBigPackets { mtu_bytes: 1476, largest_bytes: 1500, icmp_sent: notifies });
        ElementResult { passed_packets: 3, too_big_packets: 7, too_big, ..ElementResult::default() }
    }

    #[test]
    fn black_holes_reduced_segments_and_fragments_are_reported() {
        assert_eq!(sentences(ElementResult::default(), Lang::En), [""; 0]);
        assert_eq!(
            sentences(refusing(false), Lang::En),
            [
                "packets of 1500 bytes exceeded the MTU of 1476 bytes of a tunnel at l.forward.vpn, and the sender was not notified (MTU black hole)"
            ]
        );
        assert_eq!(
            sentences(refusing(true), Lang::En),
            ["the path MTU of 1476 bytes reduced segments to 1424 bytes"]
        );
        let cutting = ElementResult {
            passed_packets: 1900,
            fragmented_packets: 900,
            fragments: 1800,
            ..ElementResult::default()
        };
        assert_eq!(
            sentences(cutting.clone(), Lang::En),
            ["the tunnel at l.forward.vpn split 90.0 % of the packets into 2 fragments each"]
        );
        assert_eq!(sentences(cutting, Lang::Zh), ["l.forward.vpn 的隧道把 90.0 % 的数据包各分为 2 个分片"]);
        assert!(sentences(refusing(false), Lang::Zh)[0].contains("黑洞"));
    }
}
