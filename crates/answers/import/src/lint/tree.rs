//! Trees of classes whose guarantees do not add up.

use crate::number::rate as rate_text;
use crate::{DraftStage, Reading};
use path::{Class, Stage};

/// Checks children's rates against their parent's rate, and ceilings against the parent's ceiling.
pub(crate) fn shares(stage: &DraftStage, reading: &mut Reading) {
    let Stage::Htb(htb) = &stage.stage else { return };
    let line = |class: &Class| stage.parts.get(&class.name).copied().unwrap_or(stage.line);
    for parent in &htb.classes {
        let children = || htb.classes.iter().filter(|c| c.parent.as_deref() == Some(&parent.name));
        let sum: u64 = children().fold(0, |sum, c| sum.saturating_add(c.rate.as_bps()));
        // Rounding to whole kbit/s is not a mistake.
        if sum > parent.rate.as_bps().saturating_add(parent.rate.as_bps() / 100) {
            let text = format!(
                "class {}: its children are guaranteed {} in total, but it has {}: the guarantees do not hold",
                parent.name,
                rate_text(sum),
                rate_text(parent.rate.as_bps())
            );
            reading.fault(line(parent), "htb-rates", text);
        }
        let most = parent.ceil.unwrap_or(parent.rate);
        for child in children().filter(|c| c.ceil.unwrap_or(c.rate) > most) {
            let text = format!(
                "class {}: its ceil of {} is above the {} of its parent {}, which applies",
                child.name,
                rate_text(child.ceil.unwrap_or(child.rate).as_bps()),
                rate_text(most.as_bps()),
                parent.name
            );
            reading.fault(line(child), "htb-ceil", text);
        }
    }
}
