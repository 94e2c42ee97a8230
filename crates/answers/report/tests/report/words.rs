//! Checks the vocabulary of all texts. Chinese uses the terms of RFC translations and operators' manuals.
//! English says "simulated" and "on the kernel" and does not mention clocks.

use std::collections::BTreeMap;
use units::Goal;

/// Every text of pages, tables and stories: its key, English and Chinese.
fn texts() -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    let explorer = include_str!("../../../../../web/src/explore/strings.json");
    let of_report = [
        include_str!("../../strings.json"),
        include_str!("../../live.json"),
        include_str!("../../names.json"),
    ];
    for file in of_report.into_iter().chain([explorer]) {
        let table: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_str(file).unwrap();
        all.extend(table.into_iter().map(|(key, text)| (key, text["en"].clone(), text["zh"].clone())));
    }
    for goal in Goal::ALL {
        all.push((format!("goal {goal:?}"), goal.label().en.into(), goal.label().zh.into()));
    }
    all
}

/// Whether `word` occurs without one of `before` in front of it.
fn is_bare(text: &str, word: &str, before: &[&str]) -> bool {
    text.match_indices(word).any(|(at, _)| !before.iter().any(|b| text[..at].ends_with(b)))
}

/// The wrong word in a Chinese text, if any.
fn fault(zh: &str) -> Option<&'static str> {
    let forbidden = ["数据数据", "时钟", "限速器", "监管器", "整形器", "良好吞吐", "好吞吐"];
    if let Some(word) = forbidden.into_iter().find(|word| zh.contains(word)) {
        return Some(word);
    }
    // Policing and shaping are 流量监管 and 流量整形; throughput is 有效吞吐量 (goodput).
    [("监管", &["流量"][..]), ("整形", &["流量"]), ("吞吐量", &["有效"])]
        .into_iter()
        .find(|(word, before)| is_bare(zh, word, before))
        .map(|(word, _)| word)
}

#[test]
fn texts_have_no_forbidden_word() {
    let all = texts();
    assert!(all.len() > 250, "{}", all.len());
    for (at, en, zh) in &all {
        assert_eq!(fault(zh), None, "{at}: {zh}");
        let clock = en.to_lowercase().split(|c: char| !c.is_alphabetic()).any(|w| w.starts_with("clock"));
        assert!(!clock, "{at}: {en}");
        if en.to_lowercase().contains("goodput") {
            assert!(zh.contains("有效吞吐量"), "{at}: {en} / {zh}");
        }
    }
}

#[test]
fn the_check_finds_forbidden_words() {
    assert_eq!(fault("路径丢弃的数据数据包"), Some("数据数据"));
    assert_eq!(fault("监管丢弃了数据包"), Some("监管"));
    assert_eq!(fault("流量监管与整形"), Some("整形"));
    assert_eq!(fault("吞吐量为 4"), Some("吞吐量"));
    assert_eq!(fault("流量监管丢弃，有效吞吐量为 4"), None);
}
