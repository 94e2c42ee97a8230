//! Runs the tests in order. Each has a bounded time; together they take about a minute.

use super::capture::{Captured, TestCapture, verdict};
use super::cures::{Candidate, candidates, fault, predict, rank};
use super::headline::{facts, headline};
use super::model::{Cure, EchoSummary, MEASURE_SCHEMA, Measurement, StreamTest};
use super::path::path;
use super::trains::{Direction, HEADERS_V4, HEADERS_V6, trains};
use ::measure::client::{Client, ClientError, StreamOptions, StreamResult};
use std::time::Duration;

/// Options of a measurement.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    pub host: String,
    pub port: u16,
    pub token: Option<Vec<u8>>,
    /// Shorter tests.
    pub quick: bool,
    /// Whether to try cures.
    pub cures: bool,
}

/// A finished measurement.
pub struct Measured {
    pub measurement: Measurement,
    /// The headers of the upload with one connection, a pcap file; empty without a capture.
    pub upload_pcap: Vec<u8>,
}

/// Called with the name of each step that begins.
pub type OnStep<'a> = &'a mut dyn FnMut(&str);

/// Echoes on the idle path, and the pause between them.
const ECHOES: u32 = 40;
const ECHO_PAUSE: Duration = Duration::from_millis(50);
/// Pause between echoes during a test, ms.
const LOADED_ECHO_MS: u64 = 50;
/// Duration of a test of streams, ms: with one connection, with several, and of a cure.
const ONE_MS: u32 = 5000;
const SEVERAL_MS: u32 = 4000;
const QUICK_MS: u32 = 2500;
const CURE_MS: u32 = 5000;
/// Connections of the tests with several.
const SEVERAL: u32 = 4;
/// Pause before a test, in which queues empty and buckets fill.
const QUIET: Duration = Duration::from_millis(700);

struct Tests<'a> {
    client: Client,
    m: Measurement,
    quick: bool,
    /// Whether datagrams pass.
    datagrams: bool,
    /// Whether packets may be captured.
    captures: bool,
    interrupted: &'a mut dyn FnMut() -> bool,
}

/// Measures the path to a host. `step` gets the name of each test before it begins; `interrupted` is called
/// often and ends the tests by `true`.
///
/// # Errors
/// Fails when there is no server, or it refuses or leaves.
pub fn measure(
    options: &MeasureOptions,
    step: OnStep<'_>,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<Measured, ClientError> {
    let mut client = Client::connect(&options.host, options.port, options.token.as_deref())?;
    let datagrams = client.open_datagrams();
    let mut m = Measurement {
        schema: MEASURE_SCHEMA.into(),
        server: client.server().to_string(),
        client: client.local().to_string(),
        ..Measurement::default()
    };
    if !datagrams {
        let why = "datagrams to and from the server's UDP port do not pass: delay under load, policers, MTU, ECN and DSCP are not measured";
        m.cannot_tell.push(why.into());
    }
    let headers = if client.local().is_ipv6() { HEADERS_V6 } else { HEADERS_V4 };
    let mut t = Tests { client, m, quick: options.quick, datagrams, captures: true, interrupted };
    let mut upload = None;
    let done = t.all(options, headers, step, &mut upload);
    let Tests { mut m, .. } = t;
    done?;
    m.facts = facts(&m);
    m.headline = headline(&m);
    Ok(Measured { measurement: m, upload_pcap: upload.map(|u| u.pcap).unwrap_or_default() })
}

impl Tests<'_> {
    fn all(
        &mut self,
        options: &MeasureOptions,
        headers: u16,
        step: OnStep<'_>,
        upload: &mut Option<Captured>,
    ) -> Result<(), ClientError> {
        if self.datagrams {
            step("idle round trips");
            let interrupted = &mut self.interrupted;
            let echoes = self.client.echo(ECHOES, ECHO_PAUSE, &mut || !interrupted());
            self.m.idle = EchoSummary::of(&echoes);
        }
        let one = if self.quick { QUICK_MS } else { ONE_MS };
        let several = if self.quick { QUICK_MS } else { SEVERAL_MS };
        for (name, up, connections, ms) in [
            ("down", false, 1, one),
            ("up", true, 1, one),
            ("down-4", false, SEVERAL, several),
            ("up-4", true, SEVERAL, several),
        ] {
            if self.is_interrupted() {
                return Ok(());
            }
            step(&format!("{name}: {connections} connection{}", if connections == 1 { "" } else { "s" }));
            let options = StreamOptions { connections, ms, ..StreamOptions::default() };
            let (test, captured) = self.stream(name, up, options, connections == 1)?;
            if let Some(captured) = captured {
                let verdict = verdict(&captured, self.client.server(), up);
                let place = if up { &mut self.m.verdict_up } else { &mut self.m.verdict_down };
                *place = verdict;
                if up {
                    *upload = Some(captured);
                }
            }
            self.m.tests.push(test);
        }
        if self.datagrams {
            self.datagram_tests(headers, step)?;
        }
        if options.cures
            && !self.quick
            && let Some(fault) = fault(&self.m, true)
        {
            let own = self.m.test("up").map(|t| t.control.clone()).unwrap_or_default();
            let all = candidates(&self.m, fault, &own);
            self.try_cures(&all, upload.as_ref(), step)?;
            let up = self.m.test("up").map_or(0.0, |t| t.goodput_mbps);
            rank(&mut self.m.cures, fault, up);
        }
        Ok(())
    }

    fn is_interrupted(&mut self) -> bool {
        (self.interrupted)()
    }

    /// The round trip of the idle path, or that of a connection.
    fn rtt(&self) -> Duration {
        let idle = self.m.idle.as_ref().map(|idle| idle.rtt_p95_ms);
        let connection = self.m.tests.iter().filter_map(|t| t.min_rtt_ms).reduce(f64::min);
        Duration::from_secs_f64(idle.or(connection).unwrap_or(100.0).clamp(0.0, 5e3) / 1e3)
    }

    /// Runs a test of streams, captured if it may be.
    fn stream(
        &mut self,
        name: &str,
        up: bool,
        options: StreamOptions,
        capture: bool,
    ) -> Result<(StreamTest, Option<Captured>), ClientError> {
        std::thread::sleep(QUIET);
        let capture = (capture && self.captures).then(|| TestCapture::start(self.client.server()));
        let capture = match capture {
            Some(Err(why)) => {
                self.captures = false;
                self.m.cannot_tell.push(format!(
                    "without a capture ({why}) the test connections are not diagnosed, and cures are not predicted"
                ));
                None
            }
            other => other.and_then(Result::ok),
        };
        let options = StreamOptions { echo_ms: self.datagrams.then_some(LOADED_ECHO_MS), ..options };
        let interrupted = &mut self.interrupted;
        let tick = &mut || !interrupted();
        let result: Result<StreamResult, ClientError> = match up {
            true => self.client.upload(&options, tick),
            false => self.client.download(&options, tick),
        };
        let captured = capture.and_then(TestCapture::finish);
        Ok((StreamTest::of(name, up, &result?), captured))
    }

    /// Trains, MTU, ECN and DSCP of both directions.
    fn datagram_tests(&mut self, headers: u16, step: OnStep<'_>) -> Result<(), ClientError> {
        for (direction, up) in [(Direction::Up, true), (Direction::Down, false)] {
            if self.is_interrupted() {
                return Ok(());
            }
            let word = if up { "up" } else { "down" };
            let rtt = self.rtt();
            step(&format!("{word}: trains of datagrams"));
            let tests = self.m.tests.iter().filter(|t| t.up == up);
            let best = tests.map(|t| t.goodput_mbps).fold(0.0, f64::max) * 1e6;
            let trains = trains(&mut self.client, direction, best, rtt, headers)?;
            step(&format!("{word}: path MTU, ECN, DSCP"));
            let mut found = path(&mut self.client, direction, rtt, headers)?;
            match trains {
                Some(trains) => {
                    found.reordered_share = Some(trains.reordered_share);
                    let place = if up { &mut self.m.limiter_up } else { &mut self.m.limiter_down };
                    *place = Some(trains.limiter);
                }
                None => self.m.cannot_tell.push(format!(
                    "{word}: the path is too fast for trains of datagrams, so a policer cannot be distinguished from a queue"
                )),
            }
            let tcp = if headers == HEADERS_V6 { 72 } else { 52 };
            found.black_hole = self.m.test(word).zip(found.mtu).is_some_and(|(test, mtu)| {
                test.mss + tcp > mtu && (test.timeouts > 0 || test.goodput_mbps == 0.0)
            });
            let place = if up { &mut self.m.path_up } else { &mut self.m.path_down };
            *place = Some(found);
        }
        Ok(())
    }

    /// Predicts the cures if the upload was captured, and measures each.
    fn try_cures(
        &mut self,
        all: &[Candidate],
        upload: Option<&Captured>,
        step: OnStep<'_>,
    ) -> Result<(), ClientError> {
        let mut predicted = None;
        if let Some((upload, test)) = upload.zip(self.m.test("up")) {
            step("predicting cures");
            let capacity = self.m.limit_mbps(true).and_then(|_| self.m.capacity_mbps(true));
            match predict(upload, self.client.server(), test, capacity, all) {
                Ok(p) => {
                    self.m.predicted_as_is_mbps = Some(p.as_is);
                    predicted = Some(p.cures);
                }
                Err(why) => self.m.cannot_tell.push(format!("cures are not predicted: {why}")),
            }
        }
        for (i, candidate) in all.iter().enumerate() {
            if self.is_interrupted() {
                break;
            }
            step(&format!("up: {}", candidate.title));
            let options = StreamOptions { ms: CURE_MS, ..candidate.options.clone() };
            let test = match self.stream(&candidate.title, true, options, false) {
                Ok((test, _)) => test,
                // A congestion control that this user may not select.
                Err(ClientError::Connect(_, e)) => {
                    self.m.cannot_tell.push(format!("{} was not tried: {e}", candidate.title));
                    continue;
                }
                Err(e) => return Err(e),
            };
            self.m.cures.push(Cure {
                title: candidate.title.clone(),
                how: candidate.how.clone(),
                test,
                predicted_mbps: predicted.as_ref().and_then(|p| p.get(i).copied()),
            });
        }
        Ok(())
    }
}
