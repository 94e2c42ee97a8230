//! Writes plots of results as PNG and SVG files.

use crate::args::{Drawn, LangArg, ThemeArg};
use crate::problem::CliProblem;
use app::names::file_name;
use app::output::write_file;
use report::plot::{self, Drawing, Input, KINDS, Look};
use report::{PlottedSeries, Shown};
use result::VariantResult;
use std::path::PathBuf;

/// Dots per pixel of a PNG: sharp on paper and slides.
const SCALE: f64 = 2.0;

impl From<LangArg> for report::Lang {
    fn from(lang: LangArg) -> report::Lang {
        match lang {
            LangArg::En => report::Lang::En,
            LangArg::Zh => report::Lang::Zh,
        }
    }
}

impl From<ThemeArg> for plot::Theme {
    fn from(theme: ThemeArg) -> plot::Theme {
        match theme {
            ThemeArg::Light => plot::Theme::Light,
            ThemeArg::Dark => plot::Theme::Dark,
        }
    }
}

/// Writes the requested plots and returns their files.
pub fn plots(drawn: &Drawn, results: &[Shown]) -> Result<Vec<PathBuf>, CliProblem> {
    let look = Look { theme: drawn.theme.into(), lang: drawn.lang.into(), ..Look::default() };
    let variants: Vec<(String, &VariantResult, PlottedSeries)> =
        results.iter().flat_map(|r| named(r, results.len() > 1)).collect();
    let inputs: Vec<Input> = variants
        .iter()
        .map(|(label, variant, series)| Input {
            variant,
            label,
            flows: series.flows,
            elements: series.elements,
        })
        .collect();
    let stems = stems(variants.iter().map(|v| v.0.as_str()));
    let mut files = Vec::new();
    let mut keep = |name: &str, drawing: Option<Drawing>| -> Result<(), CliProblem> {
        let Some(drawing) = drawing else { return Ok(()) };
        if let Some(folder) = &drawn.png {
            files.push(write_file(&folder.join(format!("{name}.png")), &drawing.png(SCALE))?);
        }
        if let Some(folder) = &drawn.svg {
            files.push(write_file(&folder.join(format!("{name}.svg")), drawing.svg().as_bytes())?);
        }
        Ok(())
    };
    if drawn.png.is_some() || drawn.svg.is_some() {
        for (input, stem) in inputs.iter().zip(&stems) {
            for kind in KINDS {
                keep(&format!("{stem}-{}", kind.name()), plot::draw(kind, input, &look))?;
            }
        }
        keep("compare", plot::compare(&inputs, &look))?;
    }
    Ok(files)
}

/// Returns a result's variants, each with its label and series.
fn named<'a>(shown: &Shown<'a>, several: bool) -> Vec<(String, &'a VariantResult, PlottedSeries<'a>)> {
    let series = |i: usize| shown.series.get(i).copied().unwrap_or_default();
    let names = shown.names(several).into_iter();
    names.zip(&shown.run.variants).enumerate().map(|(i, (name, v))| (name, v, series(i))).collect()
}

/// Turns labels into distinct beginnings of file names.
fn stems<'a>(labels: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut stems: Vec<String> = Vec::new();
    for label in labels {
        let stem = file_name(label);
        let mut numbered = (2..).map(|n| format!("{stem}-{n}"));
        let mut free = stem.clone();
        // Some file systems ignore case.
        while stems.iter().any(|s| s.to_lowercase() == free.to_lowercase()) {
            free = numbered.next().unwrap_or_default();
        }
        stems.push(free);
    }
    stems
}

/// Returns a line like "3 plots as PNG in DIR" for each folder.
pub fn counted(drawn: &Drawn, files: &[PathBuf]) -> String {
    let line = |(extension, folder): (&str, &Option<PathBuf>)| {
        let folder = folder.as_ref()?;
        let n = files.iter().filter(|f| f.extension().is_some_and(|e| e == extension)).count();
        Some(format!("{n} plots as {} in {}\n", extension.to_uppercase(), folder.display()))
    };
    [("png", &drawn.png), ("svg", &drawn.svg)].into_iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_variants_share_a_file() {
        let labels = ["a b", "a-b", "A b", "../x", "\u{202e}"];
        assert_eq!(stems(labels.into_iter()), ["a-b", "a-b-2", "A-b-3", "x", "unnamed"]);
    }
}
