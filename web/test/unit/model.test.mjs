// The path, the state of the view, and the states of congestion controls.

import assert from "node:assert/strict";
import { test } from "node:test";
import { figures } from "../figures.mjs";
import { page, variant } from "../sample.mjs";
import { load } from "./load.mjs";

const m = await load("topology.ts", "state.ts", "plot/gestures.ts", "plot/states.ts", "plot/kinds.ts");

const policer = variant("policer", { duration: 4 }).variant;
const shaper = variant("shaper", { duration: 4, shaper: true }).variant;

test("the path is one row of links in the flow's direction", () => {
  const { used: lines, unused } = m.layout(policer, figures(policer), policer.path, null);
  assert.equal(unused.length, 0);
  assert.equal(lines.length, 1);
  assert.deepEqual(lines[0].map((l) => [l.left, l.right]), [["client", "router"], ["router", "server"]]);
  const download = { ...policer, flows: [{ ...policer.flows[0], from: "server", to: "client" }] };
  const back = m.layout(download, figures(download), policer.path, null).used[0];
  assert.deepEqual(back.map((l) => [l.left, l.right]), [["server", "router"], ["router", "client"]]);
  assert.deepEqual(back[0].there.map((s) => s.id), ["wan.backward.delay"]);
});

test("each link of a dumbbell is drawn once", () => {
  const link = (a, b) => ({ name: `${a}${b}`, between: [a, b], forward: [], backward: [] });
  const path = { hosts: ["a", "b", "r", "s"], links: [link("a", "r"), link("b", "r"), link("r", "s"), link("x", "y")] };
  const flow = (from, to) => ({ ...policer.flows[0], from, to });
  const { used, unused } = m.layout({ ...policer, flows: [flow("a", "s"), flow("b", "s"), flow("z", "s")] }, figures(policer), path, null);
  const names = (lines) => lines.map((l) => l.map((x) => x.name));
  assert.deepEqual([names(used), names(unused)], [[["ar", "rs"], ["br"]], [["xy"]]]);
});

test("stages show their drops; the worst stage and different stages are marked", () => {
  const dropped = { ...policer, elements: policer.elements.map((e) => (e.kind === "policer" ? { ...e, passed_packets: 90, dropped_packets: 10 } : e)) };
  const stages = m.layout(dropped, figures(dropped), policer.path, shaper.path).used.flat().flatMap((l) => [...l.there, ...l.back]);
  assert.deepEqual(stages.filter((s) => s.stats?.worst).map((s) => s.id), ["wan.forward.limiter"]);
  assert.deepEqual(stages.filter((s) => s.differs).map((s) => s.id), ["wan.forward.limiter"]);
  assert.equal(stages.find((s) => s.stats?.worst).stats.drop_share, 0.1);
});

test("the variants of the headline are shown first", () => {
  const variants = [policer, { ...policer, name: "other" }, { ...policer, name: "third" }];
  const shown = (about) => {
    const results = [{ label: "r", run: { variants }, figures: [], series: [] }];
    const state = new m.Runs({ story: { en: "", zh: "", about }, results });
    return state.shown().map((e) => e.index);
  };
  assert.deepEqual(shown([[0, 2], [0, 1]]), [2, 1]);
  assert.deepEqual(shown([[0, 1]]), [1, 0], "with the first other variant");
  assert.deepEqual(shown([]), [0, 1]);
});

test("a zoom is limited to the run, and zooming out to all of it resets the zoom", () => {
  const state = new m.Runs(page([variant("a", { duration: 4 }), variant("b", { duration: 5 })]).page);
  assert.deepEqual(state.view(), { from: 0, to: 5 });
  state.zoom({ from: -1, to: 2 });
  assert.deepEqual(state.view(), { from: 0, to: 3 });
  state.zoom(m.moved(state.view(), 9));
  assert.deepEqual(state.view(), { from: 2, to: 5 });
  state.zoom(m.scaled(state.view(), 100, 3));
  assert.equal(state.range, null);
  const at = m.scaled({ from: 0, to: 4 }, 0.5, 1);
  assert.deepEqual(at, { from: 0.5, to: 2.5 });
});

test("a pixel shows a timeout however short, else the state that lasted longest", () => {
  const states = ["", "avoidance", "recovery", "loss"];
  const row = (list) => ({ name: "f", states, time: Float64Array.from(list, (x) => x[0]), state: Float64Array.from(list, (x) => x[1]) });
  const r = row([[0, 0], [1, 1], [2.1, 2], [2.3, 1], [4, 1], [4.5, 3], [4.51, 1], [6, 2], [8, 2]]);
  const bands = m.bands(r, { from: 0, to: 8 }, 8).map((b) => [b.from, b.to, b.state]);
  assert.deepEqual(bands, [[1, 4, "avoidance"], [4, 5, "loss"], [5, 6, "avoidance"], [6, 8, "recovery"]]);
  assert.deepEqual([m.stateAt(r, 0.5), m.stateAt(r, 2.2), m.stateFrom(r, 4.4), m.stateAt(r, 99)], ["", "recovery", "loss", "recovery"]);
});

test("a level is common to all flows, or each flow's own with equal ones once", () => {
  const flow = (bdp_packets, color) => ({ figures: { bdp_packets }, color });
  const values = (all, flows) => m.levels(all, flows, "bdp_packets", m.bdpLevel).map((l) => l.value);
  assert.deepEqual(values({ bdp_packets: 50 }, [flow(1, "a"), flow(2, "b")]), [50]);
  assert.deepEqual(values({}, [flow(100, "a"), flow(50, "b"), flow(100.2, "c"), flow(undefined, "d")]), [100, 50]);
});
