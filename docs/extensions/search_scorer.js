// Modules of job functions, OneFlow's earlier interface, as `api/index.md` lists them.
const jobModules = new Set([
  "config", "distribute", "experimental", "layers", "losses", "math", "optimizer", "quantization",
  "regularizers", "saved_model", "scope", "train", "typing", "util",
]);

// How well a result of the search fits: Sphinx's own points, and an order among equal ones.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  score: ([page, title, anchor, description, points, file, kind]) => {
    const isEntry = page.startsWith("api/generated/") && !page.endsWith("-index");
    // The page of an entry is found as an object, too.
    if (isEntry && kind !== "object") points -= 3;
    // Parts of flowvision's networks come after what they are made of.
    if (title.startsWith("flowvision.")) points -= 2;
    // Names of job functions come after today's.
    if (title.startsWith("oneflow.") && jobModules.has(title.split(".")[1])) points -= 8;
    // Shorter names first, and classes before functions of a few letters less: `nn.Conv2d`.
    if (description !== null && description.includes("class")) points += 0.05;
    return points - title.length / 100;
  },
};
