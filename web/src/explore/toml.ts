// Formats values as TOML in one line.

const key = (name: string): string => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name));

export function toml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value).filter(([, v]) => v !== undefined && v !== null);
    return entries.length ? `{ ${entries.map(([k, v]) => `${key(k)} = ${toml(v)}`).join(", ")} }` : "{}";
  }
  // JSON's escapes are valid in TOML; only DEL, which JSON does not escape, needs one.
  return JSON.stringify(value).replaceAll("\u007f", "\\u007f");
}

/** Formats a dotted key for `--set`. */
export const path = (...steps: string[]): string => steps.map((s) => (/^[\w-]+$/.test(s) ? s : JSON.stringify(s))).join(".");
