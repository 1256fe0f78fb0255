// node node.mjs ENGINE.wasm.gz < messages.json > answers.json
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import "./answers.js";

const messages = JSON.parse(readFileSync(0, "utf8"));
const bytes = gunzipSync(readFileSync(process.argv[2]));
process.stdout.write(JSON.stringify(await globalThis.tailbackAnswers(bytes, messages)));
