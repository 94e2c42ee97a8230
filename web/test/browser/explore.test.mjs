// The explorer: its numbers, its sliders, and accessibility.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { PHONE, drawn, visit, withBrowser } from "./browser.mjs";
import { scenario, serve } from "./explorer.mjs";
import { load } from "../unit/load.mjs";
import { cli, folder } from "./reports.mjs";
import { site } from "../wasm/engine.mjs";

withBrowser();

const explorer = await serve();
after(() => explorer.end());
const page = explorer.url;

test("a coarse run is the beginning of the exact one", async () => {
  const shaper = scenario("policer-or-shaper", [], "shaper-fifo");
  const runs = await Promise.all([3, null].map((until_s) => explorer.ask({ do: "run", scenario: shaper, until_s })));
  const [coarse, exact] = runs.map(([, data]) => JSON.parse(data).results[0].series[0].flows[0].columns.time_s.rows);
  assert.ok(coarse > 200 && coarse < exact / 5, `${coarse} of ${exact}`);
});

const run = (p) => p.$eval("#report", (r) => Number(r.dataset.run));
const exact = (p, after) => p.waitForFunction((n) => { const { run, exact } = document.querySelector("#report").dataset; return Number(run) > n && exact === "true"; }, after);

test("a slider changes the result, the address and the command", async () => {
  await visit(page, {}, async (p) => {
    await exact(p, 0);
    const before = await p.textContent('#variants td[data-col="goodput"]');
    const slider = p.locator('.tune[data-what="rate"] input').first();
    await slider.focus();
    const n = await run(p);
    for (let i = 0; i < 12; i++) await p.keyboard.press("ArrowLeft");
    await exact(p, n);
    await p.waitForFunction((was) => document.querySelector('#variants td[data-col="goodput"]').textContent !== was, before);
    assert.equal(await p.evaluate(() => document.activeElement.type), "range", "the slider keeps the focus");
    await p.waitForFunction(() => location.hash.includes("rate"));
    assert.match(await p.textContent("#command"), /--set links\.\S+rate=/);
    const hash = await p.evaluate(() => location.hash);
    const value = await p.textContent('.tune[data-what="rate"] output');
    await p.reload();
    await exact(p, 0);
    assert.equal(await p.evaluate(() => location.hash), hash);
    assert.equal(await p.textContent('.tune[data-what="rate"] output'), value);
  });
});

/** Polls until `holds` returns true, with a generous limit for a busy machine. */
async function until(holds) {
  for (const end = performance.now() + 60_000; !(await holds()); ) {
    assert.ok(performance.now() < end, `never: ${holds}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

test("a run that is no longer wanted ends, and its progress is shown", async () => {
  await visit(page, {}, async (p) => {
    await exact(p, 0);
    await p.click(".scenario-text summary");
    const text = await p.inputValue("#text");
    // Minutes of work: it does not end on its own before the test ends it.
    const long = text.replace(/duration = "[^"]*"/, 'duration = "20000s"\nsample = "200s"');
    await p.fill("#text", long);
    const sent = p.waitForRequest((r) => r.url().includes("/ask?") && r.postData().includes('"until_s":null'));
    await p.click("#apply");
    const { pathname, search } = new URL((await sent).url());
    assert.equal(pathname, "/ask");
    const progress = async () => (await fetch(`${page}progress${search}`)).json();
    // The browser has sent the request, but the server may not have read it yet.
    await until(async () => (await progress())?.[0] > 0);
    // A hidden bar keeps the value of an earlier run.
    await p.waitForFunction(() => { const { hidden, value } = document.querySelector("#progress"); return !hidden && value > 0; });
    const n = await run(p);
    await p.fill("#text", text.replace(/duration = "[^"]*"/, 'duration = "3s"'));
    await p.click("#apply");
    await exact(p, n);
    await until(async () => (await progress()) === null);
  });
});

test("a page written by --write runs, follows a slider and diagnoses a capture without a server", async () => {
  const [pcap] = captured();
  await visit(site, {}, async (p) => {
    await exact(p, 0);
    const before = await p.textContent('#variants td[data-col="goodput"]');
    const n = await run(p);
    await p.locator('.tune[data-what="rate"] input').first().focus();
    for (let i = 0; i < 12; i++) await p.keyboard.press("ArrowLeft");
    await exact(p, n);
    await p.waitForFunction((was) => document.querySelector('#variants td[data-col="goodput"]').textContent !== was, before);
    await p.setInputFiles("#capture-file", pcap);
    await p.waitForSelector('#report[data-capture="true"]');
    assert.match(await p.textContent("#story"), /was policed for/);
  });
});

test("invisible parts are updated when no more results come", async () => {
  await visit(page, {}, async (p) => {
    await exact(p, 0);
    // The sliders stay in the window when the page is scrolled.
    await p.evaluate(() => scrollTo(0, document.body.scrollHeight));
    const before = await p.textContent("#story");
    const n = await run(p);
    await p.locator('.tune[data-what="rate"] input').first().focus();
    for (let i = 0; i < 12; i++) await p.keyboard.press("ArrowLeft");
    await exact(p, n);
    await p.waitForFunction((was) => document.querySelector("#story").textContent !== was, before);
    await p.waitForFunction(() => [...document.querySelectorAll('.plot:not([data-kind="states"]) .canvas')].every((c) => /\d/.test(c.getAttribute("aria-label"))));
    // A plot that is scrolled into view shows the run of the slider's value.
    const limit = (await p.textContent('.tune[data-what="rate"] output')).replace(/[^\d.]/g, "");
    await p.locator("#plot-throughput-a").scrollIntoViewIfNeeded();
    await drawn(p);
    await p.waitForFunction((limit) => document.querySelector('.plot[data-kind="throughput"] .level').textContent.includes(limit), limit);
  });
});

test("every slider of every scenario sets a valid value", async () => {
  for (const name of ["policer-or-shaper", "call", "home-line", "cc-primer", "sdwan-limiter", "hsr-train", "mtu", "overseas-office"]) {
    const read = async (sets) => JSON.parse((await explorer.ask({ do: "read", ...scenario(name, sets) }))[0]);
    const { variant } = await read([]);
    assert.ok(variant.tunables.filter((t) => t.main).length >= 5, name);
    for (const t of variant.tunables) {
      const text = { rate: "7Mbit/s", bytes: "64kB", time: "7ms", share: "0.02", count: "3" };
      const value = t.what === "mtu" ? "1400" : t.measure === "choice" ? t.choices[t.choices.length - 1] : text[t.measure];
      const sets = t.parts.map((p) => `${p.key}=${p.template.replaceAll("{}", value)}`);
      const said = await read(sets);
      assert.ok(!said.refused, `${name} ${sets}: ${said.refused?.text}`);
    }
  }
});

test("every stage that can be added is valid and runs", async () => {
  const all = JSON.parse(readFileSync(new URL("../../src/explore/stages.json", import.meta.url), "utf8"));
  const { toml } = await load("explore/toml.ts");
  for (const { stage, end } of all) {
    const list = [stage, { kind: "link", rate: "9Mbit/s" }, ...(end ? [end] : [])];
    const changed = scenario("home-line", ["duration=1s", `links.line.forward=${toml(list)}`], "deep-queues");
    const [head, page] = (await explorer.ask({ do: "run", scenario: changed })).map((piece) => piece.toString());
    assert.ok(!JSON.parse(head).refused, head);
    assert.ok(JSON.parse(page).results[0].run.variants[0].path.links[0].forward.some((s) => s.kind === stage.kind));
  }
});

test("the path builder, the limiter over time and the questions work", async () => {
  await visit(page, {}, async (p) => {
    await exact(p, 0);
    await p.click("#builder summary");
    const before = await p.locator("#builder .chip").count();
    const n = await run(p);
    await p.selectOption("#build-wan-forward", "loss");
    await exact(p, n);
    await p.waitForFunction((was) => document.querySelectorAll("#builder .chip").length === was + 1, before);
    assert.match(await p.textContent("#command"), /links\.wan\.forward=/);
    await p.evaluate(() => {
      const slider = document.querySelector("#moment");
      slider.value = "500";
      slider.dispatchEvent(new Event("input"));
    });
    assert.match(await p.textContent("#moment-words"), /^10 s · tokens \d.* of 625 kB/);
    await p.click("#show-lessons");
    await p.click("button[data-option='0']");
    await p.waitForFunction(() => document.querySelector("#lessons").dataset.right, null, { timeout: 60_000 });
    assert.equal(await p.getAttribute("#lessons", "data-right"), "false");
    assert.equal(await p.locator("button[data-option='2'][data-right=true]").count(), 1);
  });
});

test("runs are pinned for comparison and unpinned", async () => {
  await visit(page, {}, async (p) => {
    await exact(p, 0);
    await p.click("#pin");
    await p.waitForFunction(() => document.querySelectorAll("#variants tr.variant").length === 2);
    await p.waitForFunction(() => new Set([...document.querySelectorAll(".plot")].map((f) => f.dataset.side)).size === 2);
    await drawn(p);
    await p.click("#unpin");
    await p.waitForFunction(() => document.querySelectorAll("#variants tr.variant").length === 1);
  });
});

test("the reader's own scenario: errors are shown with their place; a valid text runs and can be shared", async () => {
  await visit(page, {}, async (p) => {
    await exact(p, 0);
    await p.click(".scenario-text summary");
    const text = await p.inputValue("#text");
    await p.fill("#text", text.replace("duration", "durtion"));
    await p.click("#apply");
    await p.waitForSelector("#refused:not([hidden])");
    assert.match(await p.textContent("#refused"), /did you mean `duration`\?/);
    const n = await run(p);
    await p.fill("#text", text.replace(/name = "[^"]*"/, 'name = "mine</script><b>"').replace(/duration = "[^"]*"/, 'duration = "3s"'));
    await p.click("#apply");
    await p.waitForSelector("#refused:not([hidden])");
    await p.fill("#text", text.replace(/duration = "[^"]*"/, 'duration = "3s"'));
    await p.click("#apply");
    await exact(p, n);
    await p.waitForFunction(() => location.hash.includes("z="));
    await p.reload();
    await exact(p, 0);
    await p.click(".scenario-text summary");
    assert.match(await p.inputValue("#text"), /duration = "3s"/);
    assert.ok(await p.locator("#refused").isHidden());
  });
});

/** Makes a capture of a policed upload, and diagnoses it on the command line. */
function captured() {
  const out = join(folder, "explore-pcap");
  cli("run", "scenarios/sdwan-limiter.toml", "--variant", "policing-cubic", "--set", "duration=8s", "--pcap", out, "--no-progress", "--force", "--out", join(folder, "explore-run"));
  const pcap = join(out, "policing-cubic-up", "pc.pcap");
  return [pcap, JSON.parse(cli("diagnose", pcap, "--json", "--no-progress"))];
}

test("a capture is diagnosed in the page as on the command line, and goes to no other machine", async () => {
  const [pcap, native] = captured();
  const [head, data] = await explorer.ask({ do: "diagnose", file: pcap }, pcap);
  assert.equal(head.toString(), "{}");
  const flows = JSON.parse(data).flows.map(({ figures, ribbon, packets, ...flow }) => flow);
  assert.ok(flows.length > 0 && flows[0].cause === "policed");
  assert.deepEqual(flows, native.flows.map(({ timeline, ...flow }) => flow));
  await visit(page, {}, async (p) => {
    await exact(p, 0);
    await p.setInputFiles("#capture-file", pcap);
    await p.waitForSelector('#report[data-capture="true"]');
    await drawn(p);
    assert.match(await p.textContent("#story"), /was policed for/);
    // Plots below the window are drawn when they are near it.
    await p.locator(".plot .canvas").first().scrollIntoViewIfNeeded();
    await p.waitForSelector(".plot .canvas[data-drawn]");
    await p.click("#lang-zh");
    await drawn(p);
    await p.click("#back");
    await p.waitForSelector("#sliders");
    await p.setInputFiles("#capture-file", { name: "no.pcap", mimeType: "application/octet-stream", buffer: Buffer.from("hello, this is no capture") });
    await p.waitForSelector("#refused:not([hidden])");
    assert.match(await p.textContent("#refused"), /not a pcap/);
  });
});

/** Captures an upload through a policer of 20 Mbit/s with a bucket of 100 kB at its sender. */
function policed() {
  const file = join(folder, "policed.toml");
  writeFileSync(file, `
name = "policed"
duration = "6s"
[links.path]
between = ["sender", "receiver"]
forward = [
    { kind = "link", rate = "1Gbit/s" },
    { kind = "policer", rate = "20Mbit/s", burst = "100kB" },
    { kind = "delay", delay = "15ms" },
]
backward = [{ kind = "delay", delay = "15ms" }]
[flows.upload]
from = "sender"
to = "receiver"
cc = "cubic"
`);
  const out = join(folder, "explore-policed");
  cli("run", file, "--pcap", out, "--no-progress", "--force", "--out", join(folder, "explore-run"));
  return join(out, "default", "sender.pcap");
}

/** Asserts that a value is within a relative error `share` of `right`. */
const near = (value, right, share, what) => assert.ok(Math.abs(value / right - 1) < share, `${what}: ${value}, should be ${right}`);

test("a scenario is fitted to a capture: its policer is found, its run is shown, it can be shared", async (t) => {
  const pcap = policed();
  await visit(page, {}, async (p) => {
    await exact(p, 0);
    const n = await run(p);
    await p.setInputFiles("#capture-file", pcap);
    await p.waitForSelector('#report[data-capture="true"]');
    // Start the search by keyboard and cancel it.
    await p.focus("#fit");
    await p.keyboard.press("Enter");
    await p.waitForSelector("#fit-progress");
    assert.equal(await p.evaluate(() => document.activeElement.id), "fit-cancel", "the focus stays where the button was");
    await p.keyboard.press("Enter");
    await p.waitForSelector("#fit");
    assert.equal(await p.locator("#fit-refused").count(), 0, "no error after cancelling");
    const began = performance.now();
    await p.click("#fit");
    await p.click("#lang-zh");
    await p.waitForSelector("#fitted", { timeout: 60_000 });
    t.diagnostic(`fitted in ${((performance.now() - began) / 1e3).toFixed(1)} s, whole search: ${await p.getAttribute("#fitted", "data-whole")}`);
    await p.click("#lang-en");
    await exact(p, n);
    assert.equal(await p.getAttribute("#fitted", "data-limiter"), "policer");
    // The scenario has the capture's policer.
    const text = await p.inputValue("#text");
    const [read] = await explorer.ask({ do: "read", file: "scenario.toml", text, sets: [], variant: null });
    const { tables } = JSON.parse(read).variant;
    const policers = Object.values(tables.links).flatMap((l) => l.forward).filter((s) => s.kind === "policer");
    assert.equal(policers.length, 1);
    const plain = (value, units) => { const [, number, unit] = /^([\d.]+)\s*(\S+)$/.exec(value); return Number(number) * units[unit]; };
    near(plain(policers[0].rate, { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6 }), 20e6, 0.02, "rate");
    near(plain(policers[0].burst, { B: 1, kB: 1e3 }), 100e3, 0.2, "bucket");
    // The card shows the rate with its range.
    const rows = await p.$$eval("#fitted-numbers tr[data-number]", (all) => all.map((r) => [r.dataset.number, ...[...r.cells].map((c) => c.textContent)]));
    const rate = rows.find(([key]) => key === "rate");
    assert.match(rate[2], /^(19|20)\.\d\sMbit\/s$/);
    assert.match(rate[3], /^\d+\.\d to \d+\.\d\sMbit\/s$/);
    // The page shows the run of the fitted scenario, with the goodput of the capture.
    assert.equal(await p.inputValue("#scenario"), "");
    const goodput = Number(await p.textContent('#variants td[data-col="goodput"]'));
    const captured = Number.parseFloat(await p.textContent("#fitted-compared tbody tr:first-child td"));
    near(goodput, captured, 0.1, "goodput");
    // A slider changes it, and the address contains it.
    const slider = p.locator('.tune[data-what="rate"] input').first();
    await slider.focus();
    const m = await run(p);
    for (let i = 0; i < 12; i++) await p.keyboard.press("ArrowLeft");
    await exact(p, m);
    await p.waitForFunction((was) => Number(document.querySelector('#variants td[data-col="goodput"]').textContent) < was, goodput);
    await p.waitForFunction(() => location.hash.includes("z="));
    await p.click("#fitted-close");
    assert.equal(await p.locator("#fitted").count(), 0);
  });
});

test("a capture that is too short is refused with the reason, on a phone with the dark theme", async () => {
  const pcap = policed();
  // The file's header and the packets of a handshake.
  const few = { name: "few.pcap", mimeType: "application/octet-stream", buffer: readFileSync(pcap).subarray(0, 2_000) };
  await visit(page, { ...PHONE, colorScheme: "dark" }, async (p) => {
    await exact(p, 0);
    await p.setInputFiles("#capture-file", few);
    await p.waitForSelector('#report[data-capture="true"]');
    await p.tap("#fit");
    await p.waitForSelector("#fit-refused");
    assert.match(await p.textContent("#fit-refused"), /data packets; a fit needs at least \d+/);
    await p.tap("#lang-zh");
    assert.match(await p.textContent("#fit-refused"), /^无法拟合：.*少于 \d+ 个无法说明路径$/);
    await p.tap("#back");
    await p.setInputFiles("#capture-file", pcap);
    await p.waitForSelector('#report[data-capture="true"]');
    await p.tap("#fit");
    await p.waitForSelector("#fitted", { timeout: 60_000 });
    await p.evaluate(axe);
    for (const lang of ["en", "zh"]) {
      await p.tap(`#lang-${lang}`);
      const [wide, inner] = await p.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.equal(wide, inner, lang);
      assert.doesNotMatch(await p.textContent("#fitted"), /explore\./);
      // Every line of the numbers and of the facts that the capture does not show is in the page's language.
      const lines = await p.$$eval("#fitted-numbers th[scope=row], #fitted-not-shown li", (all) => all.map((e) => e.textContent));
      assert.ok(lines.length > 2 && lines.every((line) => /\p{Script=Han}/u.test(line) === (lang === "zh")), `${lang}: ${lines}`);
      const { violations } = await p.evaluate(() => globalThis.axe.run("#fitted"));
      assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 120)}`), []);
    }
  });
});

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

for (const [options, colorScheme] of [[{ viewport: { width: 1400, height: 900 } }, "light"], [PHONE, "dark"]]) {
  test(`axe finds nothing serious, nothing is cut off, both languages: ${options.viewport.width} px, ${colorScheme}`, async (t) => {
    await visit(page, { ...options, colorScheme }, async (p) => {
      await exact(p, 0);
      await p.evaluate(axe);
      for (const lang of ["en", "zh"]) {
        await p.click(`#lang-${lang}`);
        await drawn(p);
        const { violations, passes } = await p.evaluate(() => globalThis.axe.run(document));
        assert.ok(passes.length > 20, "axe checked nothing");
        const list = violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.length} × ${v.nodes[0].html.slice(0, 120)}`);
        for (const line of list) t.diagnostic(line);
        assert.deepEqual(violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => v.id), [], list.join("\n"));
        const [wide, inner] = await p.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.equal(wide, inner, lang);
        if (lang === "zh") assert.doesNotMatch(await p.textContent("#sliders"), /explore\./);
      }
    });
  });
}
