//! Random scenario files. Keys and values follow the JSON Schema, so that new keys are covered automatically.

use super::{parse, read_file};
use path::Stage;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;
use units::Stream;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(scenario::schema()).unwrap());

/// A generator of random files, from a seed.
pub struct Draw(Stream);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(Stream::new(seed, "scenario files"))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn one_of<T: Clone>(&mut self, list: &[T]) -> T {
        let i = self.below(list.len());
        list[i].clone()
    }

    /// Draws until a value is good.
    fn until<T>(&mut self, draw: impl Fn(&mut Draw) -> T, good: impl Fn(&T) -> bool) -> T {
        for _ in 0..100_000 {
            let drawn = draw(self);
            if good(&drawn) {
                return drawn;
            }
        }
        panic!("no drawn value is valid");
    }

    /// A random value of the schema's type, for `key`.
    fn value(&mut self, schema: &Value, key: &str) -> Value {
        if let Some(name) = schema["$ref"].as_str().and_then(|r| r.rsplit('/').next()) {
            let texts: &[&str] = match name {
                "Span" => &["1ns", "1ms", "2.5ms", "1500us", "100ms", "1s", "3s", "0s", "1234567ns"],
                "Bytes" => &["1600B", "9kB", "64KiB", "1MB", "123457B"],
                "Rate" => &["20Mbit/s", "1.5Mbit/s", "64kbit/s", "123456789bit/s", "1Gbit/s"],
                "Speed" => &["300km/h", "10m/s"],
                "Length" => &["800m", "1.2km"],
                "Frequency" => &["2.1GHz", "900MHz"],
                "SpanOrNone" => &["none", "40ms"],
                "RateOrHeld" => &["held", "5Mbit/s"],
                _ => return self.value(&SCHEMA["definitions"][name], key),
            };
            return self.one_of(texts).into();
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema["enum"].as_array() {
            return self.one_of(values);
        }
        for combinator in ["allOf", "anyOf", "oneOf"] {
            if let Some(list) = schema[combinator].as_array() {
                let one = self.one_of(list);
                return self.value(&one, key);
            }
        }
        match schema["type"].as_str() {
            Some("integer") => self.one_of(&[0u64, 1, 2, 3, 5, 6, 46, 60, 400, 1400, 1500, 9000]).into(),
            Some("number") => self.one_of(&[0.0, 1e-7, 0.0004, 0.002, 0.125, 0.5, 1.0, 3.5, 12.0]).into(),
            Some("boolean") => self.one_in(2).into(),
            Some("array") => self.list(schema, key),
            Some("object") => Value::Object(self.table(schema)),
            _ if key == "file" => self.one_of(&["steps.trace", "mahimahi.trace", "delays.trace"]).into(),
            _ => self.one_of(&["up", "down \"both\""]).into(),
        }
    }

    /// A short list with ascending numbers and times, and distinct names.
    fn list(&mut self, schema: &Value, key: &str) -> Value {
        let (least, most) =
            (schema["minItems"].as_u64().unwrap_or(1), schema["maxItems"].as_u64().unwrap_or(4));
        let n = least as usize + self.below((most - least + 1) as usize);
        let mut list: Vec<Value> = (0..n).map(|_| self.value(&schema["items"], key)).collect();
        list.sort_by_key(|v| v.as_u64());
        list.dedup_by_key(|v| v.as_u64().unwrap_or(u64::MAX - v.to_string().len() as u64));
        for (i, table) in list.iter_mut().enumerate().filter_map(|(i, v)| Some((i, v.as_object_mut()?))) {
            for (key, value) in [
                ("at", json!(format!("{}ms", 400 * i))),
                ("name", json!(format!("c{i}"))),
                ("parent", json!("c0")),
            ] {
                if table.contains_key(key) {
                    table.insert(key.into(), value);
                }
            }
            if i == 0 {
                table.remove("parent");
            }
        }
        list.into()
    }

    /// A table with all required keys and some optional ones.
    fn table(&mut self, schema: &Value) -> Map<String, Value> {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let rare = self.one_of(&[2, 4, 8]);
        let mut table = Map::new();
        for (key, value) in schema["properties"].as_object().into_iter().flatten() {
            if required.contains(&json!(key)) || self.one_in(rare) {
                table.insert(key.clone(), self.value(value, key));
            }
        }
        table
    }

    /// A stage that passes its own checks.
    fn stage(&mut self) -> String {
        let kinds = SCHEMA["definitions"]["Stage"]["oneOf"].as_array().unwrap();
        let mut schema = self.one_of(kinds);
        for key in ["name", "enabled"] {
            schema["properties"].as_object_mut().unwrap().remove(key);
        }
        let mut table = self.until(|d| d.table(&schema), |t| stage_is_good(t.clone()));
        if self.one_in(4) {
            table.insert("name".into(), self.one_of(&["limiter", "x.y", "delay-2", "link"]).into());
        }
        if self.one_in(8) {
            table.insert("enabled".into(), json!(false));
        }
        spell(&table.into())
    }

    fn stages(&mut self) -> String {
        let list = |d: &mut Draw| {
            let n = d.below(5);
            let stages: Vec<String> = (0..n).map(|_| d.stage()).collect();
            format!("[{}]", stages.join(", "))
        };
        // Lists with duplicate names are drawn again.
        let around = |list: &String| format!("[links.l]\nbetween = [\"a\", \"b\"]\nforward = {list}\n");
        self.until(list, |list| parse(&around(list)).is_ok())
    }

    fn stack(&mut self) -> String {
        let stack = |d: &mut Draw| spell(&Value::Object(d.table(&SCHEMA["definitions"]["Stack"])));
        let around = |s: &String| format!("[links.l]\nbetween = [\"a\", \"b\"]\n[hosts.a]\nstack = {s}\n");
        self.until(stack, |stack| parse(&around(stack)).is_ok())
    }

    fn cc(&mut self) -> String {
        let cc = |d: &mut Draw| spell(&d.value(&SCHEMA["definitions"]["Flow"]["properties"]["cc"], "cc"));
        let around = |cc: &String| {
            format!("[links.l]\nbetween = [\"a\", \"b\"]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\ncc = {cc}\n")
        };
        self.until(cc, |cc| parse(&around(cc)).is_ok())
    }

    /// A flow's keys except `from` and `to`.
    fn flow(&mut self, hosts: usize, relays: usize) -> String {
        let keys = |d: &mut Draw| {
            let mut keys = Vec::new();
            let mut some = |d: &mut Draw, rare: usize, key: &str, value: String| {
                if d.one_in(rare) {
                    keys.push(format!("{key} = {value}"));
                }
            };
            let cc = d.cc();
            some(d, 2, "cc", cc);
            let app = spell(&d.value(&SCHEMA["definitions"]["App"], "app"));
            some(d, 2, "app", app);
            let count = d.one_of(&["2", "3", "128"]);
            some(d, 3, "count", count.into());
            let (start, stagger) = (d.one_of(&["0s", "1ms", "1.5s"]), d.one_of(&["1ns", "10ms"]));
            some(d, 3, "start", format!("{start:?}"));
            some(d, 4, "stagger", format!("{stagger:?}"));
            let tool = d.one_of(&["iperf3", "'iperf3'", "curl -o /dev/null 'http://{to}:{port}/a b'"]);
            some(d, 6, "tool", format!("{tool:?}"));
            some(d, 6, "server", "\"serve '' {{ {port}\"".into());
            let relay = if relays == 0 { String::new() } else { format!("\"r{}\"", d.below(relays)) };
            some(d, 4, "via", format!("[{relay}]"));
            let (dscp, rate) = (d.below(64).to_string(), d.one_of(&["19Mbit/s", "1bit/s"]));
            some(d, 4, "dscp", dscp);
            some(d, 4, "max_pacing_rate", format!("{rate:?}"));
            some(d, 6, "enabled", "false".into());
            keys
        };
        let around = |keys: &Vec<String>| {
            let mut text = "duration = \"4s\"\n".to_string();
            // The topology of `file`: hosts in a row, relays on the inner ones.
            text += &links(hosts, |_| String::new());
            text += &relay_tables(hosts, relays);
            text + &format!("[flows.f]\nfrom = \"h0\"\nto = \"h{}\"\n{}\n", hosts - 1, keys.join("\n"))
        };
        self.until(keys, |keys| parse(&around(keys)).is_ok()).join("\n")
    }

    /// A whole file.
    pub fn file(&mut self) -> String {
        let hosts = 2 + self.below(3);
        let relays = if hosts > 2 { self.below(hosts - 1) } else { 0 };
        let mut text = String::new();
        for (key, values) in [
            ("name", &["\"x\"", "\"naïve.1\""][..]),
            ("description", &["\"\"", "\"two\\nlines, \\\"quoted\\\"\""]),
            ("seed", &["0", "7", "18446744073709551615"]),
            ("sample", &["\"0s\"", "\"1ms\"", "\"333us\""]),
            ("one_at_a_time", &["true", "false"]),
            ("measure", &["\"1s..3s\"", "\"all\""]),
            ("host_jitter", &["\"repeats\"", "\"always\"", "\"never\""]),
            ("goal", &["\"goodput\"", "[\"p95 delay\", \"fairness\"]", "[]"]),
        ] {
            // `measure` requires time series.
            if self.one_in(2) && !(key == "measure" && text.contains("sample = \"0s\"")) {
                text += &format!("{key} = {}\n", self.one_of(values));
            }
        }
        text += &format!("duration = \"{}\"\n", self.one_of(&["4s", "50min", "3999ms"]));
        let directions: Vec<String> = (0..hosts - 1)
            .map(|_| format!("forward = {}\nbackward = {}\n", self.stages(), self.stages()))
            .collect();
        text += &links(hosts, |i| directions[i].clone());
        for host in 0..hosts {
            if self.one_in(2) {
                text += &format!("[hosts.h{host}]\nstack = {}\n", self.stack());
            }
        }
        text += &relay_tables(hosts, relays);
        for i in 0..self.below(4) {
            let keys = self.flow(hosts, relays);
            text += &format!("[flows.\"f.{i}\"]\nfrom = \"h0\"\nto = \"h{}\"\n{keys}\n", hosts - 1);
        }
        for i in 0..self.below(3) {
            let host = self.one_of(&["", "host = \"h0\"\n", "host = \"h1\"\n"]);
            let direction = self.one_of(&["", "direction = \"forward\"\n", "direction = \"backward\"\n"]);
            let only = self.one_of(&["", "only = \"port 5432\"\n"]);
            text += &format!(
                "[attach.a{i}]\nlink = \"l0\"\ntarget = \"docker:web-{i}\"\n{host}{direction}{only}"
            );
        }
        if self.one_in(2) {
            for i in 0..1 + self.below(3) {
                text += &self.variant(i, hosts, &text);
            }
        }
        text
    }

    /// A variant with random overrides that are valid for `text`.
    fn variant(&mut self, i: usize, hosts: usize, text: &str) -> String {
        let head = format!("[variants.v{i}]\n");
        let mut kept = head.clone();
        for _ in 0..self.below(6) {
            let (way, link) = (self.one_of(&["forward", "backward"]), self.below(hosts - 1));
            let cc = self.cc();
            let host = self.below(hosts);
            let change = match self.below(11) {
                0 => format!("\"flows.\\\"f.0\\\".cc\" = {cc}\n"),
                1 => format!("\"flows.\\\"f.{}\\\".enabled\" = {}\n", self.below(3), self.one_in(2)),
                2 => format!("\"links.l{link}.{way}\" = {}\n", self.stages()),
                3 => format!("\"links.l{link}.{way}.{}\" = {}\n", self.below(4), self.stage()),
                4 => format!("\"hosts.h{host}.stack\" = {}\n", self.stack()),
                5 => format!("\"flows.new\" = {{ from = \"h0\", to = \"h1\", cc = {cc} }}\n"),
                6 => "\"links.new\" = { between = [\"h0\", \"far\"] }\n".into(),
                7 => "duration = \"5s\"\nsample = \"2ms\"\n".into(),
                8 => "\"attach.a0.target\" = \"netns:far\"\n".into(),
                9 => format!("\"links.l{link}.{way}.0.delay\" = \"7ms\"\n"),
                _ => "\"flows.\\\"f.1\\\".count\" = 2\n".into(),
            };
            if !kept.contains(change.split(" =").next().unwrap())
                && parse(&format!("{text}{kept}{change}")).is_ok()
            {
                kept += &change;
            }
        }
        kept
    }
}

/// Links that connect the hosts in a row.
fn links(hosts: usize, directions: impl Fn(usize) -> String) -> String {
    let link = |i: usize| format!("[links.l{i}]\nbetween = [\"h{i}\", \"h{}\"]\n{}", i + 1, directions(i));
    (0..hosts - 1).map(link).collect()
}

fn relay_tables(hosts: usize, relays: usize) -> String {
    let keys = ["", "buffer = \"1MB\"\ntool = \"haproxy\"\n", "cc = { name = \"bbr-hsr\", alpha = 0.25 }\n"];
    (0..relays)
        .map(|i| format!("[relays.r{i}]\nhost = \"h{}\"\n{}", 1 + i % (hosts - 2).max(1), keys[i % 3]))
        .collect()
}

fn stage_is_good(table: Map<String, Value>) -> bool {
    // A stage cannot have both a file and the list that the file fills.
    if table.contains_key("file")
        && ["delays", "steps", "opportunities"].iter().any(|k| table.contains_key(*k))
    {
        return false;
    }
    let Ok(mut stage) = serde_json::from_value::<Stage>(table.into()) else { return false };
    let loaded = match stage.file().map(read_file) {
        Some(text) => text.is_ok_and(|text| stage.load(&text).is_ok()),
        None => true,
    };
    loaded && stage.check().is_ok()
}

/// The value as TOML in one line.
fn spell(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(spell).collect::<Vec<_>>().join(", ")),
        Value::Object(table) => {
            let entries: Vec<String> = table.iter().map(|(k, v)| format!("{k} = {}", spell(v))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}
