//! What packets met that were too big for the path: a black hole, a smaller segment, fragments.

use super::{called, percent};
use crate::figures::Row;
use crate::strings::{Lang, fill};
use result::ElementResult;

/// A smaller share of the packets cut into fragments is not worth a word.
const CUT_SHARE: f64 = 0.01;

/// The clauses, the gravest first.
pub(super) fn facts(row: &Row, lang: Lang) -> Vec<String> {
    [black_hole(row, lang), cut_segments(row, lang), fragments(row, lang)].into_iter().flatten().collect()
}

/// The element where most packets did not fit, of those that tell their senders or of those that do not.
fn tightest<'a>(row: &Row<'a>, told: bool) -> Option<&'a ElementResult> {
    let elements = row.elements().into_iter().filter(|e| e.too_big.is_some_and(|t| t.told == told));
    elements.max_by_key(|e| e.too_big_packets)
}

fn black_hole(row: &Row, lang: Lang) -> Option<String> {
    let element = tightest(row, false)?;
    let too_big = element.too_big?;
    let (size, mtu) = (too_big.largest_bytes.to_string(), too_big.mtu_bytes.to_string());
    let what = called("one", &element.kind, lang);
    Some(fill("story.black-hole", lang, &[("what", &what), ("size", &size), ("mtu", &mtu)]))
}

/// The senders were told, and keep to it.
fn cut_segments(row: &Row, lang: Lang) -> Option<String> {
    let mtu = tightest(row, true)?.too_big?.mtu_bytes;
    let sizes = row.compared().into_iter().filter_map(|f| f.mss_bytes);
    // The headers of IP and TCP are 40 bytes, options not counted.
    let largest = sizes.filter(|mss| mss + 40 <= mtu).max()?;
    let values = [("mtu", mtu.to_string()), ("mss", largest.to_string())];
    Some(fill("story.cut-segments", lang, &values.each_ref().map(|(k, v)| (*k, v.as_str()))))
}

fn fragments(row: &Row, lang: Lang) -> Option<String> {
    let element = row.elements().into_iter().max_by_key(|e| e.fragmented_packets)?;
    let (cut, pieces) = (element.fragmented_packets, element.fragments);
    let came = (element.passed_packets + cut).saturating_sub(pieces).max(cut);
    let share = cut as f64 / came.max(1) as f64;
    if share < CUT_SHARE {
        return None;
    }
    let each = ((pieces as f64 / cut as f64).round() as u64).to_string();
    let what = called("dropper", &element.kind, lang);
    let share = percent(share);
    Some(fill("story.fragments", lang, &[("what", &what), ("share", &share), ("n", &each)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{FlowResult, TooBigPackets, VariantResult};

    fn told(element: ElementResult, lang: Lang) -> Vec<String> {
        let flow = FlowResult { name: "f".into(), mss_bytes: Some(1424), ..FlowResult::default() };
        let elements = vec![ElementResult { kind: "tunnel".into(), ..element }];
        let variant = VariantResult { flows: vec![flow], elements, ..VariantResult::default() };
        let plain = |s: String| s.replace('\u{a0}', " ");
        facts(&Row { variant: &variant, flow: None }, lang).into_iter().map(plain).collect()
    }

    fn refusing(told: bool) -> ElementResult {
        let too_big = Some(TooBigPackets { mtu_bytes: 1476, largest_bytes: 1500, told });
        ElementResult { passed_packets: 3, too_big_packets: 7, too_big, ..ElementResult::default() }
    }

    #[test]
    fn each_is_told_where_it_holds() {
        assert_eq!(told(ElementResult::default(), Lang::En), [""; 0]);
        assert_eq!(
            told(refusing(false), Lang::En),
            [
                "packets of 1500 bytes were too big for a tunnel that carries 1476, and the sender never heard of it (a black hole)"
            ]
        );
        assert_eq!(
            told(refusing(true), Lang::En),
            ["the path's MTU of 1476 bytes cut the segments to 1424 bytes"]
        );
        let cutting = ElementResult {
            passed_packets: 1900,
            fragmented_packets: 900,
            fragments: 1800,
            ..ElementResult::default()
        };
        assert_eq!(
            told(cutting.clone(), Lang::En),
            ["the tunnel cut 90.0 % of the packets into 2 fragments each"]
        );
        assert_eq!(told(cutting, Lang::Zh), ["隧道把 90.0 % 的数据包各切成 2 个分片"]);
        assert!(told(refusing(false), Lang::Zh)[0].contains("黑洞"));
    }
}
