// The path as rows of hosts and links, with what each stage did; and what differs from another path.

import type { Flow, Link, Stage, StageFigures, Topology, Variant, VariantFigures } from "./model";

export interface StageView {
  stage: Stage;
  /** `link.direction.stage`. */
  id: string;
  stats: StageFigures | null;
  /** Not the same in the path compared with. */
  differs: boolean;
}

export interface LinkView {
  name: string;
  /** Hosts, left and right as drawn. */
  left: string;
  right: string;
  /** In the order packets meet them. */
  there: StageView[];
  back: StageView[];
}

/** Links drawn one after another, each beginning where the last ended. */
export type Line = LinkView[];

type Hop = { link: Link; reversed: boolean };

/** The hops of the shortest way between two hosts. */
function way(links: Link[], from: string, to: string): Hop[] {
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

/** Every link once: along the flows' ways as far as they are new, and apart what no flow uses. */
function lines(path: Topology, flows: Flow[]): { used: Hop[][]; unused: Hop[][] } {
  const left = new Set(path.links);
  const rows: Hop[][] = [];
  const ways = new Set(flows.map((f) => JSON.stringify([f.from, f.to])));
  for (const key of ways) {
    const [from, to] = JSON.parse(key) as [string, string];
    let row: Hop[] = [];
    for (const hop of way(path.links, from, to)) {
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

const spelt = (stage: Stage): string =>
  JSON.stringify([stage.kind, Object.entries(stage.settings ?? {}).sort()]);

function stagesById(path: Topology): Map<string, string> {
  const all = new Map<string, string>();
  for (const link of path.links) {
    for (const s of link.forward) all.set(`${link.name}.forward.${s.name}`, spelt(s));
    for (const s of link.backward) all.set(`${link.name}.backward.${s.name}`, spelt(s));
  }
  return all;
}

/** The variant's path in lines; stages unlike those of `first` are marked. */
export function layout(v: Variant, figures: VariantFigures, path: Topology, first: Topology | null): { used: Line[]; unused: Line[] } {
  const known = first ? stagesById(first) : null;
  const stages = (link: Link, direction: "forward" | "backward"): StageView[] =>
    link[direction].map((stage) => {
      const id = `${link.name}.${direction}.${stage.name}`;
      return { stage, id, stats: figures.stages[id] ?? null, differs: known !== null && known.get(id) !== spelt(stage) };
    });
  const view = ({ link, reversed }: Hop): LinkView => {
    const [left, right] = reversed ? [link.between[1], link.between[0]] : link.between;
    const [there, back] = reversed ? (["backward", "forward"] as const) : (["forward", "backward"] as const);
    return { name: link.name, left, right, there: stages(link, there), back: stages(link, back) };
  };
  const { used, unused } = lines(path, v.flows);
  return { used: used.map((row) => row.map(view)), unused: unused.map((row) => row.map(view)) };
}

const MAIN = [
  "rate", "burst", "delay", "queue.kind", "queue.packets", "queue.bytes", "jitter", "probability", "model", "overhead",
  "trace", "file", "period", "duration",
];

/** What is off, none, or what everyone expects, is not worth a line. */
const plain = (key: string, value: string): boolean =>
  /^0[a-zµ%/]*$|^false$/.test(value) || (key === "queue.kind" && value === "fifo");

/** The settings that matter most, in the order of interest, and the rest. */
export function ranked(stage: Stage): { main: [string, string][]; rest: [string, string][] } {
  const all = Object.entries(stage.settings ?? {});
  const main = all.filter(([key, value]) => MAIN.includes(key) && !plain(key, value));
  main.sort((a, b) => MAIN.indexOf(a[0]) - MAIN.indexOf(b[0]));
  main.splice(4);
  return { main, rest: all.filter((s) => !main.includes(s)) };
}
