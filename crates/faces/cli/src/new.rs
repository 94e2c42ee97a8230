//! `longfat new`: writes a scenario from a few options or questions.

use crate::args::{DirectionArg, LimiterArg, NewArgs, PathArgs};
use crate::args::{control, goal};
use crate::escape::eprint_escaped;
use crate::problem::CliProblem;
use advise::shaper_in_front_of;
use app::expect::share;
use app::output::write_new;
use clap::ValueEnum;
use path::Policer;
#[cfg(target_os = "linux")]
use path::Stage;
use scenario::Experiment;
#[cfg(target_os = "linux")]
use scenario::{NamedStage, Scenario};
use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use units::{Bytes, Goal, Rate, Span};

/// Writes the scenario. Asks on a terminal if no option describes it.
pub fn new(args: &NewArgs) -> Result<ExitCode, CliProblem> {
    let asks = args.asks();
    if asks && !io::stdin().is_terminal() {
        let text = "no terminal to ask on: give options (--rate, --limiter, …), or --yes for the defaults";
        return Err(CliProblem::usage(text.into()));
    }
    let answers = Answers::of(args, &mut Questioner { asks, input: &mut io::stdin().lock() })?;
    let experiment = answers.experiment()?;
    let text = experiment.to_toml();
    experiment.warnings().iter().for_each(|w| eprint_escaped!("warning: {w}\n"));
    let default = || PathBuf::from(format!("{}.toml", answers.name));
    let path = args.output.clone().unwrap_or_else(default);
    if path == Path::new("-") {
        crate::print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let path = write_new(&path, &text, args.force)?;
    let names: Vec<&str> = experiment.variants.iter().map(|v| v.name.as_str()).collect();
    let path = path.display();
    crate::print(&format!("wrote {path}: {}\nnext: longfat run {path}\n", names.join(", ")))?;
    Ok(ExitCode::SUCCESS)
}

impl NewArgs {
    /// Whether to prompt for the values: without any option that describes the scenario.
    fn asks(&self) -> bool {
        !self.yes && !self.has_any()
    }

    /// Whether any option describes the scenario.
    fn has_any(&self) -> bool {
        let some = [
            self.name.is_some(),
            self.path.is_given(),
            self.flows.is_some(),
            self.duration.is_some(),
            !self.cc.is_empty(),
            !self.goal.is_empty(),
        ];
        some.contains(&true)
    }
}

impl PathArgs {
    /// Whether any option describes the path.
    pub fn is_given(&self) -> bool {
        *self != PathArgs::default()
    }

    /// Returns the scenario of a link `wan` with this path from the target (`client`) to the rest, and
    /// without what no option asks for: a limiter, a delay.
    ///
    /// # Errors
    /// Fails if the options contradict each other.
    #[cfg(target_os = "linux")]
    pub fn scenario(&self) -> Result<Scenario, CliProblem> {
        let PathArgs { limiter, rate, burst, down_rate, queue, rtt, .. } = self;
        let has_limiter =
            limiter.is_some() || rate.is_some() || burst.is_some() || down_rate.is_some() || queue.is_some();
        let args = NewArgs { path: self.clone(), ..NewArgs::default() };
        let answers = Answers::of(&args, &mut Questioner { asks: false, input: &mut io::empty() })?;
        let mut experiment = answers.experiment()?;
        let mut scenario = experiment.variants.swap_remove(0).scenario;
        let is_asked = |stage: &NamedStage| match &stage.stage {
            Stage::Delay(_) => rtt.is_some(),
            stage => has_limiter || matches!(stage, Stage::Loss(_)),
        };
        for link in &mut scenario.links {
            link.forward.retain(is_asked);
            link.backward.retain(is_asked);
        }
        Ok(scenario)
    }
}

/// The scenario's name if no option gives one: the file's name, so that two scenarios in a folder have
/// separate results.
fn default_name(args: &NewArgs) -> String {
    let stem = args.output.as_deref().and_then(Path::file_stem).and_then(|s| s.to_str());
    let is_plain = |s: &&str| s.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) && *s != "-";
    stem.filter(is_plain).unwrap_or("my-path").into()
}

/// Asks the user, or takes the defaults.
struct Questioner<'a> {
    /// Whether there is a terminal to ask on.
    asks: bool,
    input: &'a mut dyn BufRead,
}

impl Questioner<'_> {
    /// Returns the value of the option, else the answer to the question; an empty answer means `default`.
    fn ask<T>(
        &mut self,
        option: Option<T>,
        question: &str,
        default: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, CliProblem> {
        if let Some(value) = option {
            return Ok(value);
        }
        loop {
            let mut line = String::new();
            if self.asks {
                let shown = if default.is_empty() { "-" } else { default };
                eprint_escaped!("{question} [{shown}]: ");
                let _ = io::stderr().flush();
                let read = self.input.read_line(&mut line);
                if read.map_err(|e| CliProblem::io("standard input".into(), e))? == 0 {
                    return Err(CliProblem::usage(
                        "the input ended before the last answer; nothing was written".into(),
                    ));
                }
            }
            let answer = line.trim();
            let answer = if answer.is_empty() { default } else { answer };
            match read(answer) {
                Ok(value) => return Ok(value),
                Err(why) if self.asks => eprint_escaped!("  {why}\n"),
                Err(why) => return Err(CliProblem::usage(format!("{question}: {why}"))),
            }
        }
    }
}

/// Parses a quantity with its unit.
fn quantity<T: std::str::FromStr>(text: &str) -> Result<T, String>
where
    T::Err: Display,
{
    text.parse().map_err(|e: T::Err| e.to_string())
}

/// Parses a list separated by commas.
fn several<T>(text: &str, one: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    text.split(',').map(|part| one(part.trim())).collect()
}

/// A direction of the link, with the flow whose data passes there.
struct NewDirection {
    link_direction: &'static str,
    flow: &'static str,
    from: &'static str,
    to: &'static str,
}

const DIRECTIONS: [NewDirection; 2] = [
    NewDirection { link_direction: "forward", flow: "upload", from: "client", to: "server" },
    NewDirection { link_direction: "backward", flow: "download", from: "server", to: "client" },
];

struct Answers {
    name: String,
    limiter: LimiterArg,
    rate: Rate,
    /// `None`: the burst that routers choose for the rate.
    burst: Option<Bytes>,
    /// Rate and burst for downloads, if they differ.
    down: Option<(Rate, Option<Bytes>)>,
    queue: u64,
    direction: DirectionArg,
    rtt: Span,
    loss: f64,
    flows: u32,
    cc: Vec<String>,
    duration: Span,
    goal: Vec<Goal>,
}

impl Answers {
    fn of(args: &NewArgs, asker: &mut Questioner) -> Result<Answers, CliProblem> {
        let list = |list: &Vec<_>| Some(list.clone()).filter(|l| !l.is_empty());
        let goals = Some(args.goal.clone()).filter(|g| !g.is_empty());
        let limiter = |text: &str| LimiterArg::from_str(text, true);
        if args.path.down_rate.is_some() && args.path.direction.is_some_and(|d| d != DirectionArg::Both) {
            return Err(CliProblem::usage(
                "--down-rate limits both directions: leave out --direction".into(),
            ));
        }
        let direction =
            |text: &str| DirectionArg::from_str(text, true).map_err(|_| "up, down or both".into());
        let burst = |text: &str| if text.is_empty() { Ok(None) } else { quantity(text).map(Some) };
        let limiter = asker.ask(
            args.path.limiter,
            "What limits the path: policer, shaper or link",
            "policer",
            |t| limiter(t).map_err(|_| "policer, shaper or link".into()),
        )?;
        let rate = asker.ask(args.path.rate, "Its rate", "20Mbit/s", quantity)?;
        let burst = match limiter {
            LimiterArg::Link if args.path.burst.or(args.path.down_burst).is_some() => {
                let text = "--burst needs a policer or shaper: a link has no bucket";
                return Err(CliProblem::usage(text.into()));
            }
            LimiterArg::Link => None,
            _ => {
                asker.ask(args.path.burst.map(Some), "Its bucket (empty: what routers choose)", "", burst)?
            }
        };
        let answers = Answers {
            limiter,
            rate,
            burst,
            queue: asker.ask(args.path.queue, "Queue length in packets", "100", quantity)?,
            down: args.path.down_rate.map(|down| (down, args.path.down_burst.or(burst))),
            direction: asker.ask(
                args.path.direction.or(args.path.down_rate.map(|_| DirectionArg::Both)),
                "Direction that it limits: up (client to server), down or both",
                "up",
                direction,
            )?,
            rtt: asker.ask(args.path.rtt, "Round-trip time of the idle path", "30ms", quantity)?,
            loss: asker.ask(args.path.loss, "Random loss", "0%", share)?,
            flows: asker.ask(args.flows, "Simultaneous TCP connections", "1", quantity)?,
            cc: asker.ask(list(&args.cc), "Congestion controls to compare", "cubic,bbr", |t| {
                several(t, control)
            })?,
            goal: asker
                .ask(goals, "Goals, the most important first", Goal::Goodput.name(), |t| several(t, goal))?,
            duration: asker.ask(args.duration, "Duration of each run", "20s", quantity)?,
            name: asker
                .ask(args.name.clone(), "Name of the scenario", &default_name(args), |t| Ok(t.into()))?,
        };
        Ok(answers)
    }

    /// Parses the scenario made of these answers.
    fn experiment(&self) -> Result<Experiment, CliProblem> {
        let mut seen = Vec::new();
        for cc in &self.cc {
            if seen.contains(&cc) {
                return Err(CliProblem::usage(format!("congestion control {cc} is given twice")));
            }
            seen.push(cc);
        }
        let read = Experiment::parse("the answers", &self.text(), &[]);
        read.map_err(|e| CliProblem::scenario(Box::new(e)))
    }

    fn text(&self) -> String {
        let goals: Vec<String> = self.goal.iter().map(|g| format!("{:?}", g.name())).collect();
        let one_way = Span::from_nanos(self.rtt.as_nanos() / 2);
        let delay = format!("{{ kind = \"delay\", delay = \"{one_way}\" }}");
        let loss = match self.loss {
            0.0 => String::new(),
            loss => format!("{{ kind = \"loss\", probability = {loss:?} }}, "),
        };
        let limited = |stages: &str| format!("[{stages}, {loss}{delay}]");
        let directions = self.directions();
        let compared = self.compared();
        let stages =
            |link_direction: &str| match directions.iter().position(|d| d.link_direction == link_direction) {
                Some(i) => limited(&compared[0].1[i]),
                None => format!("[{delay}]"),
            };
        let mut text = format!(
            "name = {:?}\ndescription = {:?}\nduration = \"{}\"\ngoal = [{}]\n\
             [links.wan]\nbetween = [\"client\", \"server\"]\nforward = {}\nbackward = {}\n",
            self.name,
            self.description(),
            self.duration,
            goals.join(", "),
            stages("forward"),
            stages("backward"),
        );
        for NewDirection { flow, from, to, .. } in directions {
            text += &format!("[flows.{flow}]\nfrom = {from:?}\nto = {to:?}\ncount = {}\n", self.flows);
        }
        for (limiter, stages) in &compared {
            for cc in &self.cc {
                text += &format!("[variants.{limiter}-{cc}]\n");
                for (NewDirection { link_direction, flow, .. }, stages) in directions.iter().zip(stages) {
                    let stages = limited(stages);
                    text +=
                        &format!("\"links.wan.{link_direction}\" = {stages}\n\"flows.{flow}.cc\" = {cc:?}\n");
                }
            }
        }
        text
    }

    /// Returns the directions with a limiter and a flow.
    fn directions(&self) -> &'static [NewDirection] {
        match self.direction {
            DirectionArg::Up => &DIRECTIONS[..1],
            DirectionArg::Down => &DIRECTIONS[1..],
            DirectionArg::Both => &DIRECTIONS,
        }
    }

    /// Rate and burst of the limiter of a direction.
    fn limit(&self, direction: &NewDirection) -> (Rate, Option<Bytes>) {
        let is_down = direction.link_direction == "backward";
        self.down.filter(|_| is_down).unwrap_or((self.rate, self.burst))
    }

    /// Returns the limiters to compare, the present one first: the name, and the stages of each direction.
    fn compared(&self) -> Vec<(&'static str, Vec<String>)> {
        let ways: Vec<Vec<_>> = self.directions().iter().map(|direction| self.limiters(direction)).collect();
        let stages = |way: &Vec<(&str, String)>, name: &str| {
            way.iter().find(|(other, _)| *other == name).map(|(_, stages)| stages.clone())
        };
        let in_all = |name| Some((name, ways.iter().map(|way| stages(way, name)).collect::<Option<_>>()?));
        ways[0].iter().filter_map(|(name, _)| in_all(*name)).collect()
    }

    /// Returns name and stages of the present limiter of a direction and of those that it is compared with.
    fn limiters(&self, direction: &NewDirection) -> Vec<(&'static str, String)> {
        let (rate, burst) = self.limit(direction);
        let edge = edge_shaper(rate, burst);
        let burst = burst.map(|b| format!(", burst = \"{b}\"")).unwrap_or_default();
        let stage = |kind: &str, more: &str| {
            format!("{{ kind = \"{kind}\", name = \"limiter\", rate = \"{rate}\"{more} }}")
        };
        let fifo = format!(", queue = {{ kind = \"fifo\", packets = {} }}", self.queue);
        let short = ", queue = { kind = \"fq-codel\" }";
        match self.limiter {
            // A shaper needs a smaller bucket than a policer, so it keeps its own default.
            LimiterArg::Policer => {
                let policer = stage("policer", &burst);
                let edge = edge.map(|edge| ("edge-shaper", format!("{edge}, {policer}")));
                let others = [("policer", policer), ("shaper", stage("shaper", &fifo))];
                others.into_iter().chain(edge).collect()
            }
            LimiterArg::Shaper => vec![
                ("fifo", stage("shaper", &format!("{burst}{fifo}"))),
                ("fq-codel", stage("shaper", &format!("{burst}{short}"))),
            ],
            LimiterArg::Link => vec![("fifo", stage("link", &fifo)), ("fq-codel", stage("link", short))],
        }
    }

    fn description(&self) -> String {
        let kind = match self.limiter {
            LimiterArg::Policer => "a policer",
            LimiterArg::Shaper => "a shaper",
            LimiterArg::Link => "a line",
        };
        // Without these words `shaper` would be taken for a shaper of the sender's own.
        let in_words = |(name, _): (&'static str, Vec<String>)| match name {
            "shaper" => "shaper (the carrier shapes instead of policing)",
            "edge-shaper" => "edge-shaper (the sender's side shapes before the carrier polices)",
            name => name,
        };
        let limiters: Vec<&str> = self.compared().into_iter().map(in_words).collect();
        let direction = match (self.direction, self.down) {
            (DirectionArg::Up, _) => "".into(),
            (DirectionArg::Down, _) => " for downloads".into(),
            (DirectionArg::Both, None) => " in each direction".into(),
            (DirectionArg::Both, Some((down, _))) => format!(" for uploads, {down} for downloads"),
        };
        let loss =
            if self.loss > 0.0 { format!(", {} % of random loss", self.loss * 100.0) } else { String::new() };
        format!(
            "{} through {kind}{direction}, {} round trip{loss}: {}, {}",
            self.rate,
            self.rtt,
            limiters.join(" or "),
            self.cc.join(" or ")
        )
    }
}

/// Returns the shaper that `longfat plan` would put in front of a policer; `None` where its bucket is too
/// small.
fn edge_shaper(rate: Rate, burst: Option<Bytes>) -> Option<String> {
    let shaper = shaper_in_front_of(rate, Policer::single(rate, burst).largest()?)?;
    let (rate, burst, packets) = (shaper.rate, shaper.burst(), shaper.queue().limits().packets);
    Some(format!(
        "{{ kind = \"shaper\", name = \"edge-shaper\", rate = \"{rate}\", burst = \"{burst}\", \
         queue = {{ kind = \"fifo\", packets = {packets} }} }}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn args(line: &str) -> NewArgs {
        let words = ["longfat", "new"].into_iter().chain(line.split_whitespace());
        match crate::args::Cli::parse_from(words).command {
            crate::args::Command::New(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn answered(line: &str, given: Option<&str>) -> Result<Experiment, String> {
        let mut input = given.unwrap_or_default().as_bytes();
        let mut asker = Questioner { asks: given.is_some(), input: &mut input };
        let answers = Answers::of(&args(line), &mut asker).map_err(|e| e.to_string())?;
        answers.experiment().map_err(|e| e.to_string())
    }

    #[test]
    fn every_kind_of_answers_is_a_scenario_without_warnings_that_reads_back() {
        for limiter in ["policer", "shaper", "link"] {
            for more in [
                "",
                "--loss 0.1% --flows 4 --direction both",
                "--rtt 140ms --goal fairness,goodput --direction down",
                "--cc reno",
            ] {
                let e = answered(&format!("--limiter {limiter} {more}"), None).unwrap();
                assert_eq!(e.warnings(), [""; 0], "{limiter} {more}");
                let again = Experiment::parse("t.toml", &e.to_toml(), &[]).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(e, again);
                let limiters = if limiter == "policer" { 3 } else { 2 };
                assert_eq!(e.variants.len(), limiters * if more.contains("reno") { 1 } else { 2 });
                assert_ne!(e.variants[0].scenario, e.variants[e.variants.len() - 1].scenario);
            }
        }
    }

    #[test]
    fn each_direction_has_its_own_rate() {
        let e = answered("--limiter policer --rate 5Mbit/s --burst 9kB --down-rate 50Mbit/s", None).unwrap();
        let link = &e.variants[0].scenario.links[0];
        let limit = |stages: &[NamedStage]| match &stages[0].stage {
            Stage::Policer(policer) => (policer.rate, policer.largest()),
            other => panic!("{other:?}"),
        };
        let [up, down] = [&link.forward, &link.backward].map(|stages| limit(stages));
        assert_eq!((up.0.to_string(), down.0.to_string()), ("5Mbit/s".into(), "50Mbit/s".into()));
        assert_eq!(up.1, down.1);
        assert_eq!(e.variants[0].scenario.flows.len(), 2);
        assert!(e.description.contains("for uploads, 50Mbit/s for downloads"), "{}", e.description);
    }

    #[test]
    fn the_scenario_has_the_values_of_the_options() {
        let line = "--name office --limiter policer --rate 33Mbit/s --burst 9kB --rtt 60ms --loss 0.002 \
                    --flows 3 --cc bbr,cubic --duration 5s --goal fairness";
        let e = answered(line, None).unwrap();
        let names: Vec<&str> = e.variants.iter().map(|v| v.name.as_str()).collect();
        let [policer, shaper, edge] =
            ["policer", "shaper", "edge-shaper"].map(|l| [format!("{l}-bbr"), format!("{l}-cubic")]);
        assert_eq!(names, [policer, shaper, edge].concat());
        assert_eq!((e.name.as_str(), e.goals()), ("office", vec![Goal::Fairness]));
        let s = &e.variants[1].scenario;
        assert_eq!((s.duration, s.flows[0].count), (Span::from_secs(5), 3));
        let text = e.to_toml();
        for key in ["\"33Mbit/s\"", "\"9kB\"", "\"30ms\"", "0.002", "\"bbr\""] {
            assert!(text.contains(key), "{key}: {text}");
        }
    }

    #[test]
    fn an_invalid_answer_is_asked_for_again_and_an_empty_one_is_the_default() {
        let e = answered("--rtt 80ms", Some("fence\nshaper\n\n20kB\n")).unwrap_err();
        assert!(e.contains("ended before the last answer"), "{e}");
        let given = "fence\nshaper\n\n20kB\n50\nboth\n1 %\n2\ncubic, vegas\n\n10s\nmine\n";
        let e = answered("--rtt 80ms", Some(given)).unwrap();
        assert_eq!((e.name.as_str(), e.variants.len()), ("mine", 4));
        assert_eq!(e.variants[3].name, "fq-codel-vegas");
    }

    /// The limit, the loss and a flow are in each direction that was requested, and in no other.
    #[test]
    fn each_direction_has_its_limiter_and_its_flow() {
        for (direction, limited, flows) in [
            ("up", [true, false], &["upload"][..]),
            ("down", [false, true], &["download"]),
            ("both", [true, true], &["upload", "download"]),
        ] {
            let line = format!("--limiter policer --loss 1% --cc cubic --direction {direction}");
            let e = answered(&line, None).unwrap();
            for variant in &e.variants {
                let s = &variant.scenario;
                let names: Vec<&str> = s.flows.iter().map(|f| f.name.as_str()).collect();
                assert_eq!(names, flows, "{direction}");
                let is_limited = [&s.links[0].forward, &s.links[0].backward].map(|stages| {
                    let has = |name: &str| stages.iter().any(|stage| stage.name == name);
                    assert_eq!(has("limiter"), has("loss"), "{direction}");
                    has("limiter")
                });
                assert_eq!(is_limited, limited, "{direction}, {}", variant.name);
            }
        }
    }

    /// The policer behind the edge's shaper drops nothing: the shaper's rate and bucket are below its own.
    #[test]
    fn the_edge_shaper_conforms_to_the_policer() {
        let e = answered("--limiter policer --rate 20Mbit/s --burst 9kB --cc cubic", None).unwrap();
        let edge = e.variants.iter().find(|v| v.name == "edge-shaper-cubic").unwrap();
        let [first, second, ..] = &edge.scenario.links[0].forward[..] else { panic!("two stages") };
        let (path::Stage::Shaper(shaper), path::Stage::Policer(policer)) = (&first.stage, &second.stage)
        else {
            panic!("{first:?} {second:?}")
        };
        assert!(shaper.rate < policer.rate && shaper.burst() < policer.largest().unwrap(), "{shaper:?}");
        // A bucket that lets no full packet pass cannot be conformed to.
        let e = answered("--limiter policer --burst 1kB --cc cubic", None).unwrap();
        assert!(e.variants.iter().all(|v| !v.name.starts_with("edge")));
    }

    #[test]
    fn one_option_is_enough_to_ask_nothing() {
        let asks = |line: &str| args(line).asks();
        assert!(asks("") && asks("-o mine.toml") && asks("--force"));
        for line in ["--rate 10Mbit/s", "--cc bbr", "--direction both", "--name mine", "--yes"] {
            assert!(!asks(line), "{line}");
        }
    }

    #[test]
    fn impossible_answers_are_refused() {
        for (line, message) in [
            ("--limiter link --burst 9kB", "a link has no bucket"),
            ("--cc bbr,bbr", "given twice"),
            ("--rate 0bit/s", "above zero"),
            ("--duration 0s", "duration"),
        ] {
            let e = answered(line, None).unwrap_err();
            assert!(e.contains(message), "{line}: {e}");
        }
    }
}
