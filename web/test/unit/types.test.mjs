// TypeScript types made from JSON Schemas.
import assert from "node:assert/strict";
import { test } from "node:test";
import { declarations, type } from "../../types.mjs";

test("a schema of a value becomes its type", () => {
  const cases = [
    [{ type: "integer" }, "number"],
    [{ type: ["number", "null"] }, "number | null"],
    [{ anyOf: [{ $ref: "#/definitions/Topology" }, { type: "null" }] }, "Topology | null"],
    [{ oneOf: [{ const: "sim", type: "string" }, { const: "kernel", type: "string" }] }, '"sim" | "kernel"'],
    [{ type: "array", items: { type: "string" }, minItems: 2, maxItems: 2 }, "[string, string]"],
    [{ type: "array", items: { type: ["string", "null"] } }, "(string | null)[]"],
    [{ type: "object", additionalProperties: { $ref: "#/definitions/Column" } }, "Record<string, Column>"],
    [{ type: "object", properties: { en: { type: "string" } }, required: ["en"] }, "{ en: string; }"],
  ];
  for (const [schema, wanted] of cases) assert.equal(type(schema), wanted);
  assert.throws(() => type({ type: "date" }), /no type/);
});

test("an optional property is not null, and a name has one type", () => {
  const schema = (properties, required) => ({ title: "Run", description: "A run.", properties, required });
  const text = declarations([schema({ a: { type: "integer" }, b: { type: ["integer", "null"] }, c: { type: ["integer", "null"] } }, ["a", "c"])]);
  assert.equal(text, "/** A run. */\nexport interface Run {\n  a: number;\n  b?: number;\n  c: number | null;\n}\n");
  assert.throws(() => declarations([schema({ a: { type: "integer" } }), schema({ a: { type: "string" } })]), /different Run/);
});
