// The time-sequence plot: bytes sent and acknowledged, and the retransmissions.

import { t } from "../i18n";
import { faint, palette, stateColor } from "../theme";
import { numbers } from "./csv";
import type { Shown, Source } from "./kinds";
import { ribbons, stateFrom } from "./states";
import type { CsvColumn, Marks, Plot, Sampled } from "./track";

interface Resent {
  time: Float64Array;
  byte: Float64Array;
  len: Float64Array;
}

function resent({ data }: Source, f: Shown): Resent | null {
  const [time, byte, len] = ["time_s", "byte", "len"].map((c) => data.resent(f.series, c));
  return time && byte && len && time.length ? { time, byte, len } : null;
}

/** Marks of retransmissions; those after a timeout have their own mark. */
function marks(source: Source, f: Shown): Marks[] {
  const all = resent(source, f);
  if (!all) return [];
  const ribbon = ribbons(source.data, [f])[0];
  // A timeout's retransmission is sent just before the first sample in that state.
  const lost = (_: number, i: number) => ribbon !== undefined && stateFrom(ribbon, all.time[i]) === "loss";
  const marksOf = (keep: (v: number, i: number) => boolean, label: string, shape: Marks["shape"], color: string): Marks => ({
    label,
    shape,
    color,
    time: all.time.filter((v, i) => keep(v, i)),
    value: all.byte.filter((v, i) => keep(v, i)).map((b) => b / 1e6),
  });
  return [
    marksOf((v, i) => !lost(v, i), t("plot.resent"), "tick", palette().drop),
    marksOf(lost, t("plot.resent-timeout"), "cross", stateColor("loss")),
  ].filter((m) => m.time.length > 0);
}

function csv(source: Source): CsvColumn[] {
  const { data, flows } = source;
  return flows.flatMap((f) => {
    const { name } = f.flow;
    const time = data.column(f.series, "time_s");
    const own = ["sent_bytes", "acked_bytes"].flatMap((c) => {
      const values = data.column(f.series, c);
      return time && values ? [numbers(`${name} ${c}`, time, values)] : [];
    });
    const all = resent(source, f);
    if (!all) return own;
    return [...own, numbers(`${name} resent_byte`, all.time, all.byte), numbers(`${name} resent_len`, all.time, all.len)];
  });
}

export function sequence(source: Source, empty: (left: string, csv: () => CsvColumn[]) => Plot): Plot {
  const { data, flows } = source;
  const plot = empty(t("plot.axis.bytes"), () => csv(source));
  plot.floor = "data";
  for (const f of flows) {
    const time = data.column(f.series, "time_s");
    for (const [column, width] of [["sent_bytes", 1], ["acked_bytes", 1.75]] as const) {
      const value = data.column(f.series, column);
      if (!time || !value) continue;
      const sent = column === "sent_bytes";
      const track: Sampled = {
        kind: "sampled", id: `${f.flow.name} ${column}`, label: f.flow.name, part: t(sent ? "ui.sent" : "ui.acked"), width,
        color: sent ? faint(f.color) : f.color, axis: "left", factor: 1e-6, samples: { time, value },
      };
      plot.tracks.push(track);
    }
    plot.marks.push(...marks(source, f));
  }
  return plot;
}
