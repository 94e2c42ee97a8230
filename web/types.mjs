// TypeScript types of the data that Rust writes, made from its JSON Schemas (draft 7): results, diagnoses and the pages' own data.
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const SCHEMAS = ["../docs/result.schema.json", "../docs/diagnosis.schema.json", "schema/page.json", "schema/capture-page.json"];
/** Lists of a fixed length up to this are tuples. */
const TUPLE = 4;

const name = (ref) => ref.split("/").pop();
const quoted = (value) => JSON.stringify(value);

/** A value's type. Draft 7 as schemars writes it; anything else is an error. */
export function type(schema) {
  if (schema === true || Object.keys(schema).every((key) => key === "description")) return "unknown";
  if ("$ref" in schema) return name(schema.$ref);
  if ("const" in schema) return quoted(schema.const);
  if (schema.enum) return schema.enum.map(quoted).join(" | ");
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return several.map(type).join(" | ");
  if (schema.allOf?.length === 1) return type(schema.allOf[0]);
  if (Array.isArray(schema.type)) return schema.type.map((one) => type({ ...schema, type: one })).join(" | ");
  switch (schema.type) {
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "array":
      return list(schema);
    case "object":
      return schema.properties ? `{ ${fields(schema).join(" ")} }` : `Record<string, ${type(schema.additionalProperties)}>`;
    default:
      throw new Error(`no type for ${quoted(schema)}`);
  }
}

function list({ items, minItems, maxItems }) {
  const of = type(items);
  if (minItems === maxItems && minItems <= TUPLE) return `[${Array(minItems).fill(of).join(", ")}]`;
  return of.includes(" ") && !of.startsWith("{") ? `(${of})[]` : `${of}[]`;
}

const comment = (text, indent) => (text ? `${indent}/** ${text.replace(/\s+/g, " ").replaceAll("*/", "* /")} */\n` : "");

/** An object's keys. One that may be absent is left out where Rust has none: it is never null. */
function fields({ properties, required = [] }, indent = "") {
  return Object.entries(properties).map(([key, schema]) => {
    const always = required.includes(key);
    const of = type(schema);
    return `${comment(indent && schema.description, indent)}${indent}${key}${always ? "" : "?"}: ${always ? of : of.replace(/ \| null$/, "")};`;
  });
}

function declaration(of, schema) {
  const about = comment(schema.description, "");
  if (!schema.properties) return `${about}export type ${of} = ${type(schema)};\n`;
  return `${about}export interface ${of} {\n${fields(schema, "  ").join("\n")}\n}\n`;
}

/** The types of all objects of these schemas; where two have one of a name, it must be the same. */
export function declarations(schemas) {
  const all = new Map();
  for (const { definitions = {}, title, $schema: _, ...root } of schemas) {
    for (const [of, schema] of [...Object.entries(definitions), [title, root]]) {
      const text = declaration(of, schema);
      if ((all.get(of) ?? text) !== text) throw new Error(`two schemas have different ${of}`);
      all.set(of, text);
    }
  }
  return [...all.keys()].sort().map((of) => all.get(of)).join("\n");
}

/** What `src/types.ts` holds. */
export async function types() {
  const schemas = await Promise.all(SCHEMAS.map(async (file) => JSON.parse(await readFile(join(here, file), "utf8"))));
  return `// Made of the JSON Schemas in docs/ and web/schema/ by web/types.mjs: npm run build.\n\n${declarations(schemas)}`;
}
