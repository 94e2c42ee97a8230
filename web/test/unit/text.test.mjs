// Numbers, texts, CSV, and names.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { HOSTILE } from "../sample.mjs";
import { load } from "./load.mjs";

const n = await load("number.ts");
const { csv, field, fileName, numbers } = await load("plot/csv.ts");

const ROOT = new URL("../../", import.meta.url);
const sources = readdirSync(new URL("src", ROOT), { recursive: true })
  .filter((f) => f.endsWith(".ts"))
  .map((f) => readFileSync(new URL(`src/${f}`, ROOT), "utf8"));

test("numbers are formatted as on the terminal", () => {
  const got = [0, 0.0004, 0.1234, 0.9999, 4.104, 9.996, 19.14, 99.96, 941.4, 12_345, 1_200_000].map(n.short);
  assert.deepEqual(got, ["0", "0", "0.123", "1.00", "4.10", "10.0", "19.1", "100", "941", "12.3k", "1.20M"]);
  assert.deepEqual([NaN, 1e12].map(n.short), ["–", "1.0e12"]);
  assert.deepEqual([9_999, 10_000].map(n.count), ["9999", "10.0k"]);
  const pairs = [[33.24, 3.16], [273.8, 70.7], [6882, 518], [19.29, 0], [12_345, 600], [0, 2.4], [0.5, 70.7]];
  const texts = ["33.2 ±3.2", "270 ±70", "6900 ±500", "19.3 ±0.0", "12.3k ±0.6k", "0.0 ±2.4", "0 ±70"];
  assert.deepEqual(pairs.map(([mean, half]) => n.withInterval(mean, half).join(" ±")), texts);
  assert.deepEqual([4.06, 9.96, 31.4].map(n.millis), ["4.1", "10", "31"]);
  assert.deepEqual([n.range(4.7, 4.8), n.range(4.701, 4.702)], ["4.70–4.80", "4.70"]);
  assert.deepEqual([0, 0.00004, 0.0125, 0.125, 1].map(n.percent), ["0", "<.01", "1.25", "12.5", "100"]);
});

test("ticks have the decimals that the step needs", () => {
  assert.deepEqual(n.ticks([0, 5, 10]), ["0", "5", "10"]);
  assert.deepEqual(n.ticks([10.1, 10.15, 10.2]), ["10.10", "10.15", "10.20"]);
  assert.deepEqual(n.ticks([0, 20_000, 40_000]), ["0", "20k", "40k"]);
  assert.deepEqual(n.ticks([0, 2.5, 5]), ["0", "2.5", "5.0"]);
  assert.deepEqual(n.ticks([0.1 + 0.2, 0.4, 0.5]), ["0.3", "0.4", "0.5"]);
  assert.deepEqual(n.ticks([0, 12_500, 25_000]), ["0", "12.5k", "25.0k"]);
});

test("elements have the names of the registry", () => {
  const names = JSON.parse(readFileSync(new URL("../crates/answers/report/names.json", ROOT), "utf8"));
  const elements = Object.entries(names).filter(([k]) => k.startsWith("name.element."));
  assert.ok(elements.length >= 15);
  const page = readFileSync(new URL("../crates/answers/report/assets/page.html", ROOT), "utf8");
  for (const [key, words] of elements) {
    assert.ok(words.en.trim() && words.zh.trim(), key);
    assert.ok(page.includes(`"${key}":`) && page.includes(words.zh), `the built page does not know ${key}`);
  }
  // The page has no own list of kinds.
  const code = sources.join("\n");
  assert.ok(code.includes("known(`name.element.${"));
  for (const [key] of elements.filter(([k]) => k.includes("-"))) assert.ok(!code.includes(`"${key.split(".").pop()}"`), key);
});

test("every text of the page is in the table, in both languages", () => {
  const read = (file) => JSON.parse(readFileSync(new URL(file, ROOT), "utf8"));
  const strings = { ...read("../crates/answers/report/strings.json"), ...read("src/explore/strings.json") };
  const own = Object.entries(strings).filter(([k]) => /^(ui|plot|explore|diag\.(page|cause|kind))\./.test(k));
  for (const [key, words] of own) {
    assert.ok(words.en?.trim() && words.zh?.trim(), key);
    const holes = (s) => [...s.matchAll(/\{(\w+)\}/g)].map((m) => m[1]).sort();
    assert.deepEqual(holes(words.zh), holes(words.en), key);
  }
  const code = sources.join("\n");
  const said = [...code.matchAll(/\bt\(\s*"([^"]+)"/g), ...code.matchAll(/"((?:ui|plot|diag|explore)\.[a-z0-9.-]+)"/g)].map((m) => m[1]);
  assert.ok(said.length > 60);
  for (const key of said) assert.ok(key in strings, `${key} is missing`);
  // Keys that the code composes.
  const kinds = ["throughput", "rates", "rtt", "cwnd", "queue", "drops", "states", "sequence"];
  for (const k of kinds) assert.ok(`ui.none.${k}` in strings && (`plot.${k}` in strings || `ui.title.${k}` in strings), k);
  for (const [, key] of code.matchAll(/^ *\{? ?key: "(\w+)",/gm)) assert.ok(`ui.col.${key}` in strings, `ui.col.${key}`);
  for (const key of ["in", "out", "left", "right", "whole"]) assert.ok(`ui.zoom.${key}` in strings, key);
  // Every key is used.
  const stems = [...code.matchAll(/`((?:ui|diag|explore)\.[a-z.]+\.)\$\{/g)].map((m) => m[1]).filter((s) => s !== "diag.page.");
  for (const [key] of own) {
    if (/^(ui|diag|explore)\./.test(key)) assert.ok(said.includes(key) || stems.some((s) => key.startsWith(s)) || code.includes(`"${key.split(".").pop()}"`), `${key} is not used`);
  }
});

test("CSV has full precision, quotes where necessary, and starts no formula", async () => {
  assert.deepEqual(["plain", 'a"b', "a,b", "a\nb"].map(field), ["plain", '"a""b"', '"a,b"', '"a\nb"']);
  for (const sign of ["=", "+", "-", "@"]) assert.equal(field(`${sign}1+1`), `'${sign}1+1`);
  const time = Float64Array.of(0, 0.1, 0.2);
  const text = await csv([
    numbers("=x", time, Float64Array.of(-0.1 - 0.2, NaN, 1e21)),
    { name: "state", time: Float64Array.of(0.1, 0.1), cell: (row) => ["slow start", "=cmd"][row] },
  ]).text();
  assert.equal(text, ["time_s,'=x,state", `0,${-0.1 - 0.2},`, "0.1,,slow start", "0.1,,'=cmd", "0.2,1e+21,", ""].join("\r\n"));
});

test("a file name is valid, whatever it is made of", () => {
  assert.equal(fileName(["../../etc", "a b/c"], "csv"), "etc_a-b-c.csv");
  assert.equal(fileName(["策略", "<>"], "png"), "策略.png");
  for (const name of HOSTILE) assert.match(fileName([name], "csv"), /^[\p{L}\p{N}._-]{1,64}$/u);
});

/** Installs a minimal document that records what is put into it. */
function installDocument() {
  const text = (s) => ({ text: s });
  class Node {}
  class El extends Node {
    constructor(tag) { super(); this.tag = tag; this.attributes = {}; this.children = []; }
    setAttribute(k, v) { this.attributes[k] = v; }
    append(...c) { this.children.push(...c.map((x) => (x instanceof Node ? x : text(x)))); }
  }
  globalThis.Node = Node;
  globalThis.document = { createElement: (tag) => new El(tag) };
}

test("hostile names become text, clipped, with the whole name in the tooltip", async () => {
  installDocument();
  const { name } = await load("dom.ts");
  for (const hostile of HOSTILE) {
    const el = name(hostile);
    assert.equal(el.tag, "bdi");
    assert.equal(el.children.length, 1);
    assert.ok(el.children[0].text.length <= 201);
    if (hostile.length <= 200) assert.equal(el.children[0].text, hostile);
    if (hostile.length > 24) assert.equal(el.attributes.title, hostile);
  }
});

test("no source makes markup or code of text", () => {
  for (const source of sources) {
    assert.doesNotMatch(source, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\("style"/);
    if (!source.startsWith("// Made of the JSON Schemas")) assert.ok(source.split("\n").length <= 301);
  }
});
