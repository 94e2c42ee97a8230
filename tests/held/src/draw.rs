//! Draws random experiments: a small path, flows of all kinds in both directions, and variants that change
//! one or two settings.

use std::fmt::Write as _;
use units::Stream;

const CONTROLS: [&str; 7] = ["cubic", "reno", "bbr", "bbr3", "vegas", "westwood", "compound"];
const QUEUES: [&str; 5] = ["fifo", "codel", "fq-codel", "pie", "drr"];
const GOALS: [&str; 5] = ["goodput", "p95 delay", "completion time", "page time", "fairness"];

/// The state of drawing an experiment.
struct Draw {
    stream: Stream,
    /// Rates of the two directions, kbit/s.
    rates: [u64; 2],
    flows: Vec<String>,
    /// Whether the limiter of each direction has a `rate` to change.
    rated: [bool; 2],
}

/// Draws the experiment of a seed, as a scenario file, and the number of its runs.
pub fn draw(seed: u64) -> (String, u32) {
    let mut draw =
        Draw { stream: Stream::new(seed, "story"), rates: [0; 2], flows: Vec::new(), rated: [true; 2] };
    let text = draw.file(seed);
    let repeats = if draw.one_in(15) { 2 } else { 1 };
    (text, repeats)
}

/// Draws the scenario of a seed in which several causes may limit the flows: a path with a limiter and
/// impairments, hosts with small buffers, and one to three flows. It has no variants.
pub fn draw_held(seed: u64) -> String {
    let mut draw =
        Draw { stream: Stream::new(seed, "held"), rates: [0; 2], flows: Vec::new(), rated: [true; 2] };
    draw.held(seed)
}

impl Draw {
    fn held(&mut self, seed: u64) -> String {
        let seconds = 4 + self.below(4);
        let mut text = format!("duration = \"{seconds}s\"\nseed = {seed}\n");
        let (mbit, ms) = (self.pick(&[4, 10, 20, 40]), self.pick(&[5, 15, 40]));
        let packets = self.pick(&[10, 50, 200, 1000]);
        let queue = self.pick(&["fifo", "fifo", "fifo", "codel", "fq-codel"]);
        let queue = format!("{{ kind = \"{queue}\", packets = {packets} }}");
        let burst = self.pick(&[6000, 15_000, 60_000]);
        let mut forward = vec![match self.below(4) {
            0 => format!(
                "{{ kind = \"policer\", name = \"limiter\", rate = \"{mbit}Mbit/s\", burst = \"{burst}B\" }}, {{ kind = \"delay\", delay = \"{ms}ms\" }}"
            ),
            1 => format!(
                "{{ kind = \"shaper\", name = \"limiter\", rate = \"{mbit}Mbit/s\", queue = {queue} }}, {{ kind = \"delay\", delay = \"{ms}ms\" }}"
            ),
            _ => format!(
                "{{ kind = \"link\", name = \"limiter\", rate = \"{mbit}Mbit/s\", delay = \"{ms}ms\", queue = {queue} }}"
            ),
        }];
        if self.one_in(2) {
            let p = self.pick(&["0.0003", "0.002", "0.01"]);
            forward.push(format!("{{ kind = \"loss\", name = \"noise\", probability = {p} }}"));
        }
        if self.one_in(4) {
            let lasts = self.pick(&[20, 60, 150]);
            forward.push(format!(
                "{{ kind = \"outage\", name = \"gap\", every = \"{}ms\", lasts = \"{lasts}ms\" }}",
                self.pick(&[900, 2000])
            ));
        }
        if self.one_in(8) {
            forward.push(
                "{ kind = \"reorder\", name = \"paths\", probability = 0.02, delay = \"10ms\" }".into(),
            );
        }
        if self.one_in(8) {
            forward.push("{ kind = \"jitter\", name = \"radio\", delay = \"10ms\", jitter = \"8ms\", every = \"100ms\" }".into());
        }
        let up = self.pick(&[10_000, 10_000, 1000, 200]);
        let mut backward = vec![format!(
            "{{ kind = \"link\", name = \"up\", rate = \"{up}kbit/s\", delay = \"{ms}ms\", queue = {{ kind = \"fifo\", packets = {} }} }}",
            self.pick(&[20, 200])
        )];
        if self.one_in(4) {
            backward.push("{ kind = \"loss\", name = \"noise-up\", probability = 0.005 }".into());
        }
        let _ = writeln!(
            text,
            "[links.wan]\nbetween = [\"server\", \"home\"]\nforward = [{}]\nbackward = [{}]",
            forward.join(", "),
            backward.join(", ")
        );
        let profile = if self.one_in(6) { "profile = \"rfc\", " } else { "" };
        let receive = match self.below(5) {
            0 => "receive_window = \"40kB\"",
            1 => "receive_buffer = \"250kB\"",
            _ => "ecn = false",
        };
        let send = if self.one_in(5) { "send_buffer = \"100kB\"" } else { "ecn = false" };
        let _ = writeln!(text, "[hosts.home]\nstack = {{ {profile}{receive} }}");
        let _ = writeln!(text, "[hosts.server]\nstack = {{ {profile}{send} }}");
        for i in 0..1 + self.below(3) {
            self.held_flow(&mut text, i, mbit);
        }
        text
    }

    fn held_flow(&mut self, text: &mut String, i: u64, mbit: u64) {
        let cc = self.pick(&["cubic", "cubic", "reno", "bbr"]);
        let (mut from, mut to) = ("server", "home");
        let mut more = String::new();
        match self.below(if i == 0 { 6 } else { 10 }) {
            0 => {
                (from, to) = (to, from);
                more = "app = { kind = \"request\", request = \"200B\", response = \"150kB\", think = \"200ms\" }".into();
            }
            1 if self.one_in(2) => {
                more = format!(
                    "app = {{ kind = \"onoff\", on = \"900ms\", off = \"300ms\", rate = \"{}kbit/s\" }}",
                    mbit * 300
                );
            }
            2 if self.one_in(2) => more = format!("max_pacing_rate = \"{}kbit/s\"", mbit * 400),
            6 => {
                more =
                    format!("app = {{ kind = \"udp\", rate = \"{}kbit/s\" }}", mbit * self.pick(&[200, 1500]))
            }
            7 => more = "app = { kind = \"voice\", codec = \"g711\" }".into(),
            8 => (from, to) = (to, from),
            9 => more = "app = { kind = \"bulk\", bytes = \"300kB\" }".into(),
            _ => {}
        }
        let _ = writeln!(text, "[flows.f{i}]\nfrom = \"{from}\"\nto = \"{to}\"\ncc = \"{cc}\"\n{more}");
    }

    fn below(&mut self, n: u64) -> u64 {
        self.stream.below(n)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn file(&mut self, seed: u64) -> String {
        self.rates = [self.rate(), self.rate()];
        let seconds = 2 + self.below(3);
        let mut text = format!("duration = \"{seconds}s\"\nseed = {seed}\n");
        let alone = self.one_in(12);
        if alone {
            text += "one_at_a_time = true\n";
        }
        let variants = 1 + self.below(4);
        self.goals(&mut text);
        if self.one_in(3) {
            let _ = writeln!(text, "baseline = \"v{}\"", self.below(variants));
        }
        if self.one_in(4) {
            let _ = writeln!(text, "measure = \"{}ms..{}s\"", 50 + self.below(900), seconds);
        }
        self.path(&mut text);
        for i in 0..1 + self.below(3) {
            self.flow(&mut text, i, seconds);
        }
        for i in 0..variants {
            let _ = writeln!(text, "\n[variants.v{i}]");
            for _ in 0..if i == 0 { 0 } else { 1 + self.below(2) } {
                self.change(&mut text);
            }
        }
        text
    }

    fn goals(&mut self, text: &mut String) {
        let mut goals: Vec<&str> = Vec::new();
        for _ in 0..self.below(4) {
            let goal = self.pick(&GOALS);
            if !goals.contains(&goal) {
                goals.push(goal);
            }
        }
        if !goals.is_empty() {
            let _ = writeln!(text, "goal = {goals:?}");
        }
    }

    /// Draws a rate, kbit/s.
    fn rate(&mut self) -> u64 {
        self.pick(&[500, 1000, 2000, 4000, 8000])
    }

    fn queue(&mut self) -> String {
        let kind = self.pick(&QUEUES);
        format!("{{ kind = \"{kind}\", packets = {} }}", self.pick(&[5, 20, 60, 300]))
    }

    /// Draws the limiter of a direction; it always has the same name.
    fn limiter(&mut self, rate: u64) -> String {
        let queue = self.queue();
        match self.below(7) {
            2 => {
                let low = rate / self.pick(&[2, 5]);
                format!(
                    "{{ kind = \"rate-trace\", name = \"limiter\", steps = [{{ at = \"0s\", rate = \"{rate}kbit/s\" }}, {{ at = \"200ms\", rate = \"{low}kbit/s\" }}], period = \"400ms\", queue = {queue} }}"
                )
            }
            3 if self.one_in(2) => format!(
                "{{ kind = \"train\", name = \"limiter\", rate = \"{rate}kbit/s\", cell = \"80m\", lasts = \"60ms\", failure_probability = 0.0, failure_lasts = [\"60ms\", \"60ms\"], queue = {queue} }}"
            ),
            0 => format!(
                "{{ kind = \"policer\", name = \"limiter\", rate = \"{rate}kbit/s\", burst = \"{}B\" }}",
                self.pick(&[3000, 9000, 40_000])
            ),
            1 => format!(
                "{{ kind = \"shaper\", name = \"limiter\", rate = \"{rate}kbit/s\", queue = {queue} }}"
            ),
            _ => {
                format!("{{ kind = \"link\", name = \"limiter\", rate = \"{rate}kbit/s\", queue = {queue} }}")
            }
        }
    }

    /// Returns a limiter, sometimes inside a tunnel or behind a link with a small MTU.
    fn narrow(&mut self, limiter: &str) -> String {
        let rest = self.pick(&["fragment = true", "fragment = false", "icmp = false"]);
        let mtu = self.pick(&[576, 1200, 1400]);
        match self.below(10) {
            0 => {
                format!(
                    "{{ kind = \"tunnel\", overhead = 60, mtu = 1500, {rest} }},\n    {limiter},\n    {{ kind = \"tunnel-end\" }}"
                )
            }
            1 => format!(
                "{limiter},\n    {{ kind = \"link\", name = \"narrow\", mtu = {mtu}, icmp = {} }}",
                self.one_in(2)
            ),
            _ => limiter.to_string(),
        }
    }

    /// Draws the path from `a` and `c` over `m` to `b`: two hosts share the limited link.
    fn path(&mut self, text: &mut String) {
        let delay = self.pick(&[2, 10, 40]);
        for (side, name) in ["forward", "backward"].iter().enumerate() {
            let rate = self.rates[side];
            let front = rate * 9 / 10;
            let limiter = self.limiter(rate);
            self.rated[side] = !limiter.contains("rate-trace");
            let limiter = self.narrow(&limiter);
            let loss = self.pick(&["0", "0.002", "0.02"]);
            if side == 0 {
                *text += "\n[links.wan]\nbetween = [\"m\", \"b\"]\n";
            }
            let _ = writeln!(
                text,
                "{name} = [\n    {{ kind = \"shaper\", name = \"front\", rate = \"{front}kbit/s\", queue = {{ kind = \"fifo\", packets = 20 }}, enabled = false }},\n    {limiter},\n    {{ kind = \"loss\", name = \"loss\", probability = {loss} }},\n    {{ kind = \"delay\", delay = \"{delay}ms\" }},\n]"
            );
        }
        let relay = self.one_in(4);
        for host in ["a", "c"] {
            let _ = writeln!(text, "\n[links.{host}]\nbetween = [\"{host}\", \"m\"]");
            if relay {
                // The path to the relay must take some time.
                let port = "[{ kind = \"link\", rate = \"50Mbit/s\", delay = \"1ms\" }]";
                let _ = writeln!(text, "forward = {port}\nbackward = {port}");
            }
        }
        if relay {
            *text += "\n[relays.box]\nhost = \"m\"\n";
        }
    }

    fn flow(&mut self, text: &mut String, i: u64, seconds: u64) {
        let name = format!("{}{}", self.pick(&["up", "down", "x-", "y"]), i + 5);
        let up = self.below(2) == 0;
        let far = self.pick(&["a", "a", "c"]);
        let (from, to) = if up { (far, "b") } else { ("b", far) };
        let _ = writeln!(
            text,
            "\n[flows.\"{name}\"]\nfrom = \"{from}\"\nto = \"{to}\"\ncc = \"{}\"",
            self.pick(&CONTROLS)
        );
        let app = match self.below(11) {
            7 => format!(
                "{{ kind = \"page\", objects = {}, size = \"{}kB\", connections = {}, think = \"100ms\" }}",
                self.pick(&[2, 8]),
                self.pick(&[4, 30]),
                self.pick(&[1, 4])
            ),
            8 => format!("{{ kind = \"voice\", codec = \"{}\" }}", self.pick(&["g711", "g729", "opus"])),
            9 => format!("{{ kind = \"probe\", interval = \"{}ms\" }}", self.pick(&[20, 100])),
            0 => format!("{{ kind = \"bulk\", bytes = \"{}kB\" }}", self.pick(&[20, 100, 800])),
            1 => format!(
                "{{ kind = \"request\", request = \"200B\", response = \"{}kB\", think = \"{}ms\" }}",
                self.pick(&[5, 60]),
                self.pick(&[10, 100])
            ),
            2 => "{ kind = \"onoff\", on = \"300ms\", off = \"200ms\" }".into(),
            3 => {
                format!("{{ kind = \"udp\", rate = \"{}kbit/s\", size = 300 }}", self.pick(&[100, 600, 3000]))
            }
            _ => String::new(),
        };
        if !app.is_empty() {
            let _ = writeln!(text, "app = {app}");
        }
        let datagrams = ["udp", "voice", "probe"].iter().any(|k| app.contains(&format!("\"{k}\"")));
        if text.contains("[relays.box]") && !datagrams && self.one_in(2) {
            let _ = writeln!(text, "via = [\"box\"]");
        }
        if self.one_in(3) {
            let _ = writeln!(text, "count = {}", 2 + self.below(3));
            if self.one_in(2) {
                let _ = writeln!(text, "stagger = \"{}ms\"", self.pick(&[20, 300]));
            }
        }
        if self.one_in(4) {
            let _ = writeln!(text, "start = \"{}ms\"", self.below(500 * seconds));
        }
        self.flows.push(name);
    }

    /// Returns whether the flow is not a flow of datagrams, which cannot pass a relay.
    fn may_pass(&self, text: &str, flow: &str) -> bool {
        let own = text.split(&format!("[flows.\"{flow}\"]")).nth(1).unwrap_or_default();
        let own = own.split("\n[").next().unwrap_or_default();
        !["udp", "voice", "probe"].iter().any(|kind| own.contains(&format!("\"{kind}\"")))
    }

    fn change(&mut self, text: &mut String) {
        let direction = self.pick(&["forward", "forward", "backward"]);
        let rate = self.rates[usize::from(direction == "backward")];
        let flows = self.flows.clone();
        let flow = &flows[self.below(flows.len() as u64) as usize];
        let line = match self.below(13) {
            8 => format!("'flows.\"{flow}\".start' = \"{}ms\"", self.pick(&[0, 100, 350])),
            9 if text.contains(&format!("[flows.\"{flow}\"]\nfrom = \"a\"")) => {
                format!(
                    "\"hosts.a.stack.{}",
                    self.pick(&["initial_window\" = 4", "sack\" = false", "ecn\" = true"])
                )
            }
            10 if text.contains("[relays.box]") && self.may_pass(text, flow) => {
                format!("'flows.\"{flow}\".via' = {}", self.pick(&["[]", "[\"box\"]"]))
            }
            11 => format!("'flows.\"{flow}\".max_pacing_rate' = \"{}kbit/s\"", self.pick(&[300, 900])),
            12 => format!("'flows.\"{flow}\".dscp' = {}", self.pick(&[0, 46])),
            9 | 10 => return,
            0 | 1 => format!("'flows.\"{flow}\".cc' = \"{}\"", self.pick(&CONTROLS)),
            2 => {
                let rate = if self.one_in(3) { self.rate() } else { rate };
                format!("\"links.wan.{direction}.limiter\" = {}", self.limiter(rate))
            }
            3 => format!(
                "\"links.wan.{direction}.limiter\" = {{ kind = \"link\", rate = \"{rate}kbit/s\", queue = {} }}",
                self.queue()
            ),
            4 => format!("\"links.wan.{direction}.front.enabled\" = true"),
            5 => format!("\"links.wan.{direction}.loss.enabled\" = false"),
            6 => {
                format!("\"links.wan.{direction}.loss.probability\" = {}", self.pick(&["0", "0.01", "0.05"]))
            }
            7 if !self.rated[usize::from(direction == "backward")] => return,
            _ => format!("\"links.wan.{direction}.limiter.rate\" = \"{}kbit/s\"", self.rate()),
        };
        // The same key twice would make the scenario invalid.
        let key = line.split(" = ").next().unwrap_or_default().to_string();
        let current = text.rsplit("[variants.").next().unwrap_or_default();
        let both = current.contains("limiter") && key.contains("limiter");
        if !current.contains(&key) && !both {
            let _ = writeln!(text, "{line}");
        }
    }
}
