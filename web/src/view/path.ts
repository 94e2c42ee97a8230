// The path as HTML: hosts, links, and the stages in both directions.

import { button, fill, h, name } from "../dom";
import { known, t } from "../i18n";
import type { Topology } from "../model";
import { count, percent } from "../number";
import type { Entry, Runs } from "../state";
import { layout, ranked, type Line, type LinkView, type StageView } from "../topology";

/** The number of rows that are not folded away. */
const MAX_ROWS = 6;

function stage(s: StageView): HTMLElement {
  const { main, rest } = ranked(s.stage);
  const stats = s.stats && (s.stats.dropped > 0 || s.stats.max_queue > 0);
  const head = h(
    "div",
    { class: "stage-head" },
    h("b", {}, known(`name.element.${s.stage.kind}`) ?? s.stage.kind),
    s.stage.assumed && s.stage.kind === "link" ? h("span", { class: "name assumed", title: t("ui.path.assumed.why") }, t("ui.path.assumed")) : s.stage.name !== s.stage.kind && name(s.stage.name),
    s.differs && h("span", { class: "differs" }, t("ui.differs")),
  );
  const settings = (list: [string, string][]) =>
    list.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, name(value))));
  const el = h(
    "li",
    { class: "stage", "data-stage": s.id, "data-worst": s.stats?.worst === true, "data-differs": s.differs },
    head,
    main.length > 0 && h("dl", { class: "settings" }, ...settings(main)),
    rest.length > 0 &&
      h(
        "details",
        {},
        h("summary", { "aria-label": t("ui.settings", { n: rest.length }), title: t("ui.settings", { n: rest.length }) }, `+${rest.length}`),
        h("dl", { class: "settings" }, ...settings(rest)),
      ),
  );
  if (stats && s.stats) {
    const { dropped, drop_share, max_queue } = s.stats;
    el.append(
      h(
        "p",
        { class: "stage-stats" },
        dropped > 0 &&
          h("span", { class: "dropped" }, t("ui.stage.drops", { n: count(dropped), share: percent(drop_share) })),
        max_queue > 0 && h("span", {}, t("ui.stage.queue", { n: count(max_queue) })),
      ),
    );
  }
  return el;
}

function lane(label: string, direction: "there" | "back", stages: StageView[]): HTMLElement {
  const list = stages.length
    ? h("ol", { "aria-label": label }, ...stages.map(stage))
    : h("span", { class: "wire" });
  return h("div", { class: `lane ${direction}` }, h("span", { class: "arrow", "aria-hidden": "true" }), list);
}

function link(l: LinkView): HTMLElement {
  const el = h(
    "div",
    { class: "link", "data-link": l.name, title: l.name.slice(0, 200), role: "group", "aria-label": t("ui.link", { name: l.name.slice(0, 80) }) },
    lane(t("ui.way", { from: l.left, to: l.right }), "there", l.there),
    lane(t("ui.way", { from: l.right, to: l.left }), "back", l.back),
  );
  // A link is as wide as its stages need.
  el.style.flexGrow = String(Math.max(l.there.length, l.back.length, 1));
  return el;
}

function host(hostName: string, path: Topology): HTMLElement {
  const relays = (path.relays ?? []).filter((r) => r.host === hostName);
  return h(
    "div",
    { class: "host", "data-host": hostName },
    name(hostName),
    ...relays.map((r) => h("span", { class: "relay" }, t("ui.relay"), " ", name(r.name))),
  );
}

function row(line: Line, path: Topology): HTMLElement {
  const parts: HTMLElement[] = [host(line[0].left, path)];
  for (const l of line) parts.push(link(l), host(l.right, path));
  return h("div", { class: "path-line" }, ...parts);
}

function drawing(entry: Entry, first: Entry): HTMLElement[] {
  const path = entry.variant.path;
  if (!path) return [h("p", { class: "none" }, t("ui.path.none"))];
  const { used, unused } = layout(entry.variant, entry.figures, path, entry === first ? null : (first.variant.path ?? null));
  // Without any flow, show the unused links.
  const [shown, idle] = used.length ? [used, unused] : [unused, []];
  const fold = (lines: Line[], words: string): HTMLElement | null =>
    lines.length ? h("details", { class: "more" }, h("summary", {}, words), ...lines.map((l) => row(l, path))) : null;
  const more = shown.splice(MAX_ROWS);
  const parts = [
    ...shown.map((l) => row(l, path)),
    fold(more, t("plot.more", { n: more.length })),
    fold(idle, t("ui.path.unused", { n: idle.length })),
  ];
  return parts.filter((p) => p !== null);
}

/** The section with the path of A or B, chosen by tabs; null if no variant has a path. */
export function path(state: Runs): HTMLElement | null {
  if (state.entries.every((e) => !e.variant.path)) return null;
  let shown: Entry = state.a;
  const body = h("div", { class: "path-body" });
  const tabs = h("div", { class: "segment", role: "group", "aria-label": t("ui.path.of") });
  const draw = (): void => {
    const entries = state.shown();
    if (!entries.includes(shown)) shown = state.a;
    const tab = (entry: Entry, i: number) =>
      button(
        { "aria-pressed": entry === shown ? "true" : "false", "data-side": "ab"[i] },
        () => {
          shown = entry;
          draw();
          tabs.querySelectorAll<HTMLElement>("button")[i].focus();
        },
        h("span", { class: `badge ${"ab"[i]}` }, "AB"[i]),
        " ",
        name(entry.variant.name),
      );
    fill(tabs, ...entries.map(tab));
    fill(body, ...drawing(shown, state.entries[0]));
  };
  state.on("pick", () => {
    shown = state.a;
    draw();
  });
  draw();
  return h(
    "section",
    { class: "path", id: "path", "aria-labelledby": "path-title" },
    h("div", { class: "section-head" }, h("h2", { id: "path-title" }, t("ui.path")), tabs),
    body,
  );
}
