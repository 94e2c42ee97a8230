// Sliders for the quantities of a scenario, and lists for its choices.

import { h, name } from "../dom";
import { known, t } from "../i18n";
import type { Tunable } from "./model";
import { at, overrides, scaleOf, shown, STEPS } from "./quantity";

export interface SliderEvents {
  /** A slider moves, or an option is chosen. */
  moving(sets: [string, string][]): void;
  /** The slider was released; the scenario's other quantities may have changed. */
  moved(): void;
}

/** Returns a tunable's id, which does not depend on its value. */
const idOf = (of: Tunable): string => `tune-${of.what}-${of.parts.map((p) => p.key).join("+") || of.place}`.replaceAll(/[^\w-]/g, "_").slice(0, 120);

/** Returns the label: translated for common quantities, else the scenario's key. */
const label = (of: Tunable): string => known(`explore.tune.${of.what}`) ?? of.what;

/** Returns the translated name of a choice, else the choice itself. */
const choiceName = (of: Tunable, choice: string): string => {
  const table = of.what === "algorithm" ? "control" : of.what === "discipline" ? "queue" : "element";
  return known(`name.${table}.${choice}`) ?? choice;
};

export class Sliders {
  readonly root = h("div", { class: "sliders", id: "sliders" });
  /** The scale of each tunable, chosen when it was first shown. */
  private scales = new Map<string, ReturnType<typeof scaleOf>>();

  constructor(private events: SliderEvents) {}

  /** Forgets the scales, as the scenario is another one. */
  forget(): void {
    this.scales.clear();
  }

  show(all: Tunable[]): void {
    const focus = document.activeElement?.id ?? "";
    const open = this.root.querySelector<HTMLDetailsElement>("details")?.open ?? false;
    const [main, rest] = [all.filter((of) => of.main), all.filter((of) => !of.main)];
    const places = [...new Set(rest.map((of) => of.place))];
    const group = (place: string): HTMLElement =>
      h("fieldset", {}, h("legend", {}, name(place)), ...rest.filter((of) => of.place === place).map((of) => this.row(of)));
    this.root.replaceChildren(...main.map((of) => this.row(of)));
    if (rest.length) {
      this.root.append(h("details", { open, class: "more-sliders" }, h("summary", {}, t("explore.more", { n: rest.length })), ...places.map(group)));
    }
    if (focus.startsWith("tune-")) document.getElementById(focus)?.focus();
  }

  private row(of: Tunable): HTMLElement {
    return of.measure === "choice" ? this.choice(of) : this.slider(of);
  }

  private choice(of: Tunable): HTMLElement {
    const id = idOf(of);
    const options = of.choices.map((c) => h("option", { value: c, selected: c === of.choice }, choiceName(of, c)));
    if (of.choice === "") options.unshift(h("option", { value: "", selected: true, disabled: true }, t("explore.several")));
    const list = h("select", { id }, ...options);
    list.addEventListener("change", () => {
      this.events.moving(overrides(of, list.value));
      this.events.moved();
    });
    return h("div", { class: "tune", "data-what": of.what }, h("label", { for: id }, label(of)), list);
  }

  private slider(of: Tunable): HTMLElement {
    const id = idOf(of);
    const scale = this.scales.get(id) ?? scaleOf(of);
    this.scales.set(id, scale);
    const place = Math.round(Math.min(1, Math.max(0, scale.share(of.value))) * STEPS);
    const value = h("output", { for: id });
    const input = h("input", { type: "range", id, min: 0, max: STEPS, value: place });
    const say = (x: number): void => {
      const words = of.what === "window" && x === 0 ? t("explore.autotuned") : shown(of.measure, x);
      value.textContent = words;
      input.setAttribute("aria-valuetext", words);
    };
    say(of.value);
    let last = of.value;
    input.addEventListener("input", () => {
      const x = at(of, scale, Number(input.value));
      if (x === last) return;
      last = x;
      say(x);
      this.events.moving(of.what === "window" && x === 0 ? of.parts.map((p) => [p.key, ""]) : overrides(of, x));
    });
    input.addEventListener("change", () => this.events.moved());
    return h("div", { class: "tune", "data-what": of.what, "data-given": String(of.given) }, h("label", { for: id }, label(of)), value, input);
  }
}
