//! What helps: the variants that carry more than the subject, or as much more gently, and what each changes.

use super::change::{Change, change};
use super::{ALIKE, GAIN, Named, goodput, lost, quoted, rtt, times, whole};
use crate::number::{percent, short};
use crate::strings::{Lang, fill};
use crate::summary::Row;

/// Another variant, and what it changes of the subject.
pub(super) struct StoryRemedy<'a, 'b> {
    change: Change,
    pub other: &'b Named<'a>,
}

/// The best change of the path, the best change of congestion control; both at once where that is better still.
/// Two at most, what carries most first.
pub(super) fn remedies<'a, 'b>(subject: &Named, group: &[&'b Named<'a>]) -> Vec<StoryRemedy<'a, 'b>> {
    let own = goodput(&subject.row);
    let others = group.iter().filter(|n| !std::ptr::eq(**n, subject));
    let mut tried: Vec<StoryRemedy> =
        others.map(|&other| StoryRemedy { change: change(&subject.row, &other.row), other }).collect();
    let best = |is: &dyn Fn(&Change) -> bool| {
        let more = |r: &&StoryRemedy| is(&r.change) && r.carries() > GAIN * own;
        let top = tried.iter().filter(more).map(StoryRemedy::carries).fold(0.0, f64::max);
        let near = (0..tried.len()).filter(|&i| more(&&tried[i]) && tried[i].carries() > 0.98 * top);
        near.min_by(|&i, &j| tried[i].waits().total_cmp(&tried[j].waits()))
    };
    let mut chosen: Vec<usize> =
        [best(&Change::is_of_path), best(&Change::is_of_control)].into_iter().flatten().collect();
    let top = chosen.iter().map(|&i| tried[i].carries()).fold(0.0, f64::max);
    chosen.extend(best(&Change::is_several).filter(|&i| tried[i].carries() > (1.0 + ALIKE) * top));
    chosen.sort_by(|&i, &j| tried[j].carries().total_cmp(&tried[i].carries()));
    if chosen.is_empty() {
        chosen.extend(gentler(&subject.row, &tried));
    }
    chosen.truncate(2);
    let mut kept: Vec<Option<StoryRemedy>> = tried.drain(..).map(Some).collect();
    chosen.into_iter().filter_map(|i| kept[i].take()).collect()
}

/// Where nothing carries more: what carries as much and loses far less, or waits far less.
fn gentler(own: &Row, tried: &[StoryRemedy]) -> Option<usize> {
    let better = |r: &StoryRemedy| {
        let less_lost = lost(own) >= 0.01 && lost(&r.other.row) < 0.5 * lost(own);
        let sooner = r.waits() < 0.75 * rtt(own) && lost(&r.other.row) <= lost(own) + 0.01;
        r.carries() > (1.0 - ALIKE) * goodput(own) && (less_lost || sooner)
    };
    let gentle = (0..tried.len()).filter(|&i| better(&tried[i]));
    gentle.min_by(|&i, &j| tried[i].waits().total_cmp(&tried[j].waits()))
}

impl StoryRemedy<'_, '_> {
    fn carries(&self) -> f64 {
        goodput(&self.other.row)
    }

    fn waits(&self) -> f64 {
        rtt(&self.other.row)
    }

    /// What a change gains and costs.
    pub fn say(&self, own: &Row, lang: Lang) -> String {
        let StoryRemedy { change, other } = self;
        let gain = goodput(&other.row) / goodput(own);
        let how = change.say(&quoted(&other.name), lang);
        let mut text = if goodput(own) <= 0.0 {
            fill("story.remedy.some", lang, &[("how", &how), ("goodput", &short(goodput(&other.row)))])
        } else if gain > GAIN {
            fill("story.remedy.more", lang, &[("how", &how), ("times", &times(gain))])
        } else {
            fill("story.remedy.same", lang, &[("how", &how)])
        };
        let slower = rtt(&other.row) - rtt(own);
        if slower.abs() >= 1.0 && slower.abs() >= 0.05 * rtt(own) && rtt(own) > 0.0 {
            let key = if slower > 0.0 { "story.delay.more" } else { "story.delay.less" };
            text += &fill(key, lang, &[("ms", &whole(slower.abs()))]);
        }
        let (before, after) = (lost(own), lost(&other.row));
        if before.max(after) >= 0.01 && (after < before / 3.0 || after > 3.0 * before) {
            text += &fill("story.losing", lang, &[("after", &percent(after))]);
        }
        text
    }
}
