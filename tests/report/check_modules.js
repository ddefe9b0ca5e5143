/* Lints the report's script: `node --expose-internals check_modules.js FILE...` prints a line for each fault.

   Every name must be declared, imported or a browser's; every import must exist and be used; every
   export must be imported somewhere; and as the page joins all modules in one scope, no two may
   declare the same name. The parser is the one inside Node. */
const { readFileSync } = require("node:fs");
const { basename } = require("node:path");
const acorn = require("internal/deps/acorn/acorn/dist/acorn");
const walk = require("internal/deps/acorn/acorn-walk/dist/walk");

const BROWSER = new Set([
  "Blob", "Image", "Infinity", "JSON", "Map", "Math", "Number", "Object", "ResizeObserver", "Set", "String", "URL",
  "XMLSerializer", "document", "encodeURIComponent", "getComputedStyle", "matchMedia", "setTimeout", "undefined",
]);

function patternNames(pattern) {
  if (!pattern) return [];
  switch (pattern.type) {
    case "Identifier": return [pattern.name];
    case "ObjectPattern": return pattern.properties.flatMap((p) => patternNames(p.value ?? p.argument));
    case "ArrayPattern": return pattern.elements.flatMap(patternNames);
    case "AssignmentPattern": return patternNames(pattern.left);
    default: return patternNames(pattern.argument);
  }
}

function declaredBy(statement) {
  if (!statement) return [];
  if (statement.type.startsWith("Export")) return declaredBy(statement.declaration);
  if (statement.type === "ImportDeclaration") return statement.specifiers.map((s) => s.local.name);
  if (statement.type === "VariableDeclaration") return statement.declarations.flatMap((d) => patternNames(d.id));
  return /^(Function|Class)Declaration$/.test(statement.type) ? [statement.id.name] : [];
}

/* Names that a node declares for what is inside it. */
function scopeOf(node) {
  if (Array.isArray(node.body)) return node.body.flatMap(declaredBy);
  if (node.params) return [...node.params.flatMap(patternNames), ...patternNames(node.id)];
  if (node.type.startsWith("For")) return declaredBy(node.init ?? node.left);
  return node.type === "CatchClause" ? patternNames(node.param) : [];
}

const modules = new Map();
const faults = [];
for (const path of process.argv.slice(2)) {
  const name = basename(path);
  const fault = (text) => faults.push(`${name}: ${text}`);
  const tree = acorn.parse(readFileSync(path, "utf8"), { ecmaVersion: "latest", sourceType: "module" });
  const used = new Set();
  walk.fullAncestor(tree, (node, _, ancestors, role) => {
    if (node.type !== "Identifier") return;
    if (role === "Identifier") used.add(node.name); // declarations and assignments are patterns
    if (!BROWSER.has(node.name) && !ancestors.some((outer) => scopeOf(outer).includes(node.name))) fault(`${node.name} is not declared`);
  });
  const imports = tree.body.filter((s) => s.type === "ImportDeclaration");
  imports.flatMap((s) => s.specifiers).filter((s) => !used.has(s.local.name)).forEach((s) => fault(`${s.local.name} is imported and not used`));
  const own = tree.body.filter((s) => s.type !== "ImportDeclaration").flatMap(declaredBy);
  const exported = tree.body.filter((s) => s.type.startsWith("Export")).flatMap(declaredBy);
  own.filter((n) => !used.has(n) && !exported.includes(n)).forEach((n) => fault(`${n} is declared and not used`));
  modules.set(name, { imports, own, exported, fault });
}

const imported = new Set();
for (const { imports, fault } of modules.values()) {
  for (const statement of imports) {
    const source = modules.get(statement.source.value.slice(2));
    for (const { imported: { name } } of statement.specifiers) {
      imported.add(name);
      if (!source?.exported.includes(name)) fault(`${statement.source.value} does not export ${name}`);
    }
  }
}
const declared = new Map();
for (const [name, { own, exported, fault }] of modules) {
  exported.filter((n) => !imported.has(n)).forEach((n) => fault(`${n} is exported and imported nowhere`));
  own.forEach((n) => (declared.has(n) ? fault(`${n} is declared in ${declared.get(n)} too`) : declared.set(n, name)));
}
console.log(faults.join("\n"));
