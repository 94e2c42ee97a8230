//! A cause's sentence: the numbers that show it, and what to do. The texts are the cause's own
//! (`crates/engine/result/src/cause`), the numbers the group's ([`super::values`]) and those of its remedies.

use super::group::FlowGroup;
use super::values::{first_known, of_group, of_remedies};
use super::words::in_language;
use crate::strings::Lang;
use result::remedy::RemedyKind;

/// What shows that this was it.
pub(super) fn why(g: &FlowGroup, lang: Lang) -> String {
    let texts: Vec<&'static str> = g.cause.entry().why.iter().map(|t| in_language(*t, lang)).collect();
    first_known(&texts, &of_group(g))
}

/// What to do about it.
pub(super) fn advice(g: &FlowGroup, lang: Lang) -> String {
    let entry = g.cause.entry();
    let remedies = (entry.remedies)(&g.affected());
    let kinds: Vec<RemedyKind> = remedies.iter().map(|r| r.kind).collect();
    let fits = entry.advice.iter().filter(|a| a.of == kinds);
    let texts: Vec<&'static str> = fits.map(|a| in_language(a.text, lang)).collect();
    first_known(&texts, &of_remedies(&remedies, lang))
}
