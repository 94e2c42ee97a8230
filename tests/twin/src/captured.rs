//! Paths known only from a capture: the kernel's run of a random path is captured at its client and fitted.
//! The true path is laid out like the fitted one, so a change for the fitted path can be applied to the true
//! one.

use capture::CaptureReader;
use diagnose_test::lab::captured_at;
use fit::MadeFit;
use path::Stage;
use scenario::{DuplexLink, NamedStage, Scenario};
use std::path::PathBuf;
use std::time::Instant;

/// Maximum number of runs until one is undisturbed by other work on the machine.
const MAX_ATTEMPTS: usize = 2;

/// A fit and how long it took.
pub struct FittedRun {
    /// The fit of the capture.
    pub fit: MadeFit,
    /// Time for reading, diagnosis and search.
    pub seconds: f64,
}

/// Runs a random path on the kernel and fits the capture of its client.
///
/// # Errors
/// Fails if the lab cannot run it, or if nothing fits.
pub fn fitted(scenario: &Scenario) -> Result<FittedRun, String> {
    let client: PathBuf = std::env::temp_dir().join(format!("longfat-plans-{}.pcap", std::process::id()));
    let done = captured_at("client", scenario, scenario.seed, &client, MAX_ATTEMPTS).and_then(|()| {
        let reader = CaptureReader::open(&client).map_err(|e| e.to_string())?;
        let began = Instant::now();
        let fit = diagnose_test::fit::fitted(reader)?;
        Ok(FittedRun { fit, seconds: began.elapsed().as_secs_f64() })
    });
    std::fs::remove_file(&client).ok();
    done
}

/// Returns the true path with hosts, links, flows and stages arranged like the fitted one.
///
/// # Errors
/// Fails if they cannot be matched.
pub fn as_fitted(fitted: &Scenario, truth: &Scenario) -> Result<Scenario, String> {
    let link = |s: &Scenario, name: &str| {
        s.links.iter().position(|l| l.name == name).ok_or(format!("no link `{name}`"))
    };
    let wan: DuplexLink = truth.links[link(truth, "wan")?].clone();
    let lan = truth.links[link(truth, "lan")?].forward[0].stage.clone();
    let loss = wan.forward.iter().find(|s| matches!(s.stage, Stage::Loss(_)));
    let delay = |stages: &[NamedStage]| {
        stages.iter().find(|s| matches!(s.stage, Stage::Delay(_))).map(|s| s.stage.clone()).ok_or("no delay")
    };
    let mut s =
        Scenario { duration: truth.duration, seed: truth.seed, sample: truth.sample, ..fitted.clone() };
    s.host_jitter = truth.host_jitter;
    let path = link(&s, "path")?;
    let mut lost = false;
    for stage in &mut s.links[path].forward {
        stage.stage = match stage.name.as_str() {
            "line" => lan.clone(),
            "limiter" => wan.forward[0].stage.clone(),
            "delay" => delay(&wan.forward)?,
            "loss" => {
                lost = true;
                loss.map_or_else(|| none_lost(&stage.stage), |l| l.stage.clone())
            }
            name => return Err(format!("unexpected stage `{name}`")),
        };
    }
    if let Some(loss) = loss.filter(|_| !lost) {
        // After everything that the changes measure.
        s.links[path].forward.push(loss.clone());
    }
    for stage in &mut s.links[path].backward {
        stage.stage = delay(&wan.backward)?;
    }
    let host = |name: &str| truth.hosts.iter().find(|h| h.name == name).map(|h| h.stack.clone());
    for (mine, theirs) in [("sender", "client"), ("receiver", "server")] {
        let stack = host(theirs).ok_or(format!("no host `{theirs}`"))?;
        s.hosts.iter_mut().filter(|h| h.name == mine).for_each(|h| h.stack = stack.clone());
    }
    let (found, true_ones) = (connections(&s), connections(truth));
    if found != true_ones {
        return Err(format!("{found} connections were fitted, but there are {true_ones}"));
    }
    for flow in &mut s.flows {
        flow.cc = truth.flows[0].cc;
        flow.app = truth.flows[0].app.clone();
    }
    Ok(s)
}

fn connections(s: &Scenario) -> u32 {
    s.flows.iter().map(|f| f.count).sum()
}

/// A loss stage that loses nothing.
fn none_lost(stage: &Stage) -> Stage {
    match stage {
        Stage::Loss(_) => Stage::Loss(path::Loss { probability: Some(0.0), ..path::Loss::default() }),
        other => other.clone(),
    }
}
