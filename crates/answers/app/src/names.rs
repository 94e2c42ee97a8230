//! Names: of files and folders that results get, and of the program that made them.

use std::path::{Path, PathBuf};

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

/// The program as datasets have it, with the commit that it was built from, where that is known.
pub fn program(commit: Option<&str>) -> String {
    format!("longfat {} {}", env!("CARGO_PKG_VERSION"), commit.unwrap_or_default()).trim_end().to_string()
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
