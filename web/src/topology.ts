// The path as rows of hosts and links with each stage's statistics, and the differences from another path.

import type { Flow, Link, Stage, StageFigures, Topology, Variant, VariantFigures } from "./model";

export interface StageView {
  stage: Stage;
  /** `link.direction.stage`. */
  id: string;
  stats: StageFigures | null;
  /** Whether the stage differs from the one in the other path. */
  differs: boolean;
}

export interface LinkView {
  name: string;
  /** The host drawn on the left. */
  left: string;
  right: string;
  /** Stages from left to right, in the order in which packets pass them. */
  there: StageView[];
  back: StageView[];
}

/** A row of connected links. */
export type Line = LinkView[];

type Hop = { link: Link; reversed: boolean };

/** Returns the hops of the shortest path between two hosts. */
function shortestPath(links: Link[], from: string, to: string): Hop[] {
  const before = new Map<string, { host: string; hop: Hop }>();
  const queue = [from];
  for (let host = queue.shift(); host !== undefined && host !== to; host = queue.shift()) {
    for (const link of links) {
      const at = link.between.indexOf(host);
      const next = at < 0 ? undefined : link.between[1 - at];
      if (next === undefined || next === from || before.has(next)) continue;
      before.set(next, { host, hop: { link, reversed: at === 1 } });
      queue.push(next);
    }
  }
  const hops: Hop[] = [];
  for (let step = before.get(to); step; step = before.get(step.host)) hops.unshift(step.hop);
  return hops;
}

/**
 * Arranges every link once: rows along the flows' paths, without links already drawn; and the links that no
 * flow uses.
 */
function lines(path: Topology, flows: Flow[]): { used: Hop[][]; unused: Hop[][] } {
  const left = new Set(path.links);
  const rows: Hop[][] = [];
  const pairs = new Set(flows.map((f) => JSON.stringify([f.from, f.to])));
  for (const key of pairs) {
    const [from, to] = JSON.parse(key) as [string, string];
    let row: Hop[] = [];
    for (const hop of shortestPath(path.links, from, to)) {
      if (left.delete(hop.link)) {
        row.push(hop);
      } else if (row.length) {
        rows.push(row);
        row = [];
      }
    }
    if (row.length) rows.push(row);
  }
  return { used: rows, unused: [...left].map((link) => [{ link, reversed: false }]) };
}

const fingerprint = (stage: Stage): string =>
  JSON.stringify([stage.kind, Object.entries(stage.settings ?? {}).sort()]);

function stagesById(path: Topology): Map<string, string> {
  const all = new Map<string, string>();
  for (const link of path.links) {
    for (const s of link.forward) all.set(`${link.name}.forward.${s.name}`, fingerprint(s));
    for (const s of link.backward) all.set(`${link.name}.backward.${s.name}`, fingerprint(s));
  }
  return all;
}

/** Arranges the variant's path in rows, and marks the stages that differ from those of `first`. */
export function layout(v: Variant, figures: VariantFigures, path: Topology, first: Topology | null): { used: Line[]; unused: Line[] } {
  const known = first ? stagesById(first) : null;
  const stages = (link: Link, direction: "forward" | "backward"): StageView[] =>
    link[direction].map((stage) => {
      const id = `${link.name}.${direction}.${stage.name}`;
      return { stage, id, stats: figures.stages[id] ?? null, differs: known !== null && known.get(id) !== fingerprint(stage) };
    });
  const view = ({ link, reversed }: Hop): LinkView => {
    const [left, right] = reversed ? [link.between[1], link.between[0]] : link.between;
    const [there, back] = reversed ? (["backward", "forward"] as const) : (["forward", "backward"] as const);
    return { name: link.name, left, right, there: stages(link, there), back: stages(link, back) };
  };
  const { used, unused } = lines(path, v.flows);
  return { used: used.map((row) => row.map(view)), unused: unused.map((row) => row.map(view)) };
}

const MAIN_SETTINGS = [
  "rate", "burst", "delay", "queue.kind", "queue.packets", "queue.bytes", "jitter", "probability", "model", "overhead",
  "trace", "file", "period", "duration",
];

/** Whether a setting is zero, off or the usual default, and so is not shown at once. */
const isDefault = (key: string, value: string): boolean =>
  /^0[a-zµ%/]*$|^false$/.test(value) || (key === "queue.kind" && value === "fifo");

/** Splits a stage's settings into at most four main ones, the most important first, and the rest. */
export function ranked(stage: Stage): { main: [string, string][]; rest: [string, string][] } {
  const all = Object.entries(stage.settings ?? {});
  const main = all.filter(([key, value]) => MAIN_SETTINGS.includes(key) && !isDefault(key, value));
  main.sort((a, b) => MAIN_SETTINGS.indexOf(a[0]) - MAIN_SETTINGS.indexOf(b[0]));
  main.splice(4);
  return { main, rest: all.filter((s) => !main.includes(s)) };
}
