//! Whole plans of small scenarios: cures, constraints, and texts.

use advise::{CureEffect, FinishedPlan, PlanError, PlanOptions, advised, plan};
use result::ChangePlace;
use scenario::{Experiment, Scenario};
use units::{Goal, Span};

fn scenario(text: &str) -> Scenario {
    Experiment::parse("t.toml", text, &[]).unwrap_or_else(|e| panic!("{e}")).variants.remove(0).scenario
}

/// Returns a path of 10 Mbit/s through a bucket of four packets, with 40 ms round-trip time.
fn policed(more: &str) -> Scenario {
    scenario(&format!(
        r#"
        duration = "5s"
        [links.wan]
        between = ["client", "server"]
        forward = [
            {{ kind = "policer", rate = "10Mbit/s", burst = "6kB" }},
            {{ kind = "delay", delay = "20ms" }},
        ]
        backward = [{{ kind = "delay", delay = "20ms" }}]
        [flows.f]
        from = "client"
        to = "server"
        {more}
        "#
    ))
}

fn small() -> PlanOptions {
    PlanOptions { finalists: 4, repeats: 2, ..PlanOptions::default() }
}

fn made(s: &Scenario, plan_options: &PlanOptions) -> FinishedPlan {
    plan("default", std::slice::from_ref(s), plan_options, None).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_small_bucket_is_cured_by_a_shaper_or_by_the_sender_alone() {
    let s = policed("");
    let all = made(&s, &small()).plan;
    let best = advised(&all).expect("something helps");
    assert_eq!(best.effect, CureEffect::Gains, "{}", all.advice);
    let shaped = all.cures.iter().find(|c| c.name == "shaper-front-fifo").expect("it was tried");
    assert!(shaped.figures.goodput_mbps.mean > 8.5 && shaped.effect == CureEffect::Gains, "{shaped:?}");
    assert!(best.figures.goodput_mbps.mean > 8.5 && all.now.goodput_mbps.mean < 5.0, "{}", all.advice);
    // Finalists that combine cures are of different kinds.
    let joined: Vec<_> = all.cures.iter().filter(|c| c.finalist && c.steps.len() > 1).collect();
    assert!(!joined.is_empty(), "some cures together are worth it");
    let mut cures: Vec<&str> = joined.iter().flat_map(|c| &c.steps).map(|s| s.cure.as_str()).collect();
    let all_of_them = cures.len();
    cures.sort_unstable();
    cures.dedup();
    assert_eq!(cures.len(), all_of_them, "{cures:?}");
    assert!(all.advice.contains(&best.title) && all.advice.starts_with("Do this ("), "{}", all.advice);

    let only = PlanOptions { only: vec![ChangePlace::Sender], ..small() };
    let sender = made(&s, &only).plan;
    assert!(sender.cures.iter().all(|c| c.by == [ChangePlace::Sender]));
    let best = advised(&sender).expect("something helps");
    assert!(best.figures.goodput_mbps.mean > 7.0, "{}", sender.advice);
    assert!(
        sender.untried.iter().any(|l| l.name == "shaper-fifo" && l.why == "the limiter would have to change")
    );
}

#[test]
fn a_kept_stage_stays_and_a_plan_reads_back() {
    let s = policed("");
    let plan_options = PlanOptions { keep: vec!["policer".into()], finalists: 2, ..small() };
    let FinishedPlan { plan: all, options } = made(&s, &plan_options);
    let cured: Vec<Scenario> = options.iter().map(|done| advise::cured(&s, done)).collect();
    let kept = |s: &Scenario| s.links[0].forward.iter().any(|named| named.stage.kind() == "policer");
    assert!(cured.len() == 2 && cured.iter().all(kept));
    let finalists: Vec<_> = all.cures.iter().filter(|c| c.finalist).collect();
    for (cure, cured) in finalists.iter().zip(&cured) {
        assert_eq!(cured.overrides_of(&s), cure.changes, "{}", cure.name);
        // The overrides for `--set` give the same scenario.
        let read = Experiment::parse("t.toml", &s.to_toml(), &cure.changes).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(read.variants[0].scenario, *cured, "{}", cure.name);
        assert!(cure.figures.voice.is_some());
    }
    let json = advise::to_json(&all);
    assert_eq!(serde_json::from_str::<advise::Plan>(&json).unwrap(), all);
    let text = advise::text(&all, None, 100);
    assert!(text.starts_with("Do this (") && text.contains("as it is"), "{text}");
    let commands = advise::commands(&all, None).unwrap();
    assert!(commands.contains("undo:") && commands.contains("--set '"), "{commands}");
    assert_eq!(advise::commands(&all, Some("none-such")), None);
    // The page has the same content, and a scenario's name is escaped.
    let named = advise::Plan { scenario: "<b>&".into(), ..all.clone() };
    let page = advise::page(&named);
    assert!(page.contains("&lt;b&gt;&amp;") && !page.contains("<b>"), "{page}");
    assert!(page.contains("<svg") && page.contains("undo:") && page.contains("as it is"), "{page}");
    for cure in &finalists {
        assert!(page.contains(&format!("{}</td>", cure.name)), "{}", cure.name);
    }
}

#[test]
fn unknown_names_and_objectives_without_a_figure_are_refused() {
    let s = policed("");
    let fails = |plan_options: PlanOptions| {
        plan("default", std::slice::from_ref(&s), &plan_options, None).err().unwrap()
    };
    let unknown = fails(PlanOptions { keep: vec!["policier".into()], ..small() });
    assert!(matches!(unknown, PlanError::Unknown(..)), "{unknown}");
    assert!(unknown.to_string().contains("policier") && unknown.to_string().contains("wan.forward.policer"));
    let unknown = fails(PlanOptions { no_loss_for: vec!["web".into()], ..small() });
    assert!(unknown.to_string().contains("`web`"), "{unknown}");
    assert_eq!(fails(PlanOptions { objective: Goal::Page, ..small() }), PlanError::NoFigure(Goal::Page));
    let mut none = policed("");
    none.flows.clear();
    assert_eq!(plan("default", &[none], &small(), None).err(), Some(PlanError::NoFlows));
}

#[test]
fn cures_above_the_maximum_delay_are_left_out_with_their_delay() {
    let s = scenario(
        r#"
        duration = "5s"
        [links.wan]
        between = ["client", "server"]
        forward = [{ kind = "link", rate = "10Mbit/s", delay = "10ms", queue = { kind = "fifo", packets = 500 } }]
        backward = [{ kind = "delay", delay = "10ms" }]
        [flows.f]
        from = "client"
        to = "server"
        "#,
    );
    let plan_options =
        PlanOptions { objective: Goal::Delay, max_delay: Some(Span::from_millis(100)), ..small() };
    let plan = made(&s, &plan_options).plan;
    assert!(plan.now.p95_delay_ms.mean > 200.0, "{:?}", plan.now);
    assert!(plan.cures.iter().all(|c| c.figures.p95_delay_ms.mean <= 100.0));
    assert!(plan.untried.iter().any(|l| l.why.starts_with("its p95 delay is")), "{:?}", plan.untried);
    let best = advised(&plan).expect("a short queue helps");
    assert!(best.gain.low > 100.0 && best.pareto || best.gain.mean > 100.0, "{}", plan.advice);
    let call = |c: &advise::PlanFigures| c.voice.unwrap().p95_delay_ms;
    assert!(plan.calls.is_empty() && call(&best.figures) < call(&plan.now), "a call that is added gains too");
}

/// Returns an uplink of 10 Mbit/s with a deep FIFO, a backup, and the flows in `more`.
fn home(more: &str) -> Scenario {
    scenario(&format!(
        r#"
        duration = "6s"
        [links.line]
        between = ["home", "net"]
        forward = [{{ kind = "link", name = "modem", rate = "10Mbit/s", delay = "10ms", queue = {{ kind = "fifo", packets = 300 }} }}]
        backward = [{{ kind = "delay", delay = "10ms" }}]
        [flows.backup]
        from = "home"
        to = "net"
        {more}
        "#
    ))
}

const CALL: &str =
    "[flows.call]\nfrom = \"home\"\nto = \"net\"\napp = { kind = \"udp\", rate = \"2Mbit/s\", size = 1200 }";
const PING: &str = "[flows.ping]\nfrom = \"home\"\nto = \"net\"\napp = { kind = \"probe\" }";

/// Returns the plan options that the command line uses.
fn usual(s: &Scenario) -> PlanOptions {
    PlanOptions { objective: s.default_goals()[0], finalists: 8, repeats: 3, ..PlanOptions::default() }
}

#[test]
fn the_scenarios_own_call_is_improved_and_none_is_added() {
    let s = home(CALL);
    let plan = made(&s, &usual(&s)).plan;
    assert_eq!((plan.objective, &plan.calls[..]), (Goal::Delay, &["call".to_string()][..]));
    assert!(plan.now.goal_value.mean > 150.0, "the call waits behind the backup: {:?}", plan.now);
    assert_eq!(plan.now.voice.unwrap().p95_delay_ms, plan.now.goal_value.mean, "no call was added");
    let best = advised(&plan).unwrap_or_else(|| panic!("{}", plan.advice));
    assert!(best.name.contains("fq-codel") || best.name.contains("wfq"), "{}", plan.advice);
    assert!(best.figures.goal_value.mean < 25.0, "{}", plan.advice);
    assert!(plan.advice.contains("p95 delay of call"), "{}", plan.advice);
    assert!((1..=4).contains(&plan.facts.len()), "{:?}", plan.facts);
    // Some twenty words, plus names of stages and figures.
    assert!(plan.advice.split_whitespace().count() <= 30, "{}", plan.advice);
}

#[test]
fn a_ping_does_not_change_the_goal_but_justifies_a_cure() {
    let (without, with) = (home(""), home(PING));
    assert_eq!(without.default_goals(), with.default_goals());
    let plan = made(&with, &usual(&with)).plan;
    assert_eq!((plan.objective, &plan.calls[..]), (Goal::Goodput, &["ping".to_string()][..]));
    // The link is full: goodput cannot improve, but the ping can.
    let best = advised(&plan).unwrap_or_else(|| panic!("{}", plan.advice));
    assert!(
        plan.advice.contains("not for goodput") && plan.advice.contains("ping: p95 ping"),
        "{}",
        plan.advice
    );
    let ping = |f: &advise::PlanFigures| f.users[0].p95_delay_ms.unwrap();
    assert!(ping(&best.figures) < ping(&plan.now) / 3.0, "{}", plan.advice);
}

/// The policer does not affect the call, but a deep shaper would delay it. That shaper gains most for the
/// data, but is not advised.
#[test]
fn a_cure_that_ruins_the_scenarios_call_is_not_advised() {
    let s = policed(
        "[flows.call]\nfrom = \"client\"\nto = \"server\"\napp = { kind = \"voice\", codec = \"g711\" }",
    );
    let plan_options =
        PlanOptions { objective: Goal::Goodput, only: vec![ChangePlace::Limiter], finalists: 6, ..small() };
    let plan = made(&s, &plan_options).plan;
    let fifo =
        plan.cures.iter().find(|c| c.name == "shaper-fifo").unwrap_or_else(|| panic!("{:?}", plan.cures));
    assert!(fifo.effect == CureEffect::Gains && !fifo.ruined_flows.is_empty(), "{fifo:?}");
    assert!(fifo.ruined_flows.iter().all(|r| r.starts_with("call: ")), "{:?}", fifo.ruined_flows);
    let best = advised(&plan).unwrap_or_else(|| panic!("{}", plan.advice));
    assert!(best.ruined_flows.is_empty() && best.name != fifo.name, "{}", plan.advice);
    // Harmless cures come first in the table.
    let place = |name: &str| plan.cures.iter().position(|c| c.name == name);
    assert!(place(&best.name) < place("shaper-fifo"));
    if fifo.gain.mean > best.gain.mean {
        assert!(plan.facts.iter().any(|f| f.contains("Not advised: shaper-fifo")), "{:?}", plan.facts);
    }
}

#[test]
fn among_equal_gains_released_kernels_fewer_parties_and_less_loss_win() {
    let s = scenario(
        r#"
        duration = "15s"
        [links.wan]
        between = ["a", "b"]
        forward = [{ kind = "loss", probability = 0.0005 }, { kind = "link", rate = "20Mbit/s", delay = "30ms" }]
        backward = [{ kind = "delay", delay = "30ms" }]
        [flows.f]
        from = "a"
        to = "b"
        "#,
    );
    let plan = made(&s, &PlanOptions { finalists: 8, repeats: 3, ..PlanOptions::default() }).plan;
    let mean = |name: &str| plan.cures.iter().find(|c| c.name == name).map(|c| c.figures.goal_value.mean);
    let (bbr, bbr3) = (mean("bbr").unwrap(), mean("bbr3").unwrap());
    assert!((bbr / bbr3 - 1.0).abs() < 0.05, "the two are equally good here: {bbr} {bbr3}");
    let best = advised(&plan).unwrap_or_else(|| panic!("{}", plan.advice));
    assert!(best.steps.iter().all(|s| s.cure != "bbr3"), "{}", plan.advice);
    assert_eq!((best.parties, best.steps.len()), (1, 1), "{}", plan.advice);
    // The other one is for users who build their own kernel.
    let own = plan.facts.iter().any(|f| f.starts_with("If you build your own kernel: BBR v3"));
    assert!(own, "{:?}", plan.facts);
}

/// For different limits of a path, the advised cure needs only a released kernel, is within reach of the
/// given parties, and gains within a twentieth of the best such cure.
#[test]
fn the_advised_cure_can_be_applied() {
    let line = |queue: u32| {
        format!(
            r#"{{ kind = "link", rate = "50Mbit/s", delay = "20ms", queue = {{ kind = "fifo", packets = {queue} }} }}"#
        )
    };
    let (shallow, deep) = (line(12), line(400));
    let policer =
        r#"{ kind = "policer", rate = "20Mbit/s", burst = "9kB" }, { kind = "delay", delay = "20ms" }"#;
    let noisy = format!(r#"{{ kind = "loss", probability = 0.001 }}, {deep}"#);
    let window = "[hosts.b]\nstack = { receive_window = \"64kB\" }";
    let hole = format!(
        r#"{{ kind = "tunnel", overhead = 60, mtu = 1500, icmp = false }}, {deep}, {{ kind = "tunnel-end" }}"#
    );
    for (forward, more) in [
        (shallow.as_str(), ""),
        (policer, ""),
        (&noisy, ""),
        (&deep, window),
        (&hole, ""),
        (policer, "count = 4"),
    ] {
        let s = scenario(&format!(
            "duration = \"4s\"\n[links.wan]\nbetween = [\"a\", \"b\"]\nforward = [{forward}]\n\
             backward = [{{ kind = \"delay\", delay = \"20ms\" }}]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n{more}\n"
        ));
        for only in [vec![], vec![ChangePlace::Receiver, ChangePlace::Sender]] {
            let plan_options =
                PlanOptions { only: only.clone(), finalists: 10, repeats: 2, ..PlanOptions::default() };
            let plan = made(&s, &plan_options).plan;
            let released = |c: &advise::RankedCure| {
                c.steps.iter().all(|s| advise::named(&s.cure).unwrap().is_released())
            };
            let fit: Vec<_> =
                plan.cures.iter().filter(|c| released(c) && c.ruined_flows.is_empty()).collect();
            let gains = fit.iter().filter(|c| c.effect == CureEffect::Gains);
            let best = gains.map(|c| c.gain.mean).fold(0.0, f64::max);
            let Some(first) = advised(&plan) else {
                assert!(best <= 0.05 * plan.now.goal_value.mean, "{} {:?}", plan.advice, only);
                continue;
            };
            assert!(released(first) && first.ruined_flows.is_empty(), "{}", plan.advice);
            assert!(only.is_empty() || first.by.iter().all(|a| only.contains(a)), "{}", plan.advice);
            if !plan.advice.contains("not for goodput") {
                let reached = plan.now.goal_value.mean + best;
                assert!(first.gain.mean >= best - 0.05 * reached - 1e-9, "{}: {best}", plan.advice);
            }
            assert!(!plan.advice.contains("BBR v3"), "{}", plan.advice);
            // Combined with other cures, it could not be applied either.
            assert!(plan.cures.iter().chain(&plan.screened).all(|c| released(c) || c.steps.len() == 1));
        }
    }
}

/// A bucket of 200 ms of the rate: the policer carries its full rate, and the advice says so first.
#[test]
fn a_policer_at_its_full_rate_needs_no_cure() {
    let s = policed("").to_toml().replace("6kB", "500kB");
    let plan = made(&scenario(&s), &PlanOptions { finalists: 8, repeats: 2, ..PlanOptions::default() }).plan;
    assert!(plan.advice.starts_with("Goodput is already "), "{}", plan.advice);
    assert_eq!(plan.advised, None, "{}", plan.advice);
    // Payload is compared with payload, and the rate that `run` compares with is named.
    assert!(
        plan.advice.contains("headers take the rest of 10.0 Mbit/s): no change is needed."),
        "{}",
        plan.advice
    );
    assert!(plan.facts.iter().all(|f| !f.contains("improves something else")), "{:?}", plan.facts);
    assert!(plan.now.retransmitted_share > 0.0, "it drops, and that is no reason: {:?}", plan.now);
}

/// All rows of the table have the same time and seeds; screened cures are listed separately.
#[test]
fn screened_cures_are_not_in_the_table_and_cures_without_effect_are_left_out() {
    let s = home("");
    let plan = made(&s, &small()).plan;
    assert!(plan.cures.iter().all(|c| c.finalist) && plan.screened.iter().all(|c| !c.finalist));
    let text = advise::text(&plan, None, 100);
    for cure in &plan.screened {
        let row = text.lines().any(|l| l.trim_start_matches(['=', '-', '!', ' ']).starts_with(&cure.name));
        assert!(!row || text.contains("Screened only"), "{}: {text}", cure.name);
    }
    for left in plan.untried.iter().filter(|l| l.why.contains("changes no figure")) {
        assert!(plan.cures.iter().all(|c| c.name != left.name), "{left:?}");
    }
    assert!(plan.cures.iter().all(|c| c.gain.mean != 0.0 || c.figures != plan.now), "{:?}", plan.cures);
}

/// A plan for a scenario that does not behave as the path does advises nothing and says why first.
#[test]
fn a_plan_that_cannot_be_trusted_advises_nothing() {
    let mut plan = made(&policed(""), &small()).plan;
    assert!(plan.advised.is_some());
    let why = "The fit is bad, do not trust it: simulated, goodput differs by +390.1 %.";
    plan.distrusted(why);
    assert_eq!((plan.advised.as_ref(), plan.distrust.as_deref()), (None, Some(why)));
    let text = advise::text(&plan, None, 100);
    assert!(text.starts_with("No cure is advised. The fit is bad"), "{text}");
    assert!(!text.contains("Do this") && !text.contains("is better by"), "{text}");
    assert!(text.contains("not on yours") && text.contains("as it is"), "{text}");
    assert_eq!(advise::commands(&plan, None), None);
    let read: advise::Plan = serde_json::from_str(&advise::to_json(&plan)).unwrap();
    assert_eq!(read, plan);
}

/// The text names the planned variant and the cure of the printed commands.
#[test]
fn what_the_user_did_not_choose_or_chose_against_the_advice_is_said() {
    let mut plan = made(&policed(""), &small()).plan;
    let advised = plan.advised.clone().unwrap();
    let other = plan.cures.iter().find(|c| c.name != advised).unwrap().name.clone();
    // Lines are broken at blanks.
    let text = |plan: &advise::Plan, chosen| {
        advise::text(plan, chosen, 60).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(
        !text(&plan, None).contains("variant") && !text(&plan, Some(&advised)).contains("The commands below")
    );
    let said = format!("The commands below are those of {other}, not of the advised {advised}.");
    assert!(text(&plan, Some(&other)).contains(&said), "{}", text(&plan, Some(&other)));
    plan.other_variants = vec!["shaper".into(), "link".into()];
    let said = "for the variant “default”; `--variant NAME` selects another one: “shaper”, “link”.";
    assert!(text(&plan, None).contains(said), "{}", text(&plan, None));
}

/// The same scenario gives the same plan, with any number of threads.
#[test]
fn a_plan_is_reproducible() {
    let s = policed("");
    let plan_options = PlanOptions { only: vec![ChangePlace::Sender], finalists: 2, ..small() };
    let one = PlanOptions { threads: std::num::NonZeroUsize::new(1), ..plan_options.clone() };
    assert_eq!(advise::to_json(&made(&s, &plan_options).plan), advise::to_json(&made(&s, &one).plan));
}

#[test]
fn the_interval_covers_all_equally_likely_scenarios() {
    let slow = policed("");
    // With a bucket of 6 kB, CUBIC gets equally little at both rates, so the faster one has a larger bucket.
    let policer = ["rate=14Mbit/s", "burst=15kB"].map(|set| format!("links.wan.forward.policer.{set}"));
    let fast = Experiment::parse("t.toml", &slow.to_toml(), &policer);
    let both = [slow, fast.unwrap().variants.remove(0).scenario];
    let plan_options = PlanOptions { only: vec![ChangePlace::SenderEdge], finalists: 1, ..small() };
    let plan = plan("default", &both, &plan_options, None).unwrap_or_else(|e| panic!("{e}")).plan;
    assert_eq!(plan.simulated.scenarios, 2);
    let best = &plan.cures[0];
    // The shaper's rate fits the slower policer in both scenarios.
    assert!((8.0..10.0).contains(&best.figures.goodput_mbps.mean), "{:?}", best.figures);
    assert!(best.gain.high - best.gain.low > 0.0 && best.gain.low <= best.gain.mean, "{:?}", best.gain);
}

/// BBR has two bandwidth-delay products in flight; the data that arrives during loss recovery needs a third
/// one.
#[test]
fn a_receive_buffer_has_room_for_data_during_loss_recovery() {
    let s = scenario(
        r#"
        duration = "10s"
        [links.w]
        between = ["a", "b"]
        forward = [{ kind = "loss", probability = 0.008 }, { kind = "link", rate = "50Mbit/s", delay = "50ms" }]
        backward = [{ kind = "link", rate = "50Mbit/s", delay = "50ms" }]
        [hosts.b]
        stack = { receive_buffer = "2.5MB" }
        [flows.f]
        from = "a"
        to = "b"
        cc = "bbr"
        "#,
    );
    let plan = made(&s, &PlanOptions { only: vec![ChangePlace::Receiver], repeats: 5, ..small() }).plan;
    let best = advised(&plan).unwrap_or_else(|| panic!("{}", plan.advice));
    assert_eq!(best.name, "receive-buffer", "{}", plan.advice);
    assert!(best.gain.mean > 0.05 * plan.now.goodput_mbps.mean, "{}", plan.advice);
}

/// A shaper with the bucket that Kubernetes sets passes a second of traffic at line rate, and the policer
/// behind it drops that.
#[test]
fn a_shapers_bucket_that_is_too_large_is_reduced() {
    let s = scenario(
        r#"
        duration = "8s"
        [links.pod]
        between = ["pod", "node"]
        forward = [
            { kind = "link", rate = "1Gbit/s" },
            { kind = "shaper", name = "tbf", rate = "19Mbit/s", burst = "268MB", latency = "25ms" },
        ]
        backward = [{ kind = "link", rate = "1Gbit/s" }]
        [links.wan]
        between = ["node", "far"]
        forward = [{ kind = "policer", rate = "20Mbit/s", burst = "20kB" }, { kind = "delay", delay = "20ms" }]
        backward = [{ kind = "delay", delay = "20ms" }]
        [flows.f]
        from = "pod"
        to = "far"
        "#,
    );
    let plan_options = PlanOptions { keep: vec!["policer".into()], finalists: 10, repeats: 3, ..small() };
    let plan = made(&s, &plan_options).plan;
    let found = plan.cures.iter().find(|c| c.name == "shaper-burst-small").expect("it was tried");
    assert_eq!(found.effect, CureEffect::Gains, "{}", plan.advice);
    let best = advised(&plan).expect("something helps");
    let (goodput, best) = (found.figures.goodput_mbps.mean, best.figures.goodput_mbps.mean);
    assert!(goodput > 0.9 * best && goodput > 2.0 * plan.now.goodput_mbps.mean, "{} {goodput}", plan.advice);
}
