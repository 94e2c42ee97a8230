// The toolbar above the plots: buttons for zoom, and the time range in view.

import { button, h } from "../dom";
import { t } from "../i18n";
import type { State, Subject } from "../state";
import { moved, scaled } from "./gestures";

export function toolbar<E extends Subject>(state: State<E>, range: HTMLElement, choice: HTMLElement | null): HTMLElement {
  const centre = () => (state.view().from + state.view().to) / 2;
  const tool = (key: string, sign: string, run: () => void) =>
    button({ class: "tool", "data-zoom": key, "aria-label": t(`ui.zoom.${key}`), title: t(`ui.zoom.${key}`) }, run, sign);
  return h(
    "div",
    { class: "toolbar", role: "toolbar", "aria-label": t("ui.zoom") },
    tool("in", "+", () => state.zoom(scaled(state.view(), 0.5, centre()))),
    tool("out", "−", () => state.zoom(scaled(state.view(), 2, centre()))),
    tool("left", "←", () => state.zoom(moved(state.view(), -0.25))),
    tool("right", "→", () => state.zoom(moved(state.view(), 0.25))),
    tool("whole", t("ui.whole"), () => state.zoom(null)),
    choice,
    range,
  );
}
