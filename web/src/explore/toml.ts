// A value as TOML writes it in one line.

const key = (name: string): string => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name));

export function toml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value).filter(([, v]) => v !== undefined && v !== null);
    return entries.length ? `{ ${entries.map(([k, v]) => `${key(k)} = ${toml(v)}`).join(", ")} }` : "{}";
  }
  // JSON's escapes are TOML's; DEL is none of JSON's.
  return JSON.stringify(value).replaceAll("\u007f", "\\u007f");
}

/** A dotted path as `--set` takes it. */
export const path = (...steps: string[]): string => steps.map((s) => (/^[\w-]+$/.test(s) ? s : JSON.stringify(s))).join(".");
