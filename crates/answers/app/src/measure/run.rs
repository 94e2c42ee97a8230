//! Runs the tests in order. Each has a bounded time; together they take about a minute.

use super::capture::{Captured, TestCapture, verdict};
use super::cures::{Candidate, candidates, predict};
use super::fault::{fault, rank};
use super::headline::{facts, headline};
use super::iperf3::{Iperf3, Iperf3Error};
use super::model::{Cure, Direction, EchoSummary, MEASURE_SCHEMA, Measurement, StreamTest, cure_title};
use super::path::path;
use super::trains::{HEADERS_V4, HEADERS_V6, trains};
use crate::provenance::longfat_build;
use ::measure::client::{Client, ClientError, StreamOptions};
use chrono::{DateTime, SecondsFormat, Utc};
use report::{Lang, word};
use result::change::{ChangeEffect, EffectBound, EffectMeasure};
use result::{Change, ChangeUnit};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant, SystemTime};

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
    /// Whether the far end is an iperf3 server.
    pub iperf3: bool,
    /// Language of the sentences.
    pub lang: Lang,
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Iperf3(#[from] Iperf3Error),
}

/// The program that runs the tests of streams.
enum FarEnd {
    /// A session with `longfat serve`.
    Serve(Box<Client>),
    Iperf3(Iperf3),
}

impl FarEnd {
    fn server(&self) -> SocketAddr {
        match self {
            FarEnd::Serve(client) => client.server(),
            FarEnd::Iperf3(iperf3) => iperf3.server(),
        }
    }

    fn local(&self) -> IpAddr {
        match self {
            FarEnd::Serve(client) => client.local(),
            FarEnd::Iperf3(iperf3) => iperf3.local(),
        }
    }

    fn stream(
        &mut self,
        name: &str,
        direction: Direction,
        options: &StreamOptions,
        tick: &mut dyn FnMut() -> bool,
    ) -> Result<StreamTest, MeasureError> {
        match self {
            FarEnd::Serve(client) => {
                let result = match direction {
                    Direction::Up => client.upload(options, tick)?,
                    Direction::Down => client.download(options, tick)?,
                };
                Ok(StreamTest::of(name, direction, &result))
            }
            FarEnd::Iperf3(iperf3) => Ok(iperf3.stream(name, direction, options, tick)?),
        }
    }
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
    far: FarEnd,
    m: Measurement,
    quick: bool,
    /// Whether datagrams pass.
    datagrams: bool,
    /// Whether packets may be captured.
    captures: bool,
    interrupted: &'a mut dyn FnMut() -> bool,
}

/// The present time by RFC 3339, in UTC.
pub fn now() -> String {
    DateTime::<Utc>::from(SystemTime::now()).to_rfc3339_opts(SecondsFormat::Secs, true)
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
) -> Result<Measured, MeasureError> {
    let (at, begin) = (now(), Instant::now());
    let (far, datagrams) = if options.iperf3 {
        (FarEnd::Iperf3(Iperf3::open(&options.host, options.port)?), false)
    } else {
        let mut client = Client::connect(&options.host, options.port, options.token.as_deref())?;
        let datagrams = client.open_datagrams();
        (FarEnd::Serve(Box::new(client)), datagrams)
    };
    let mut m = Measurement {
        schema: MEASURE_SCHEMA.into(),
        longfat: longfat_build(),
        at,
        server: far.server().to_string(),
        client: far.local().to_string(),
        lang: options.lang,
        ..Measurement::default()
    };
    if !datagrams {
        let why = match far {
            FarEnd::Serve(_) => word(m.lang, "measure.unknown.datagrams.serve"),
            FarEnd::Iperf3(_) => word(m.lang, "measure.unknown.datagrams.iperf3"),
        };
        m.cannot_tell.push(say!(m.lang, "measure.unknown.datagrams", why = why));
    }
    let headers = if far.local().is_ipv6() { HEADERS_V6 } else { HEADERS_V4 };
    let mut t = Tests { far, m, quick: options.quick, datagrams, captures: true, interrupted };
    let mut upload = None;
    let done = t.all(options, headers, step, &mut upload);
    let Tests { mut m, .. } = t;
    done?;
    m.seconds = begin.elapsed().as_secs_f64();
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
    ) -> Result<(), MeasureError> {
        if let (true, FarEnd::Serve(client)) = (self.datagrams, &mut self.far) {
            step("idle round trips");
            let interrupted = &mut self.interrupted;
            let echoes = client.echo(ECHOES, ECHO_PAUSE, &mut || !interrupted());
            self.m.idle = EchoSummary::of(echoes.sent, &echoes.rtt_ms);
        }
        let one = if self.quick { QUICK_MS } else { ONE_MS };
        let several = if self.quick { QUICK_MS } else { SEVERAL_MS };
        for (connections, ms) in [(1, one), (SEVERAL, several)] {
            for direction in [Direction::Down, Direction::Up] {
                if self.is_interrupted() {
                    return Ok(());
                }
                let is_single = connections == 1;
                let name = if is_single { direction.name() } else { direction.several() };
                step(&format!("{name}: {connections} connection{}", if is_single { "" } else { "s" }));
                let options = StreamOptions { connections, ms, ..StreamOptions::default() };
                let (test, captured) = self.stream(name, direction, options, is_single)?;
                if let Some(captured) = captured {
                    let verdict = verdict(&captured, self.far.server(), direction, self.m.lang);
                    self.m.direction_mut(direction).verdict = verdict;
                    if direction == Direction::Up {
                        *upload = Some(captured);
                    }
                }
                self.m.tests.push(test);
            }
        }
        if self.datagrams {
            self.datagram_tests(headers, step)?;
        }
        if options.cures
            && !self.quick
            && let Some(fault) = fault(&self.m, Direction::Up)
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
        direction: Direction,
        options: StreamOptions,
        capture: bool,
    ) -> Result<(StreamTest, Option<Captured>), MeasureError> {
        std::thread::sleep(QUIET);
        let capture = (capture && self.captures).then(|| TestCapture::start(self.far.server()));
        let capture = match capture {
            Some(Err(why)) => {
                self.captures = false;
                let why = why.text(self.m.lang);
                self.m.cannot_tell.push(say!(self.m.lang, "measure.unknown.capture", why = why));
                None
            }
            other => other.and_then(Result::ok),
        };
        let options = StreamOptions { echo_ms: self.datagrams.then_some(LOADED_ECHO_MS), ..options };
        let interrupted = &mut self.interrupted;
        let tick = &mut || !interrupted();
        let test = self.far.stream(name, direction, &options, tick);
        let captured = capture.and_then(|capture| capture.finish(test.as_ref().ok()));
        Ok((test?, captured))
    }

    /// Trains, MTU, ECN and DSCP of both directions.
    fn datagram_tests(&mut self, headers: u16, step: OnStep<'_>) -> Result<(), MeasureError> {
        for direction in Direction::BOTH {
            if self.is_interrupted() {
                return Ok(());
            }
            let name = direction.name();
            let rtt = self.rtt();
            step(&format!("{name}: trains of datagrams"));
            let tests = self.m.tests.iter().filter(|t| t.direction == direction);
            let best = tests.map(|t| t.goodput_mbps).fold(0.0, f64::max) * 1e6;
            let FarEnd::Serve(client) = &mut self.far else { return Ok(()) };
            let trains = trains(client, direction, best, rtt, headers)?;
            step(&format!("{name}: path MTU, ECN, DSCP"));
            let mut found = path(client, direction, rtt, headers)?;
            match trains {
                Some(trains) => {
                    found.reordered_share = Some(trains.reordered_share);
                    self.m.direction_mut(direction).limiter = Some(trains.limiter);
                }
                None => {
                    let (lang, direction) = (self.m.lang, direction.word(self.m.lang));
                    self.m.cannot_tell.push(say!(lang, "measure.unknown.too-fast", direction = direction));
                }
            }
            let tcp = if headers == HEADERS_V6 { 72 } else { 52 };
            found.black_hole = self.m.test(name).zip(found.mtu).is_some_and(|(test, mtu)| {
                test.mss + tcp > mtu && (test.timeouts > 0 || test.goodput_mbps == 0.0)
            });
            self.m.direction_mut(direction).path = Some(found);
        }
        Ok(())
    }

    /// Notes that a cure was not tried.
    fn not_tried(&mut self, candidate: &Candidate, why: &str) {
        let lang = self.m.lang;
        let cure = cure_title(&candidate.change, lang);
        self.m.cannot_tell.push(say!(lang, "measure.unknown.not-tried", cure = cure, why = why));
    }

    /// Predicts the cures if the upload was captured, and measures each.
    fn try_cures(
        &mut self,
        all: &[Candidate],
        upload: Option<&Captured>,
        step: OnStep<'_>,
    ) -> Result<(), MeasureError> {
        let mut predicted = None;
        if let Some((upload, test)) = upload.zip(self.m.test("up")) {
            step("predicting cures");
            let limit = self.m.limit_mbps(Direction::Up);
            let capacity = limit.and_then(|_| self.m.capacity_mbps(Direction::Up));
            let limiter = self.m.up.limiter.as_ref();
            match predict(upload, self.far.server(), test, limiter, capacity, (all, self.m.lang)) {
                Ok(p) => {
                    let unknown = all.iter().zip(&p.cures).filter(|(_, mbps)| mbps.is_none());
                    let lang = self.m.lang;
                    let unknown: Vec<String> = unknown.map(|(c, _)| cure_title(&c.change, lang)).collect();
                    if !unknown.is_empty() {
                        let cures = unknown.join(word(lang, "measure.comma"));
                        self.m.cannot_tell.push(say!(lang, "measure.unknown.not-predicted", cures = cures));
                    }
                    predicted = Some(p);
                }
                Err(why) => {
                    self.m.cannot_tell.push(say!(self.m.lang, "measure.unknown.no-prediction", why = why));
                }
            }
        }
        for (i, candidate) in all.iter().enumerate() {
            if self.is_interrupted() {
                break;
            }
            let name = candidate.name();
            step(&format!("up: {name}"));
            let options = StreamOptions { ms: CURE_MS, ..candidate.options.clone() };
            let test = match self.stream(&name, Direction::Up, options, false) {
                Ok((test, _)) => test,
                // A congestion control that this user may not select.
                Err(MeasureError::Client(ClientError::Connect(_, e))) => {
                    self.not_tried(candidate, &e.to_string());
                    continue;
                }
                Err(MeasureError::Iperf3(e)) => {
                    self.not_tried(candidate, &e.to_string());
                    continue;
                }
                Err(e) => return Err(e),
            };
            let effect = predicted.as_ref().and_then(|p| {
                Some(ChangeEffect {
                    measure: EffectMeasure::Goodput,
                    unit: ChangeUnit::Mbps,
                    now: Some(p.as_is),
                    then: (*p.cures.get(i)?)?,
                    bound: EffectBound::Simulated,
                    formula: "the scenario that was fitted to the captured upload".into(),
                })
            });
            let change = effect.into_iter().fold(candidate.change.clone(), Change::with);
            self.m.cures.push(Cure { change, test });
        }
        Ok(())
    }
}
