// The explorer. What tests may rely on, beside what the report's page has (src/main.ts: #story, #path, #variants, #plots …):
//
// #report                  data-ready="true" once it is made; data-run: how many results were shown, data-exact: whether the last
//                          is all of its run, data-ms: what the engine took
// #scenario #variant       choice of scenario and variant; #tune-WHAT-… sliders and lists in #sliders [data-what]
// #pin #unpin              keeps the run beside those to come, or lets go of all
// #moment #moment-play #moment-of #moment-words   the limiter at the cursor's time
// #refused                 why the scenario cannot be run; hidden where it can
// #progress                how far the exact run is
// #operating              data-points: how many of the curve are there; #operating-draw
// #lessons                 the studies' questions: data-right once answered; button[data-option] (data-right), #lesson-next, #lesson-look
// #fit #fit-progress #fit-cancel #fit-refused   above a capture: the search for its path's scenario
// #fitted                  what that search tells: data-limiter, data-whole; tr[data-number] in #fitted-numbers, #fitted-compared,
//                          #fitted-untold, #fitted-close
// #text #apply #file #save #command   the scenario's text, taken up, opened, saved; the command line of the same run
// location.hash            s (built in) or z (packed text), v, set…, lang

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
  const asked = new URLSearchParams(location.hash.replace(/^#/, "")).get("lang");
  const kept = asked ?? recall("lang");
  setLang(kept === "zh" || (kept !== "en" && navigator.language.startsWith("zh")) ? "zh" : "en");
  setTheme(theme());
  root.append(h("p", { class: "none" }, t("explore.loading")));
  // A served page holds no engine.
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
