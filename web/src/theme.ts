// Colours: of the page by CSS, of plots from the table that Rust shares.

import colors from "../../crates/answers/report/colors.json";
import { keep, recall } from "./prefs";

export type Theme = "auto" | "light" | "dark";
export type Palette = (typeof colors)["light"];

const preferred = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");
let printing = false;

export function theme(): Theme {
  const kept = recall("theme");
  return kept === "light" || kept === "dark" ? kept : "auto";
}

export function setTheme(theme: Theme): void {
  keep("theme", theme);
  const root = document.documentElement;
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
}

/** What is drawn now: paper is always light. */
export function palette(): Palette {
  if (printing) return colors.light;
  const choice = document.documentElement.dataset.theme;
  const dark = choice === "dark" || (choice !== "light" && preferred.matches);
  return dark ? colors.dark : colors.light;
}

export const flowColor = (index: number): string => {
  const { flows } = palette();
  return flows[index % flows.length];
};

/** The same colour, to stand back; opaque, for where curves cross it would darken. */
export function faint(color: string): string {
  const mix = (at: number): string => {
    const [c, g] = [color, palette().ground].map((hex) => parseInt(hex.slice(at, at + 2), 16));
    return Math.round(c * 0.55 + g * 0.45).toString(16).padStart(2, "0");
  };
  return `#${mix(1)}${mix(3)}${mix(5)}`;
}

/** Of a state of a congestion control, or of what held a flow. */
export function stateColor(name: string): string {
  const now = palette();
  const states: Record<string, string> = now.states;
  return Object.hasOwn(states, name) ? states[name] : now.muted;
}

/** Calls back when the system's theme changes, and before and after printing. */
export function onThemeChange(changed: (printing: boolean) => void): void {
  preferred.addEventListener("change", () => changed(printing));
  const print = (on: boolean) => {
    if (on === printing) return;
    printing = on;
    changed(on);
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  paper.addEventListener("change", (e) => print(e.matches));
}
