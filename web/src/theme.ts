// The theme. CSS colours the page; plots take their colours from a table shared with the Rust code.

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

/** Returns the present colours; paper is always light. */
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

/** Returns a paler colour. It is opaque, as a transparent one would darken where curves cross. */
export function faint(color: string): string {
  const mix = (at: number): string => {
    const [c, g] = [color, palette().ground].map((hex) => parseInt(hex.slice(at, at + 2), 16));
    return Math.round(c * 0.55 + g * 0.45).toString(16).padStart(2, "0");
  };
  return `#${mix(1)}${mix(3)}${mix(5)}`;
}

/** Returns the colour of a congestion control's state or of a cause. */
export function stateColor(name: string): string {
  const now = palette();
  const states: Record<string, string> = now.states;
  return Object.hasOwn(states, name) ? states[name] : now.muted;
}

/** Calls `changed` when the system's theme changes, and before and after printing. */
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
