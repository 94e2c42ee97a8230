//! The page: one self-contained HTML file of one or several results.
//!
//! The page is built from `web/`; what is put into it is here, how in [`shell`].

pub(crate) mod columns;
mod plain;
pub(crate) mod shell;
pub use columns::packed;
pub use plain::PlainPage;

use crate::bands::PlottedSeries;
use crate::both::{has_both, label};
use crate::figures::VariantFigures;
use crate::story::{GoalRow, story};
use crate::strings::Lang;
use crate::warnings::warnings;
use result::{Clock, Run};
use serde::Serialize;
use shell::{Both, with_script};

/// A result and its series.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// What to call it beside others: its folder's name.
    pub label: &'a str,
    /// The summary.
    pub run: &'a Run,
    /// Series of each of the run's variants, in their order; may be shorter, or empty.
    pub series: &'a [PlottedSeries<'a>],
}

impl Shown<'_> {
    /// What to call each of the run's variants: with the clock where there are two, with the result where
    /// there are `several`.
    pub fn names(&self, several: bool) -> Vec<String> {
        let before = if several { format!("{} ", self.label) } else { String::new() };
        let both = has_both(self.run);
        self.run.variants.iter().map(|v| before.clone() + &label(v, both)).collect()
    }
}

/// The data of the page of results.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Page"))]
pub(crate) struct ResultPage<'a> {
    /// `longfat-report/1`.
    format: &'static str,
    /// Version of longfat.
    longfat: &'static str,
    /// The language to open in.
    lang: Lang,
    /// The sentence on top.
    story: PageStory,
    /// How everything was run.
    facts: Facts,
    /// Results in the order they were given.
    results: Vec<PageResult<'a>>,
}

/// The sentence on top.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PageStory {
    /// English.
    en: String,
    /// Chinese.
    zh: String,
    /// What the sentence rests on and what its advice costs, a line each.
    facts: Both<Vec<String>>,
    /// What helps, where the variants are judged by several goals; else the sentence says it.
    goals: Both<Vec<GoalRow>>,
    /// The variants it is about, the baseline first, as result and variant.
    about: Vec<[usize; 2]>,
}

/// How the variants of all results were run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Facts {
    /// Each once.
    clocks: Vec<Clock>,
    /// Each once.
    seeds: Vec<u64>,
    /// The shortest and the longest, seconds; 0 without any.
    duration_s: [f64; 2],
    /// How many.
    variants: usize,
    /// The most that any was repeated; 0 for none.
    repeats: usize,
}

impl Facts {
    fn of(runs: &[(&str, &Run)]) -> Facts {
        let mut facts = Facts {
            clocks: vec![],
            seeds: vec![],
            duration_s: [f64::INFINITY, 0.0],
            variants: 0,
            repeats: 0,
        };
        for (_, run) in runs {
            if !facts.seeds.contains(&run.seed) {
                facts.seeds.push(run.seed);
            }
            for variant in &run.variants {
                if !facts.clocks.contains(&variant.clock) {
                    facts.clocks.push(variant.clock);
                }
                let [least, most] = facts.duration_s;
                facts.duration_s = [least.min(variant.duration_s), most.max(variant.duration_s)];
                facts.variants += 1;
                facts.repeats = facts.repeats.max(variant.repeats.as_ref().map_or(0, |r| r.n));
            }
        }
        if facts.variants == 0 {
            facts.duration_s = [0.0; 2];
        }
        facts
    }
}

/// A result on the page.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Result"))]
struct PageResult<'a> {
    /// What to call it beside others.
    label: &'a str,
    /// The summary.
    run: &'a Run,
    /// The run's warnings, in its order.
    warnings: Vec<Both<String>>,
    /// What tables say of each variant, in the order of `run.variants`.
    figures: Vec<VariantFigures>,
    /// Each variant's series, in that order; null where nothing was sampled.
    series: Vec<Option<columns::SeriesDirectory>>,
}

/// What the page reads, for a page that is there already: the web explorer's.
#[derive(Clone, Debug, PartialEq)]
pub struct PageData {
    /// As in the page's script element `data`.
    pub json: String,
    /// The columns of each variant that was sampled, as in the page's `series-0`, `series-1` … but neither
    /// deflated nor in base64.
    pub series: Vec<Vec<u8>>,
}

/// What [`page`] puts into the page.
pub fn page_data(results: &[Shown], lang: Lang) -> PageData {
    let (page, series) = data(results, lang);
    // Strings, numbers and options only: nothing in a page can fail to serialise.
    PageData { json: serde_json::to_string(&page).unwrap_or_default(), series }
}

/// The page's data, and the columns by their number.
fn data<'a>(results: &'a [Shown<'a>], lang: Lang) -> (ResultPage<'a>, Vec<Vec<u8>>) {
    let mut blobs: Vec<Vec<u8>> = Vec::new();
    let entries = results.iter().map(|shown| {
        let series = (0..shown.run.variants.len()).map(|i| {
            let of = shown.series.get(i).copied().unwrap_or_default();
            let (directory, blob) = columns::encode(&format!("series-{}", blobs.len()), of)?;
            blobs.push(blob);
            Some(directory)
        });
        let series = series.collect();
        let figures = shown.run.variants.iter().map(VariantFigures::of).collect();
        let warnings = warnings(shown.run, Lang::En).into_iter().zip(warnings(shown.run, Lang::Zh));
        let warnings = warnings.map(|(en, zh)| Both { en, zh }).collect();
        PageResult { label: shown.label, run: shown.run, warnings, figures, series }
    });
    let results_of = entries.collect();
    let runs: Vec<(&str, &Run)> = results.iter().map(|r| (r.label, r.run)).collect();
    let told = story(&runs);
    let told = PageStory {
        en: told.headline(Lang::En),
        zh: told.headline(Lang::Zh),
        facts: Both::of(|lang| told.facts(lang)),
        goals: Both::of(|lang| told.rows(lang)),
        about: told.about,
    };
    let page = ResultPage {
        format: "longfat-report/1",
        longfat: env!("CARGO_PKG_VERSION"),
        lang,
        story: told,
        facts: Facts::of(&runs),
        results: results_of,
    };
    (page, blobs)
}

/// The page as text, in `lang` when it is opened; the same results give the same bytes.
pub fn page(results: &[Shown], lang: Lang) -> String {
    let (page, series) = data(results, lang);
    let title: Vec<&str> = results.iter().map(|r| r.run.scenario.as_str()).collect();
    let told = if lang == Lang::Zh { &page.story.zh } else { &page.story.en };
    let series = series.iter().enumerate().map(|(number, bytes)| (format!("series-{number}"), bytes));
    with_script(lang, &title.join(", "), &[told], &page, series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{FlowResult, VariantResult};

    const NAMES: [&str; 5] = [
        "</script><script>window.pwned=1</script>",
        "\"><img src=x onerror=alert(1)>'&amp;",
        "<!--<script>",
        "{{data}}{{series}}{{title}}",
        "\u{202e}\u{2028}\u{0}",
    ];

    fn run() -> Run {
        let flow = FlowResult {
            name: NAMES[1].into(),
            cc: NAMES[3].into(),
            goodput_mbps: 1.0,
            ..FlowResult::default()
        };
        let variants = NAMES.map(|n| VariantResult {
            name: n.into(),
            flows: vec![flow.clone()],
            ..VariantResult::default()
        });
        Run {
            scenario: NAMES[0].into(),
            description: NAMES[2].into(),
            seed: 1,
            variants: variants.into(),
            ..Run::default()
        }
    }

    #[test]
    fn names_are_data_and_come_out_as_they_went_in() {
        let run = run();
        let text = page(&[Shown { label: NAMES[0], run: &run, series: &[] }], Lang::En);
        let harmless = page(&[], Lang::En);
        for tag in ["<script", "</script", "<img", "<!--"] {
            assert_eq!(text.matches(tag).count(), harmless.matches(tag).count(), "{tag}");
        }
        let begin = text.find("id=\"data\">").unwrap() + 10;
        let data = &text[begin..begin + text[begin..].find("</script>").unwrap()];
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["results"][0]["run"], serde_json::to_value(&run).unwrap());
        assert_eq!(data["results"][0]["label"], NAMES[0]);
    }
}
