//! The page: one self-contained HTML file of one or several results.
//!
//! `assets/page.html` is built from `web/`; here the data are put in. What comes from a scenario or a result file
//! is never markup: it goes in as JSON in a script element whose `<` are escaped, and the page shows it as text.

pub(crate) mod columns;
mod plain;
pub use columns::packed;
pub use plain::PlainPage;

use crate::bands::PlottedSeries;
use crate::both::{has_both, label};
use crate::figures::VariantFigures;
use crate::markup::escaped;
use crate::story::{GoalRow, story};
use crate::strings::Lang;
use crate::warnings::warnings;
use result::{Clock, Run};
use serde::Serialize;

/// The page as `web/build.mjs` leaves it.
pub(crate) const PAGE: &str = include_str!("../../assets/page.html");

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
    /// What to call each of the run's variants: with the clock where there are two, with the result where there are
    /// `several`.
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
    /// What that rests on, a sentence each.
    facts: PageFacts,
    /// What helps, where the variants are judged by several goals; else the sentence says it.
    goals: PageGoals,
    /// The variants it is about, the baseline first, as result and variant.
    about: Vec<[usize; 2]>,
}

/// The facts below the headline.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PageFacts {
    /// English.
    en: Vec<String>,
    /// Chinese.
    zh: Vec<String>,
}

/// The table of goals; no rows where there is one goal.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PageGoals {
    /// English.
    en: Vec<GoalRow>,
    /// Chinese.
    zh: Vec<GoalRow>,
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

/// A warning on the page.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PageWarning {
    /// English.
    en: String,
    /// Chinese; English where it is of a kind that is not known here.
    zh: String,
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
    warnings: Vec<PageWarning>,
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
    /// The columns of each variant that was sampled, as in the page's `series-0`, `series-1` … but neither deflated nor in
    /// base64.
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
        let warnings = warnings.map(|(en, zh)| PageWarning { en, zh }).collect();
        PageResult { label: shown.label, run: shown.run, warnings, figures, series }
    });
    let results_of = entries.collect();
    let runs: Vec<(&str, &Run)> = results.iter().map(|r| (r.label, r.run)).collect();
    let told = story(&runs);
    let told = PageStory {
        en: told.headline(Lang::En),
        zh: told.headline(Lang::Zh),
        facts: PageFacts { en: told.facts(Lang::En), zh: told.facts(Lang::Zh) },
        goals: PageGoals { en: told.rows(Lang::En), zh: told.rows(Lang::Zh) },
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
    let element = |(number, bytes): (usize, &Vec<u8>)| {
        format!("<script type=\"text/plain\" id=\"series-{number}\">{}</script>\n", columns::packed(bytes))
    };
    let blobs: String = series.iter().enumerate().map(element).collect();
    let title: Vec<&str> = results.iter().map(|r| r.run.scenario.as_str()).collect();
    let title = format!("{} – longfat", title.join(", "));
    let told = if lang == Lang::Zh { &page.story.zh } else { &page.story.en };
    // Strings, numbers and options only: nothing in a page can fail to serialise.
    let data = serde_json::to_string(&page).unwrap_or_default();
    fill(
        PAGE,
        &[
            ("lang", lang.code()),
            ("title", &escaped(&title)),
            ("noscript", &format!("<p>{}</p>", escaped(told))),
            ("data", &inert(&data)),
            ("series", &blobs),
        ],
    )
}

/// The built page, or a part of it, with its `{{markers}}` replaced, each once, in one pass: a value that looks like a marker
/// stays text.
pub(crate) fn fill(page: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(page.len() + values.iter().map(|v| v.1.len()).sum::<usize>());
    let mut rest = page;
    while let Some(at) = rest.find("{{") {
        let known = values
            .iter()
            .find(|(name, _)| rest[at + 2..].strip_prefix(name).is_some_and(|after| after.starts_with("}}")));
        let (value, skip) = known.map_or(("{{", 2), |(name, value)| (*value, name.len() + 4));
        text.push_str(&rest[..at]);
        text.push_str(value);
        rest = &rest[at + skip..];
    }
    text + rest
}

/// JSON that can stand in a script element: nothing in it ends the element or begins a comment.
pub(crate) fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
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

    #[test]
    fn markers_are_filled_once_and_what_fills_them_is_left_alone() {
        let text = fill(
            PAGE,
            &[("title", "{{data}}"), ("data", "{{title}}"), ("lang", "en"), ("noscript", ""), ("series", "")],
        );
        assert!(text.contains("<title>{{data}}</title>") && text.contains(">{{title}}</script>"));
    }
}
