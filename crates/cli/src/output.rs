//! The result folder.

use crate::escape;
use crate::problem::CliProblem;
use crate::provenance::Provenance;
use crate::regular;
use result::{Run, to_json};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tables::{
    ELEMENTS, FLOWS, FileOrigin, RESPONSES, RETRANSMISSIONS, STATES, Sampled, write_elements, write_flows,
    write_responses, write_retransmissions, write_states,
};

/// `name` as one component of a path: letters, digits, `-`, `_`, `+`, `.`, never hidden or a parent.
pub fn file_name(name: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || "-_+.".contains(c);
    let name: String = name.chars().map(|c| if keep(c) { c } else { '-' }).collect();
    // Windows cannot see a name that ends with a point.
    let name = name.trim_start_matches(['.', '-']).trim_end_matches('.');
    let (stem, rest) = name.split_at(name.find('.').unwrap_or(name.len()));
    match name {
        "" => "unnamed".into(),
        _ if is_device(stem) => format!("{stem}-{rest}"),
        name => name.into(),
    }
}

/// Whether Windows takes a name that begins so, up to its first point, for a device and not for a file
/// (learn.microsoft.com, "Naming Files, Paths, and Namespaces"). A folder has one name on every system, so that it can be
/// carried to another.
fn is_device(stem: &str) -> bool {
    let stem = stem.to_ascii_lowercase();
    let numbered = |of: &str| {
        let number = stem.strip_prefix(of).filter(|rest| rest.len() == 1);
        number.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    };
    ["con", "prn", "aux", "nul"].contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

/// Where results go unless told: `longfat-results/<scenario>`.
pub fn default_folder(scenario: &str) -> PathBuf {
    Path::new("longfat-results").join(file_name(scenario))
}

/// Writes a file as a whole and, if need be, its folder; gives its path back.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<PathBuf, CliProblem> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| regular::write(path, bytes))
        .map_err(|e| CliProblem::Io(path.display().to_string(), e))?;
    Ok(path.into())
}

/// Writes a file that is a user's own from then on: one that is there is replaced only with `force`.
pub fn write_new(path: &Path, text: &str, force: bool) -> Result<PathBuf, CliProblem> {
    if !force && path.symlink_metadata().is_ok() {
        let text = format!("{} is there already; --force replaces it", path.display());
        return Err(CliProblem::Usage(text));
    }
    write_file(path, text.as_bytes())
}

/// What goes into the folder.
pub struct Results<'a> {
    /// Summaries.
    pub run: &'a Run,
    /// Time series.
    pub sampled: &'a [Sampled<'a>],
    /// The scenario file's text.
    pub scenario: &'a str,
    /// Where it comes from.
    pub provenance: &'a Provenance,
    /// The page, as HTML.
    pub page: &'a str,
}

impl Results<'_> {
    /// Writes all files into `folder`, where none of them is yet, and has them on the disk. An error names them in
    /// `named`.
    pub fn write(&self, folder: &Path, named: &Path) -> Result<(), CliProblem> {
        let file = |name: &str, write: &dyn Fn(&mut BufWriter<File>) -> io::Result<()>| {
            let written = File::create_new(folder.join(name)).and_then(|file| {
                let mut out = BufWriter::new(file);
                write(&mut out)?;
                out.flush()?;
                out.get_ref().sync_all()
            });
            written.map_err(|e| CliProblem::Io(named.join(name).display().to_string(), e))
        };
        let run = self.run;
        let origin = FileOrigin { scenario: &run.scenario, seed: run.seed, run_id: &run.run_id };
        file("result.json", &|out| out.write_all(escape::json(&to_json(self.run)).as_bytes()))?;
        file(FLOWS.name, &|out| write_flows(out, origin, self.sampled))?;
        file(STATES.name, &|out| write_states(out, origin, self.sampled))?;
        file(ELEMENTS.name, &|out| write_elements(out, origin, self.sampled))?;
        file(RETRANSMISSIONS.name, &|out| write_retransmissions(out, origin, self.sampled))?;
        file(RESPONSES.name, &|out| write_responses(out, origin, self.sampled))?;
        file("scenario.toml", &|out| out.write_all(self.scenario.as_bytes()))?;
        file("report.html", &|out| out.write_all(self.page.as_bytes()))?;
        file("provenance.json", &|out| {
            serde_json::to_writer_pretty(&mut *out, self.provenance)?;
            out.write_all(b"\n")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!(file_name("policer vs. shaper"), "policer-vs.-shaper");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!([file_name(".."), file_name("v1.")], ["unnamed", "v1"]);
        assert_eq!(file_name("büro-1_a+b"), "büro-1_a+b");
        assert_eq!([file_name("nul"), file_name("Com1.x")], ["nul-", "Com1-.x"]);
        assert_eq!(
            ["com", "comfort", "com12", "console"].map(file_name),
            ["com", "comfort", "com12", "console"]
        );
        assert_eq!(default_folder("/tmp/x"), Path::new("longfat-results/tmp-x"));
    }
}
