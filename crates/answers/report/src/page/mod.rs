//! The report page: a self-contained HTML file with one or several results.
//!
//! The page itself is built from `web/`. This module assembles its data; [`shell`] embeds them.

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

/// A result with its series.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The result's name among several: its folder's name.
    pub label: &'a str,
    pub run: &'a Run,
    /// Series of the run's variants, in their order; may be shorter, or empty.
    pub series: &'a [PlottedSeries<'a>],
}

impl Shown<'_> {
    /// The names of the run's variants: with the clock if there are two, with the result's label if there are
    /// `several` results.
    pub fn names(&self, several: bool) -> Vec<String> {
        let prefix = if several { format!("{} ", self.label) } else { String::new() };
        let both = has_both(self.run);
        self.run.variants.iter().map(|v| prefix.clone() + &label(v, both)).collect()
    }
}

/// The data of the page of results.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Page"))]
pub(crate) struct ResultPage<'a> {
    /// `longfat-report/1`.
    format: &'static str,
    /// longfat's version.
    longfat: &'static str,
    /// The language to open in.
    lang: Lang,
    /// The headline with its facts.
    story: PageStory,
    /// How everything was run.
    facts: Facts,
    /// Results in the order they were given.
    results: Vec<PageResult<'a>>,
}

/// The headline with its facts.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PageStory {
    /// The headline in English.
    en: String,
    /// The headline in Chinese.
    zh: String,
    /// The numbers behind the headline and the cost of its advice, a line each.
    facts: Both<Vec<String>>,
    /// The table of goals, if there are several.
    goals: Both<Vec<GoalRow>>,
    /// The variants of the headline, the baseline first: indices of the result and of its variant.
    about: Vec<[usize; 2]>,
}

/// How the variants of all results were run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Facts {
    /// The clocks, without repetition.
    clocks: Vec<Clock>,
    /// The seeds, without repetition.
    seeds: Vec<u64>,
    /// Shortest and longest duration of a variant, seconds; 0 without variants.
    duration_s: [f64; 2],
    /// Number of variants.
    variants: usize,
    /// Largest number of repeats of a variant; 0 without repeats.
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
    /// The result's name among several.
    label: &'a str,
    /// The result.
    run: &'a Run,
    /// The run's warnings, in the run's order.
    warnings: Vec<Both<String>>,
    /// Figures of each variant, in the order of `run.variants`.
    figures: Vec<VariantFigures>,
    /// Series of each variant, in the order of `run.variants`; null without samples.
    series: Vec<Option<columns::SeriesDirectory>>,
}

/// The data of a page, for a page that is already loaded: the web explorer's.
#[derive(Clone, Debug, PartialEq)]
pub struct PageData {
    /// The content of the page's script element `data`.
    pub json: String,
    /// The columns of each sampled variant: the content of the page's `series-0`, `series-1`, …, neither
    /// compressed nor in base64.
    pub series: Vec<Vec<u8>>,
}

/// The data that [`page`] embeds.
pub fn page_data(results: &[Shown], lang: Lang) -> PageData {
    let (page, series) = data(results, lang);
    // Strings, numbers and options always serialise.
    PageData { json: serde_json::to_string(&page).unwrap_or_default(), series }
}

/// The page's data, and the columns' bytes of each sampled variant.
fn data<'a>(results: &'a [Shown<'a>], lang: Lang) -> (ResultPage<'a>, Vec<Vec<u8>>) {
    let mut blobs: Vec<Vec<u8>> = Vec::new();
    let entries = results.iter().map(|shown| {
        let series = (0..shown.run.variants.len()).map(|i| {
            let plotted = shown.series.get(i).copied().unwrap_or_default();
            let (directory, blob) = columns::encode(&format!("series-{}", blobs.len()), plotted)?;
            blobs.push(blob);
            Some(directory)
        });
        let series = series.collect();
        let figures = shown.run.variants.iter().map(VariantFigures::of).collect();
        let warnings = warnings(shown.run, Lang::En).into_iter().zip(warnings(shown.run, Lang::Zh));
        let warnings = warnings.map(|(en, zh)| Both { en, zh }).collect();
        PageResult { label: shown.label, run: shown.run, warnings, figures, series }
    });
    let page_results = entries.collect();
    let runs: Vec<(&str, &Run)> = results.iter().map(|r| (r.label, r.run)).collect();
    let story = story(&runs);
    let story = PageStory {
        en: story.headline(Lang::En),
        zh: story.headline(Lang::Zh),
        facts: Both::of(|lang| story.facts(lang)),
        goals: Both::of(|lang| story.rows(lang)),
        about: story.about,
    };
    let page = ResultPage {
        format: "longfat-report/1",
        longfat: env!("CARGO_PKG_VERSION"),
        lang,
        story,
        facts: Facts::of(&runs),
        results: page_results,
    };
    (page, blobs)
}

/// The page as HTML, which opens in `lang`. The same results give the same bytes.
pub fn page(results: &[Shown], lang: Lang) -> String {
    let (page, series) = data(results, lang);
    let title: Vec<&str> = results.iter().map(|r| r.run.scenario.as_str()).collect();
    let headline = if lang == Lang::Zh { &page.story.zh } else { &page.story.en };
    let series = series.iter().enumerate().map(|(number, bytes)| (format!("series-{number}"), bytes));
    with_script(lang, &title.join(", "), &[headline], &page, series)
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
    fn names_with_markup_are_embedded_as_data() {
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
