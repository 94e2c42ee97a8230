// The explorer. Elements that tests rely on, in addition to those of the report's page (src/main.ts: #story, #path, #variants,
// #plots …):
//
// #report                  data-ready="true" once it is built; data-run: number of results shown so far, data-exact: whether the
//                          last one is a whole run, data-ms: the engine's time
// #scenario #variant       choice of scenario and variant; #tune-WHAT-… sliders and lists in #sliders [data-what]
// #pin #unpin              keeps the run for comparison, or removes all pinned runs
// #moment #moment-play #moment-of #moment-words   the limiter at the cursor's time
// #refused                 why the scenario cannot be run; hidden if it can
// #progress                progress of the exact run; hidden without one
// #operating               data-points: number of points of the curve so far; #operating-draw
// #lessons                 the studies' questions: data-right once answered; button[data-option] (data-right), #lesson-next, #lesson-look
// #fit #fit-progress #fit-cancel #fit-refused   above a capture: the search for a scenario
// #fitted                  the fitted path: data-limiter, data-whole; tr[data-number] in #fitted-numbers, #fitted-compared,
//                          #fitted-not-shown, #fitted-close
// #text #apply #file #save #command   the scenario's text: applied, opened, saved; the command line of the same run
// location.hash            s (name of a built-in scenario) or z (compressed text), v, set…, lang

import { h } from "../dom";
import { learn, setLang, t } from "../i18n";
import { recall } from "../prefs";
import { onThemeChange, setTheme, theme } from "../theme";
import { Explorer } from "./explorer";
import { ServedEngine } from "./served-engine";
import { StaticEngine } from "./static-engine";
import words from "./strings.json";

async function main(root: HTMLElement): Promise<void> {
  learn(words);
  const linked = new URLSearchParams(location.hash.replace(/^#/, "")).get("lang");
  const choice = linked ?? recall("lang");
  setLang(choice === "zh" || (choice !== "en" && navigator.language.startsWith("zh")) ? "zh" : "en");
  setTheme(theme());
  root.append(h("p", { class: "none" }, t("explore.loading")));
  // A served page contains no engine.
  const held = document.getElementById("engine")?.textContent;
  const engine = held ? await StaticEngine.load(held) : new ServedEngine();
  const explorer = new Explorer(root, engine);
  await explorer.begin();
  onThemeChange((printing) => explorer.repaint(printing));
}

const root = document.getElementById("report");
if (root) {
  main(root).catch((e) => {
    root.append(h("p", { class: "none", role: "alert" }, `longfat: ${e instanceof Error ? e.message : e}`));
    throw e;
  });
}
