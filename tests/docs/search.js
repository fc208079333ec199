// Print the titles that the search of a built site finds: node search.js SITE QUERY
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const [site, query] = process.argv.slice(2);
const context = vm.createContext({
  console,
  document: { getElementById: () => null },
  SPHINX_HIGHLIGHT_ENABLED: false,
  _: (text) => text,
  _ready: () => {},
});
context.window = context;
const scripts = ["base-stemmer", "english-stemmer", "language_data", "searchtools"];
for (const file of [...scripts.map((name) => `_static/${name}.js`), "searchindex.js"])
  vm.runInContext(fs.readFileSync(path.join(site, file), "utf8"), context);
context.query = query;
const titles = "Search._performSearch(...Search._parseQuery(query)).map((found) => found[1])";
// The results are in the order in which they are taken from the end.
console.log(JSON.stringify(vm.runInContext(titles, context).reverse()));
