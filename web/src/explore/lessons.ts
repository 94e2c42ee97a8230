// Questions from five studies: the reader predicts, then both runs are made and show which prediction is
// right.
//
// The right answer is not stored: it follows from the ratio of the two runs' measured values and the options'
// bounds. The study's published numbers are shown with it.

import { button, fill, h } from "../dom";
import { lang, t } from "../i18n";
import type { Variant } from "../model";
import { short } from "../number";
import type { Engine } from "./engine";
import texts from "scenarios:";
import type { RunReply } from "./model";

type Words = { en: string; zh: string };

export interface LessonRun {
  variant: string;
  sets: string[];
}

/**
 * A prediction; it is right if the ratio of the second run to the first is at least `from` and less than
 * `to`.
 */
interface Option extends Words {
  from: number;
  to: number;
}

export interface Lesson {
  /** The study's name in `studies/`. */
  study: string;
  scenario: string;
  runs: [LessonRun, LessonRun];
  /** The measured flows: those with names that begin with this. */
  flow: string;
  measure: "goodput" | "resent";
  question: Words;
  options: Option[];
  /** The study's own result. */
  published: Words;
}

const plain = (variant: string, ...sets: string[]): LessonRun => ({ variant, sets });

export const LESSONS: Lesson[] = [
  {
    study: "policer-or-shaper", scenario: "policer-or-shaper", flow: "tcp", measure: "resent",
    runs: [plain("shaper-fifo"), plain("policer")],
    question: {
      en: "Four uploads share 20 Mbit/s, behind a shaper that queues packets or behind a policer that drops the excess. Which one makes TCP retransmit more?",
      zh: "四个上传共享 20 Mbit/s：一次由流量整形让数据包排队，一次由流量监管丢弃过快的数据包。哪一种让 TCP 重传更多？",
    },
    options: [
      { en: "the shaper: its queue overflows", zh: "流量整形：队列会溢出", from: 0, to: 1 / 1.5 },
      { en: "about the same", zh: "差不多", from: 1 / 1.5, to: 1.5 },
      { en: "the policer", zh: "流量监管", from: 1.5, to: Infinity },
    ],
    published: { en: "In the study the policer lost 12.7 % of the packets, the shaper none.", zh: "研究记录：流量监管丢失 12.7 %，流量整形为 0。" },
  },
  {
    study: "sdwan-limiter", scenario: "sdwan-limiter", flow: "up", measure: "goodput",
    runs: [plain("policing-cubic"), plain("policing-bbr")],
    question: {
      en: "An SD-WAN line is policed to 20 Mbit/s with a bucket of six packets, and CUBIC gets a fifth of that rate. How much does an upload get with BBR?",
      zh: "SD-WAN 线路被流量监管到 20 Mbit/s，令牌桶只有六个数据包，CUBIC 只得到五分之一。PC 改用 BBR，上传能得到多少？",
    },
    options: [
      { en: "as much as with CUBIC: the bucket is the limit", zh: "与之前一样：由令牌桶决定", from: 0, to: 1.5 },
      { en: "about twice as much", zh: "约两倍", from: 1.5, to: 3 },
      { en: "more than three times as much", zh: "三倍以上", from: 3, to: Infinity },
    ],
    published: { en: "The study measured 4.18 Mbit/s with CUBIC and 8.49 Mbit/s with BBR.", zh: "研究测得 CUBIC 4.18 Mbit/s，BBR 8.49 Mbit/s。" },
  },
  {
    study: "cc-primer", scenario: "cc-primer", flow: "f", measure: "goodput",
    runs: [plain("cubic-1.5", "duration=5s"), plain("bbr-1.5", "duration=5s")],
    question: {
      en: "2.4 Gbit/s, an RTT of 140 ms, and 1.5 % random loss. CUBIC treats each loss as congestion; BBR does not. How much more goodput does BBR get?",
      zh: "2.4 Gbit/s、140 ms，1.5 % 的数据包随机丢失。CUBIC 把每次丢包当作拥塞，BBR 不会。BBR 能多传多少？",
    },
    options: [
      { en: "less than twice as much", zh: "不到两倍", from: 0, to: 2 },
      { en: "2 to 20 times as much", zh: "2 至 20 倍", from: 2, to: 20 },
      { en: "more than 20 times as much", zh: "20 倍以上", from: 20, to: Infinity },
    ],
    published: { en: "The handbook reports 1.23 Mbit/s for CUBIC and 160 Mbit/s for BBR.", zh: "手册给出 CUBIC 1.23 Mbit/s，BBR 160 Mbit/s。" },
  },
  {
    study: "overseas-office", scenario: "overseas-office", flow: "down", measure: "goodput",
    runs: [plain("direct-cubic", "flows.up.enabled=false", "duration=8s"), plain("proxy-cubic", "flows.up.enabled=false", "duration=8s")],
    question: {
      en: "Seattle downloads over an RTT of 150 ms; only the last 10 ms of the path are lossy. A proxy splits the connection there, with default CUBIC on both sides. How much does the download gain?",
      zh: "西雅图经 150 ms 下载，最后 10 ms 会丢包。在两段之间放一个代理，两侧都用默认的 CUBIC。下载能提升多少？",
    },
    options: [
      { en: "nothing: CUBIC is CUBIC", zh: "没有提升：CUBIC 还是 CUBIC", from: 0, to: 1.2 },
      { en: "up to twice as much", zh: "至多两倍", from: 1.2, to: 2 },
      { en: "more than twice as much: losses are recovered over 10 ms", zh: "两倍以上：丢包在 10 ms 内修复", from: 2, to: Infinity },
    ],
    published: { en: "The note measured 2.44 MB/s directly and 2.29 MB/s through the proxy; it gives neither the loss rate nor the buffers.", zh: "记录测得直连 2.44 MB/s，经代理 2.29 MB/s；未说明丢包率与缓冲区。" },
  },
  {
    study: "hsr-bbr", scenario: "hsr-train", flow: "download", measure: "goodput",
    runs: [plain("bbr", "duration=40s"), plain("bbr-hsr", "duration=40s")],
    question: {
      en: "A train at 300 km/h with a handover every few seconds. BBR-HSR computes its window from the mean RTT, so jitter does not starve it. How does its goodput compare with BBR's?",
      zh: "300 km/h 的列车，每隔几秒一次切换。BBR-HSR 按平均往返时延取窗口，抖动不会让它欠载。与 BBR 相比能多传多少？",
    },
    options: [
      { en: "less", zh: "更少", from: 0, to: 0.95 },
      { en: "the same within 5 %", zh: "相差不到 5 %", from: 0.95, to: 1.05 },
      { en: "slightly more", zh: "略多", from: 1.05, to: 1.15 },
      { en: "at least 15 % more", zh: "多 15 % 以上", from: 1.15, to: Infinity },
    ],
    published: { en: "The study reports 6.16 Mbit/s for BBR and 7.43 Mbit/s for BBR-HSR: 20.6 % more.", zh: "研究给出 BBR 6.16 Mbit/s，BBR-HSR 7.43 Mbit/s：多 20.6 %。" },
  },
];

/** Returns a run's goodput in Mbit/s, or its share of retransmitted packets. */
export function measured(lesson: Pick<Lesson, "flow" | "measure">, variant: Variant): number {
  const flows = variant.flows.filter((f) => f.name.startsWith(lesson.flow) && f.cc !== "udp");
  const sum = (value: (f: Variant["flows"][0]) => number) => flows.reduce((all, f) => all + value(f), 0);
  if (lesson.measure === "goodput") return sum((f) => f.goodput_mbps);
  return sum((f) => f.retransmitted_packets) / Math.max(1, sum((f) => f.sent_packets));
}

/** Returns the index of the right option for the measured values; -1 if none is right. */
export function outcome(options: readonly Pick<Option, "from" | "to">[], [first, second]: [number, number]): number {
  const ratio = first > 0 ? second / first : second > 0 ? Number.MAX_VALUE : 1;
  return options.findIndex((o) => ratio >= o.from && ratio < o.to);
}

const format = (lesson: Lesson, x: number): string => (lesson.measure === "goodput" ? `${short(x)} Mbit/s` : `${short(x * 100)} %`);

export class Lessons {
  readonly root = h("section", { class: "lessons", id: "lessons" });
  private at = 0;
  /** Increased by every prediction and change of question, so that late answers are dropped. */
  private generation = 0;

  constructor(
    private engine: Engine,
    /** Pins the first run of a lesson and shows the second next to it. */
    private look: (scenario: string, runs: [LessonRun, LessonRun]) => void,
  ) {}

  draw(): void {
    const lesson = LESSONS[this.at];
    const words = (text: Words) => text[lang()];
    const answer = h("div", { id: "lesson-answer", class: "lesson-answer", "aria-live": "polite" });
    const options = lesson.options.map((o, i) => {
      const pick = button({ "data-option": i, "aria-pressed": "false" }, () => void this.predict(lesson, i, options, answer), words(o));
      return pick;
    });
    const go = (step: number) => { this.at = (this.at + step + LESSONS.length) % LESSONS.length; this.generation++; this.draw(); };
    fill(
      this.root,
      h("div", { class: "section-head" },
        h("h2", { id: "lessons-title" }, t("explore.lesson", { n: this.at + 1, all: LESSONS.length })),
        h("span", { class: "side-buttons" },
          button({ id: "lesson-before", "aria-label": t("explore.lesson.before") }, () => go(-1), "←"),
          button({ id: "lesson-next", "aria-label": t("explore.lesson.next") }, () => go(1), "→"))),
      h("div", { class: "card" },
        h("p", { class: "question" }, words(lesson.question)),
        h("div", { class: "options", role: "group", "aria-label": t("explore.lesson.predict") }, ...options),
        answer),
    );
    this.root.setAttribute("aria-labelledby", "lessons-title");
  }

  private async predict(lesson: Lesson, chosen: number, options: HTMLButtonElement[], answer: HTMLElement): Promise<void> {
    const generation = ++this.generation;
    options.forEach((o, i) => { o.setAttribute("aria-pressed", String(i === chosen)); o.disabled = true; });
    answer.textContent = t("explore.lesson.running");
    const run = async ({ variant, sets }: LessonRun): Promise<number> => {
      const scenario = { file: `${lesson.scenario}.toml`, text: texts[lesson.scenario], sets, variant };
      const { pieces } = await this.engine.ask({ do: "run", scenario }).done;
      const [head, page] = pieces.slice(0, 2).map((p) => JSON.parse(new TextDecoder().decode(p)));
      if ((head as RunReply & { refused?: { text: string } }).refused) throw new Error(head.refused.text);
      return measured(lesson, page.results[0].run.variants[0] as Variant);
    };
    try {
      const values = (await Promise.all(lesson.runs.map(run))) as [number, number];
      if (generation === this.generation) this.show(lesson, chosen, values, options, answer);
    } catch (e) {
      if (generation === this.generation) answer.textContent = e instanceof Error ? e.message : String(e);
    }
  }

  private show(lesson: Lesson, chosen: number, values: [number, number], options: HTMLButtonElement[], answer: HTMLElement): void {
    const right = outcome(lesson.options, values);
    options.forEach((o, i) => { o.dataset.right = String(i === right); });
    const what = t(`explore.lesson.${lesson.measure}`);
    const list = lesson.runs.map((r, i) => h("li", {}, h("b", {}, r.variant), ` ${what} ${format(lesson, values[i])}`));
    this.root.dataset.right = String(chosen === right);
    fill(
      answer,
      h("p", { class: "verdict" }, t(chosen === right ? "explore.lesson.right" : "explore.lesson.wrong", { option: lesson.options[right]?.[lang()] ?? "–" })),
      h("ul", {}, ...list),
      h("p", { class: "hint" }, lesson.published[lang()]),
      button({ id: "lesson-look" }, () => this.look(lesson.scenario, lesson.runs), t("explore.lesson.look")),
    );
  }
}
