// node firefox.mjs ENGINE.wasm.gz FIREFOX < messages.json > answers.json; puppeteer-core drives Firefox over WebDriver BiDi.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { createRequire } from "node:module";

const [engine, executablePath, modules] = process.argv.slice(2);
const puppeteer = createRequire(`${modules}/`)("puppeteer-core");
const messages = JSON.parse(readFileSync(0, "utf8"));
const packed = gunzipSync(readFileSync(engine)).toString("base64");
const code = readFileSync(new URL("answers.js", import.meta.url), "utf8");
const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true, protocolTimeout: 600000 });
try {
  const page = await browser.newPage();
  await page.evaluate(code);
  const run = async (text, given) => JSON.stringify(await tailbackAnswers(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), given));
  process.stdout.write(await page.evaluate(run, packed, messages));
} finally {
  await browser.close();
}
