//! Path MTU, ECN and DSCP of a direction, by datagrams.

use super::model::{Direction, Marks, MeasuredPath};
use super::trains::send;
use ::measure::TrainOrder;
use ::measure::client::{Client, ClientError, TrainResult};
use std::collections::BTreeSet;
use std::time::Duration;

/// Sizes of IP packets of the first round, bytes; the last ones are frames that some devices carry.
const SIZES: [u16; 18] = [
    576, 1000, 1200, 1280, 1300, 1320, 1340, 1360, 1380, 1400, 1420, 1440, 1460, 1480, 1500, 2000, 4000, 9000,
];
/// Maximum gap between two sizes that a second round closes byte by byte.
const MAX_GAP: u16 = 20;
/// Copies of each probe: a single loss decides nothing.
const COPIES: usize = 3;
/// Rate of probes, bit/s.
const PROBE_RATE: u64 = 2_000_000;

/// Codepoints that are tried: name and TOS. DSCPs as in RFC 2474, 2597, 3246 and 3662.
const MARKS: [(&str, u8); 8] = [
    ("ECT(0)", 0b10),
    ("ECT(1)", 0b01),
    ("CE", 0b11),
    ("CS1", 8 << 2),
    ("AF11", 10 << 2),
    ("AF41", 34 << 2),
    ("EF", 46 << 2),
    ("CS6", 48 << 2),
];

/// Measures a direction.
///
/// # Errors
/// Fails when the server refuses or cannot be reached.
pub fn path(
    client: &mut Client,
    direction: Direction,
    rtt: Duration,
    headers: u16,
) -> Result<MeasuredPath, ClientError> {
    let mut probe = |sizes: &[u16]| -> Result<BTreeSet<u16>, ClientError> {
        let payloads: Vec<u16> = sizes.iter().map(|size| size - headers).collect();
        let train = send(client, direction, &probes(payloads, vec![0], true), rtt)?;
        let arrived = train.packets.iter().filter(|p| p.arrived_us.is_some());
        Ok(arrived.map(|p| p.size + headers).collect())
    };
    let mtu = largest(&mut probe)?;
    let tos: Vec<u8> = MARKS.iter().map(|(_, tos)| *tos).collect();
    let train = send(client, direction, &probes(vec![200], tos, false), rtt)?;
    let marks = MARKS.iter().map(|(name, tos)| Marks {
        name: (*name).into(),
        sent: *tos,
        arrived: arrived_as(&train, *tos),
    });
    Ok(MeasuredPath { mtu: mtu.map(u32::from), marks: marks.collect(), ..MeasuredPath::default() })
}

fn probes(sizes: Vec<u16>, tos: Vec<u8>, whole: bool) -> TrainOrder {
    let count = (sizes.len().max(tos.len()) * COPIES) as u32;
    TrainOrder { first: 0, sizes, tos, count, rate: PROBE_RATE, whole }
}

/// Finds the largest packet that passes; `probe` returns which of some sizes do.
fn largest<E>(probe: &mut impl FnMut(&[u16]) -> Result<BTreeSet<u16>, E>) -> Result<Option<u16>, E> {
    let Some(passes) = probe(&SIZES)?.last().copied() else { return Ok(None) };
    let next = SIZES.into_iter().find(|size| *size > passes);
    Ok(match next.filter(|next| next - passes <= MAX_GAP) {
        Some(next) => {
            let between: Vec<u16> = (passes + 1..next).collect();
            Some(probe(&between)?.last().copied().unwrap_or(passes))
        }
        None => Some(passes),
    })
}

/// Returns how most of the datagrams with a codepoint arrived; `None` where none did.
fn arrived_as(train: &TrainResult, tos: u8) -> Option<u8> {
    let mut seen: Vec<u8> =
        train.packets.iter().filter(|p| p.tos == tos).filter_map(|p| p.arrived_tos).collect();
    seen.sort_unstable();
    seen.get(seen.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mtu_is_found_to_the_byte() {
        for mtu in [576, 1280, 1281, 1419, 1438, 1492, 1500, 9000] {
            let mut rounds = 0;
            let mut probe = |sizes: &[u16]| {
                rounds += 1;
                Ok::<_, ()>(sizes.iter().copied().filter(|size| *size <= mtu).collect())
            };
            assert_eq!(largest(&mut probe), Ok(Some(mtu)));
            assert!(rounds <= 2, "{rounds} rounds");
        }
        assert_eq!(largest(&mut |_| Ok::<_, ()>(BTreeSet::new())), Ok(None), "nothing passes");
    }
}
