// The page's side bar: scenario, variant, sliders, pinned runs and the scenario's text.

import { button, fill, h } from "../dom";
import { t } from "../i18n";
import { copy } from "../link";
import { save } from "../plot/csv";
import { short } from "../number";
import type { ReadReply, Refusal } from "./model";
import type { Sliders } from "./sliders";
import { BUILT_IN, type Source } from "./source";

export interface SideActions {
  /** Another scenario was chosen. */
  opened(): void;
  variant(name: string): void;
  reset(): void;
  pin(): void;
  unpin(): void;
  /** Returns the scenario's text with all overrides applied. */
  toml(): Promise<string>;
  /** Opens a capture or a scenario's text. */
  file(file: File): void;
  /** Shows or hides the lessons, and returns whether they are shown. */
  lessons(): boolean;
}

export class Side {
  readonly root = h("aside", { class: "side", "aria-label": t("explore.side") });
  private about = h("p", { class: "about" });
  private variants = h("select", { id: "variant" });
  private error = h("pre", { id: "refused", class: "refused", role: "alert", hidden: true });
  private bar = h("progress", { id: "progress", max: 1, hidden: true });
  /** The note that only the beginning of a run is shown. */
  private beginning = h("p", { class: "hint beginning", id: "beginning" });
  private area = h("textarea", { id: "text", rows: 16, spellcheck: "false", wrap: "off" });
  private line = h("code", { id: "command" });

  constructor(
    private source: Source,
    private sliders: Sliders,
    private actions: SideActions,
  ) {}

  private pin = button({ id: "pin" }, () => this.actions.pin());
  private unpin = button({ id: "unpin", disabled: true }, () => this.actions.unpin());

  draw(lessons: boolean): void {
    this.pin.textContent = t("explore.pin");
    this.unpin.textContent = t("explore.unpin");
    const own = this.source.example === null;
    const options = BUILT_IN.map((n) => h("option", { value: n, selected: n === this.source.example }, n));
    const list = h("select", { id: "scenario" }, own && h("option", { value: "", selected: true }, t("explore.own")), ...options);
    list.addEventListener("change", () => {
      this.source.open(list.value);
      this.area.value = this.source.text;
      this.actions.opened();
    });
    this.variants = h("select", { id: "variant" });
    this.variants.addEventListener("change", () => this.actions.variant(this.variants.value));
    this.root.setAttribute("aria-label", t("explore.side"));
    this.bar.setAttribute("aria-label", t("explore.running"));
    const study = button({ id: "show-lessons", "aria-pressed": String(lessons) }, () => study.setAttribute("aria-pressed", String(this.actions.lessons())), t("explore.lessons"));
    fill(
      this.root,
      h("div", { class: "side-buttons" }, study, this.capture()),
      h("div", { class: "tune" }, h("label", { for: "scenario" }, t("explore.scenario")), list),
      h("div", { class: "tune" }, h("label", { for: "variant" }, t("ui.col.variant")), this.variants),
      this.about,
      this.error,
      this.sliders.root,
      h(
        "div",
        { class: "side-buttons" },
        this.pin,
        this.unpin,
        button({ id: "reset" }, () => this.actions.reset(), t("explore.reset")),
      ),
      h("div", { class: "state" }, this.beginning, this.bar),
      this.text(),
    );
  }

  /** The button that opens a capture; it can also be dropped anywhere on the page. */
  private capture(): HTMLElement {
    const file = h("input", { type: "file", id: "capture-file", class: "hidden", tabindex: -1, "aria-hidden": "true" });
    file.addEventListener("change", () => { if (file.files?.[0]) this.actions.file(file.files[0]); });
    return h("span", {}, button({ id: "open-capture", title: t("explore.capture.hint") }, () => file.click(), t("explore.capture")), file);
  }

  private text(): HTMLElement {
    const { area, source } = this;
    area.value = source.text;
    area.setAttribute("aria-label", t("explore.text"));
    const file = h("input", { type: "file", id: "file", accept: ".toml,text/plain", class: "hidden", tabindex: -1, "aria-hidden": "true" });
    file.addEventListener("change", () => void file.files?.[0]?.text().then((text) => this.takeText(text)));
    const apply = () => this.take();
    const merged = async (): Promise<void> => { area.value = await this.actions.toml(); };
    const download = async (): Promise<void> => save(new Blob([await this.actions.toml()], { type: "application/toml" }), source.file);
    return h(
      "details",
      { class: "scenario-text" },
      h("summary", {}, t("explore.toml")),
      area,
      h(
        "div",
        { class: "side-buttons" },
        button({ id: "apply" }, apply, t("explore.apply")),
        button({ id: "merge" }, () => void merged(), t("explore.merge")),
        button({ id: "save" }, () => void download(), t("explore.save")),
        button({ id: "open" }, () => file.click(), t("explore.open")),
        file,
      ),
      h("p", { class: "hint" }, t("explore.command")),
      h("p", { class: "command" }, this.line, " ", button({ id: "copy-command" }, () => void copy(this.line.textContent ?? ""), t("explore.copy"))),
    );
  }

  private take(): void {
    this.source.take(this.area.value);
    this.actions.opened();
    this.chosen();
  }

  /** Uses a text as the scenario. */
  takeText(text: string): void {
    this.area.value = text;
    this.take();
  }

  /** Updates the list of scenarios to the present one. */
  chosen(): void {
    const list = this.root.querySelector<HTMLSelectElement>("#scenario");
    if (!list) return;
    list.querySelector('option[value=""]')?.remove();
    if (this.source.example === null) list.prepend(h("option", { value: "" }, t("explore.own")));
    list.value = this.source.example ?? "";
  }

  /** Shows the scenario's description and variants. */
  describe(reply: ReadReply | null): void {
    if (!reply) return;
    fill(this.variants, ...reply.variants.map((v) => h("option", { value: v, selected: v === reply.variant.name }, v)));
    this.variants.disabled = reply.variants.length < 2;
    this.about.textContent = reply.description;
    this.command();
  }

  command(): void {
    this.line.textContent = this.source.command();
  }

  /** Shows an error. */
  failed(e: unknown): void {
    const message = e instanceof Error ? e.message : String(e);
    this.refused({ message, text: message, line: 0, key: "" });
  }

  refused(why: Refusal | null): void {
    this.error.hidden = why === null;
    this.error.textContent = why?.text ?? "";
  }

  /** Enables or disables the buttons for `count` pinned runs. */
  pinned(count: number, max: number): void {
    this.pin.disabled = count >= max;
    this.unpin.disabled = count === 0;
  }

  /** Shows that only the first seconds of a run are shown; null: the whole run is. */
  coarse(seconds: number | null): void {
    const words = seconds === null ? "" : t("explore.beginning", { s: short(seconds) });
    if (this.beginning.textContent !== words) this.beginning.textContent = words;
  }

  progress(share: number | null): void {
    this.bar.hidden = share === null || share >= 1;
    if (share !== null) this.bar.value = share;
  }
}
