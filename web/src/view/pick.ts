// Table rows that select the subjects A and B, by mouse and keyboard.

import { button } from "../dom";
import { t } from "../i18n";
import type { Side, State, Subject } from "../state";

/** A row. */
export interface Line<E extends Subject> {
  entry: E;
  tr: HTMLTableRowElement;
  /** The buttons A and B, and others. */
  buttons: HTMLButtonElement[];
}

export function choose<E extends Subject>(state: State<E>, entry: E, side: Side): HTMLButtonElement {
  const label = t(`ui.show.${side}`, { name: entry.name.slice(0, 80) });
  return button(
    { class: `badge ${side}`, "data-pick": side, tabindex: -1, "aria-label": label, title: t(`ui.show.${side}.title`) },
    () => (side === "b" && state.b === entry ? state.single() : state.show(side, entry)),
    side.toUpperCase(),
  );
}

/** Handles a click on a row: selects it as B, or deselects it. */
export function toggle<E extends Subject>(state: State<E>, entry: E): void {
  if (state.b === entry) state.single();
  else if (state.a !== entry) state.show("b", entry);
}

/**
 * Handles the keyboard: arrows move between rows and a row's buttons, Enter and space select, a and b set a
 * side.
 */
export function keys<E extends Subject>(state: State<E>, all: () => Line<E>[], table: HTMLElement): void {
  // The only row that the Tab key reaches.
  let reached: HTMLElement | undefined;
  const reach = (tr: HTMLElement | undefined): void => {
    if (reached) reached.tabIndex = -1;
    if (tr) tr.tabIndex = 0;
    reached = tr;
  };
  const focus = (row: number, button = -1): void => {
    const lines = all();
    const { tr, buttons } = lines[Math.min(Math.max(row, 0), lines.length - 1)];
    reach(tr);
    (buttons[button] ?? tr).focus();
  };
  reach(all()[0]?.tr);
  table.addEventListener("focusin", (e) => {
    const line = all().find((l) => l.tr.contains(e.target as Node));
    if (line && line.tr !== reached) reach(line.tr);
  });
  table.addEventListener("keydown", (e) => {
    const lines = all();
    const row = lines.findIndex((l) => l.tr.contains(e.target as Node));
    if (row < 0 || e.ctrlKey || e.metaKey || e.altKey) return;
    const { entry, tr, buttons } = lines[row];
    const in_ = buttons.indexOf(e.target as HTMLButtonElement);
    const actions: Record<string, () => void> = {
      ArrowDown: () => focus(row + 1, in_),
      ArrowUp: () => focus(row - 1, in_),
      ArrowRight: () => focus(row, Math.min(in_ + 1, buttons.length - 1)),
      ArrowLeft: () => focus(row, in_ - 1),
      Home: () => focus(0),
      End: () => focus(lines.length - 1),
      a: () => state.show("a", entry),
      b: () => state.show("b", entry),
    };
    if (e.target === tr) actions.Enter = actions[" "] = () => toggle(state, entry);
    const action = actions[e.key];
    if (!action || (state.entries.length < 2 && e.key.length === 1)) return;
    e.preventDefault();
    action();
  });
}

/** Makes a row clickable, except on its buttons and when text is selected. */
export function clickable<E extends Subject>(state: State<E>, { entry, tr }: Line<E>): void {
  tr.addEventListener("click", (e) => {
    if (!(e.target as HTMLElement).closest("button") && !getSelection()?.toString()) toggle(state, entry);
  });
}

/** Marks the rows that are A and B. */
export function mark<E extends Subject>(state: State<E>, lines: Line<E>[]): void {
  for (const { entry, tr, buttons } of lines) {
    const side = entry === state.a ? "a" : entry === state.b ? "b" : null;
    tr.setAttribute("aria-selected", String(side !== null));
    if (side) tr.dataset.side = side;
    else delete tr.dataset.side;
    for (const b of buttons) if (b.dataset.pick) b.setAttribute("aria-pressed", String(b.dataset.pick === side));
  }
}
