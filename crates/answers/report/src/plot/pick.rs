//! Selects the flows and elements of a plot: the eight largest, each with its colour and name.

use super::Input;
use super::palette::{Color, Palette};
use result::{ElementSeries, FlowResult, FlowSeries};

/// The number of colours in the palette.
pub(super) const MAX_SHOWN: usize = 8;

/// The name in [`FlowSeries::states`] of recovery from a retransmission timeout.
pub(super) const TIMEOUT: &str = "loss";

/// A flow to draw.
pub(super) struct Picked<'a> {
    pub series: &'a FlowSeries,
    pub color: Color,
    pub label: String,
}

/// The indices of the [`MAX_SHOWN`] largest weights in ascending order, and the number of the others.
pub(super) fn largest(weights: &[f64]) -> (Vec<usize>, usize) {
    let mut places: Vec<usize> = (0..weights.len()).collect();
    // The sort is stable, so that the first of equals is kept.
    places.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
    places.truncate(MAX_SHOWN);
    places.sort_unstable();
    let rest = weights.len() - places.len();
    (places, rest)
}

/// The flows with the most delivered bytes among those that the plot can show, and the number of the others.
pub(super) fn flows<'a>(
    input: &Input<'a>,
    colors: &Palette,
    shows: impl Fn(&FlowSeries) -> bool,
) -> (Vec<Picked<'a>>, usize) {
    let all = &input.variant.flows;
    let shown: Vec<(usize, &FlowResult, &FlowSeries)> = all
        .iter()
        .zip(input.flows)
        .enumerate()
        .map(|(i, (flow, series))| (i, flow, series))
        .filter(|(_, _, series)| shows(series))
        .collect();
    let (places, rest) = largest(&shown.iter().map(|s| s.1.delivered_bytes as f64).collect::<Vec<_>>());
    let mixed = all.iter().any(|f| f.cc != all[0].cc);
    let picked = places.into_iter().enumerate().map(|(rank, place)| {
        let (i, flow, series) = shown[place];
        // With few flows, each keeps its colour in all plots.
        let color = colors.flows[if all.len() <= MAX_SHOWN { i } else { rank }];
        let is_named = flow.cc.is_empty() || flow.name.contains(&flow.cc);
        let label =
            if mixed && !is_named { format!("{} ({})", flow.name, flow.cc) } else { flow.name.clone() };
        Picked { series, color, label }
    });
    (picked.collect(), rest)
}

/// The elements with the highest weights above zero, each with its colour, and the number of the others.
pub(super) fn elements<'a>(
    input: &Input<'a>,
    colors: &Palette,
    weight: impl Fn(&ElementSeries) -> f64,
) -> (Vec<(&'a ElementSeries, Color)>, usize) {
    let shown: Vec<(&ElementSeries, f64)> =
        input.elements.iter().map(|e| (e, weight(e))).filter(|(_, weight)| *weight > 0.0).collect();
    let (places, rest) = largest(&shown.iter().map(|s| s.1).collect::<Vec<_>>());
    let picked = places.into_iter().zip(colors.flows).map(|(place, color)| (shown[place].0, color));
    (picked.collect(), rest)
}

/// Whether the flow had started at a row. Datagrams have no states and count as started.
pub(super) fn begun(series: &FlowSeries, row: usize) -> bool {
    !series.state_name(row).is_empty() || series.states.iter().all(String::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_weights_keep_their_order() {
        let weights = [5.0, 1.0, 9.0, 1.0, 5.0, 5.0, 5.0, 5.0, 5.0, 0.5];
        assert_eq!(largest(&weights), (vec![0, 1, 2, 4, 5, 6, 7, 8], 2));
        assert_eq!(largest(&[1.0, f64::NAN]), (vec![0, 1], 0));
    }
}
