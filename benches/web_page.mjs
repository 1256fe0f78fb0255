// node web_page.mjs ENGINE.wasm.gz: answers each message of standard input, a line of JSON, by the CPU time that it took, ms.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { gunzipSync } from "node:zlib";

const { instance } = await WebAssembly.instantiate(gunzipSync(readFileSync(process.argv[2])), {});
const engine = instance.exports;
for await (const line of createInterface({ input: process.stdin })) {
  const text = new TextEncoder().encode(line);
  const began = process.cpuUsage();
  const at = engine.alloc(text.length);
  new Uint8Array(engine.memory.buffer, at, text.length).set(text);
  if (engine.take(at, text.length) !== 1) while (engine.advance(1 << 14) === 0);
  engine.answer(0);
  const took = process.cpuUsage(began);
  console.log((took.user + took.system) / 1e3);
}
