//! Names of the files and folders of results, and of the program that wrote them.

use std::path::{Path, PathBuf};

/// Turns `name` into one component of a path: letters, digits, `-`, `_`, `+`, `.`; never hidden, never a
/// parent.
pub fn file_name(name: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || "-_+.".contains(c);
    let name: String = name.chars().map(|c| if keep(c) { c } else { '-' }).collect();
    // Windows drops a dot at the end of a name.
    let name = name.trim_start_matches(['.', '-']).trim_end_matches('.');
    let (stem, rest) = name.split_at(name.find('.').unwrap_or(name.len()));
    match name {
        "" => "unnamed".into(),
        _ if is_device(stem) => format!("{stem}-{rest}"),
        name => name.into(),
    }
}

/// Whether `stem`, a file name up to its first dot, is the name of a device on Windows (learn.microsoft.com,
/// "Naming Files, Paths, and Namespaces"). Folders get the same name on every system, so that they can be
/// copied from one to another.
fn is_device(stem: &str) -> bool {
    let stem = stem.to_ascii_lowercase();
    let numbered = |prefix: &str| {
        let number = stem.strip_prefix(prefix).filter(|rest| rest.len() == 1);
        number.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    };
    ["con", "prn", "aux", "nul"].contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

/// Returns the default result folder: `longfat-results/<scenario>`.
pub fn default_folder(scenario: &str) -> PathBuf {
    Path::new("longfat-results").join(file_name(scenario))
}

/// Returns the program's name and version as datasets record them, with the commit that it was built from
/// where that is known.
pub fn program(commit: Option<&str>) -> String {
    format!("longfat {} {}", env!("CARGO_PKG_VERSION"), commit.unwrap_or_default()).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_a_single_path_component() {
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
