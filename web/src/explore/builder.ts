// Builds the path by clicking: stages are added to a link's direction, moved and removed; flows and relays
// are added.
//
// A change is an override like a slider's, of a direction's whole list of stages or of a whole flow, so that
// links, files and the command line include it.

import { button, fill, h, name } from "../dom";
import { known, t } from "../i18n";
import type { LinkTable, ReadVariant, StageTable } from "./model";
import stages from "./stages.json";
import { path, toml } from "./toml";

/**
 * The stages that can be added, with their initial settings; one with an `end` encloses all present stages.
 */
const STAGES: { stage: StageTable; end?: StageTable }[] = stages;

type Direction = "forward" | "backward";

export class Builder {
  readonly root = h("details", { class: "builder", id: "builder" });
  private variant: ReadVariant | null = null;

  /** `change` sets overrides and reads the scenario again. */
  constructor(private change: (sets: [string, string][]) => void) {}

  follow(variant: ReadVariant | null): void {
    this.variant = variant;
    this.draw();
  }

  draw(): void {
    const { variant } = this;
    const { open } = this.root;
    const focus = document.activeElement?.id ?? "";
    const links = Object.entries(variant?.tables.links ?? {});
    fill(
      this.root,
      h("summary", {}, t("explore.build")),
      ...links.map(([link, table]) => this.link(link, table)),
      variant && this.flows(variant),
    );
    this.root.open = open;
    if (focus.startsWith("build-")) document.getElementById(focus)?.focus();
  }

  private link(link: string, table: LinkTable): HTMLElement {
    const [a, b] = table.between;
    return h("fieldset", {}, h("legend", {}, name(link)), this.direction(link, "forward", a, b, table.forward ?? []), this.direction(link, "backward", b, a, table.backward ?? []));
  }

  private direction(link: string, direction: Direction, from: string, to: string, all: StageTable[]): HTMLElement {
    const put = (list: StageTable[]): void => this.change([[path("links", link, direction), toml(list)]]);
    const id = `build-${link}-${direction}`;
    const chip = (stage: StageTable, i: number): HTMLElement => {
      const label = stage.name ?? known(`name.element.${stage.kind}`) ?? stage.kind;
      const tool = (what: string, sign: string, off: boolean, act: () => void) =>
        button({ class: "tool", id: `${id}-${what}-${i}`, disabled: off, "aria-label": t(`explore.build.${what}`, { name: label }) }, act, sign);
      const swapped = (j: number): StageTable[] => all.map((s, k) => (k === i ? all[j] : k === j ? all[i] : s));
      return h("li", { class: "chip", "data-kind": stage.kind }, name(label), " ",
        tool("earlier", "←", i === 0, () => put(swapped(i - 1))),
        tool("later", "→", i === all.length - 1, () => put(swapped(i + 1))),
        tool("out", "×", false, () => put(all.filter((_, k) => k !== i))));
    };
    const list = h("select", { id }, h("option", { value: "" }, t("explore.build.add")), ...STAGES.map(({ stage: { kind } }) => h("option", { value: kind }, known(`name.element.${kind}`) ?? kind)));
    list.setAttribute("aria-label", `${t("explore.build.add")}: ${t("ui.way", { from, to })}`);
    list.addEventListener("change", () => {
      const chosen = STAGES.find(({ stage }) => stage.kind === list.value);
      if (chosen) put(chosen.end ? [chosen.stage, ...all, chosen.end] : [...all, chosen.stage]);
    });
    return h("div", { class: "way" }, h("span", { class: "way-name" }, t("ui.way", { from, to })), h("ol", {}, ...all.map(chip)), list);
  }

  private flows(variant: ReadVariant): HTMLElement {
    const { flows } = variant.tables;
    const names = Object.keys(flows);
    const [first] = Object.values(flows);
    const fresh = (stem: string, taken: string[]): string => {
      for (let n = 2; ; n++) if (!taken.includes(`${stem}-${n}`)) return `${stem}-${n}`;
    };
    const remove = (flow: string) =>
      button({ class: "tool", id: `build-flow-out-${flow}`, disabled: names.length < 2, "aria-label": t("explore.build.out", { name: flow }) }, () => this.change([[path("flows", flow, "enabled"), "false"]]), "×");
    const [from, to] = first ? [String(first.from), String(first.to)] : [variant.hosts[0], variant.hosts[variant.hosts.length - 1]];
    const add = (what: string, table: Record<string, unknown>) =>
      button({ id: `build-flow-${what}` }, () => this.change([[path("flows", fresh(what, names)), toml({ from, to, ...table })]]), t(`explore.build.${what}`));
    const middle = variant.hosts.filter((host) => !names.some((f) => [flows[f].from, flows[f].to].includes(host)));
    const relay = middle.map((host) =>
      button({ id: `build-relay-${host}` }, () => this.change([
        [path("relays", `relay-${host}`), toml({ host })],
        ...names.filter((f) => !datagrams(flows[f])).map((f): [string, string] => [path("flows", f, "via"), toml([`relay-${host}`])]),
      ]), t("explore.build.relay", { host })));
    return h("fieldset", {}, h("legend", {}, t("explore.tune.count")),
      h("ol", {}, ...names.map((f) => h("li", { class: "chip" }, name(f), " ", remove(f)))),
      h("div", { class: "side-buttons" }, add("bulk", { cc: "cubic" }), add("udp", { app: { kind: "udp", rate: "5Mbit/s" } }), add("voice", { app: { kind: "voice", codec: "g711" } }), ...relay));
  }
}

const datagrams = (flow: Record<string, unknown>): boolean =>
  ["udp", "voice", "probe"].includes(String((flow.app as { kind?: string } | undefined)?.kind ?? ""));
