// The page's controls for language, theme and link.

import { setLang } from "../i18n";
import { copy } from "../link";
import { keep } from "../prefs";
import { setTheme } from "../theme";
import type { Controls } from "../view/header";

/**
 * `draw` rebuilds the page in another language, `repaint` in another theme; `link` returns the address of the
 * present view.
 */
export function pageControls(draw: () => void, repaint: () => void, link: () => Promise<string>): Controls {
  return {
    setLang: (to) => {
      keep("lang", to);
      setLang(to);
      draw();
      document.getElementById(`lang-${to}`)?.focus();
    },
    setTheme: (choice) => {
      setTheme(choice);
      for (const id of ["auto", "light", "dark"]) document.getElementById(`theme-${id}`)?.setAttribute("aria-pressed", String(id === choice));
      repaint();
    },
    copyLink: async () => copy(await link()),
  };
}
