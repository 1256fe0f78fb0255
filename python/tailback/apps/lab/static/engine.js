// The engine in a worker. It takes the messages of crates/tailback-web/src/page.rs. What takes long goes on in parts, and
// between two parts a newer message is heard.

// The length of a part: some milliseconds, and so many events between two looks at the clock.
const PART_MS = 4;
const EVENTS = 1 << 11;
// What `advance` says.
const MORE_TO_DO = 0;
const ANSWER = 1;

let compiled = null;
let engine = null;
let began = 0;
let working = false;
const early = [];

const instance = async () => (engine = (await WebAssembly.instantiate(compiled, {})).exports);

const lying = (at) => new Uint8Array(engine.memory.buffer, at >>> 0, engine.length()).slice();

const told = (frame) => frame.byteLength && postMessage(frame, [frame]);

const answer = () => told(lying(engine.answer(performance.now() - began)).buffer);

// A frame of a header without numbers.
const frame = (header) => {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const all = new Uint8Array(4 + 4 * Math.ceil(text.length / 4)).fill(32);
  new DataView(all.buffer).setUint32(0, all.length - 4, true);
  all.set(text, 4);
  return all.buffer;
};

// A turn of the event loop, without the 4 ms of a timer.
const { port1, port2 } = new MessageChannel();
const turns = [];
port2.onmessage = () => turns.shift()();
const turn = () => new Promise((done) => { turns.push(done); port1.postMessage(0); });

// Go on until there is nothing to do.
const work = async () => {
  if (working) return;
  working = true;
  try {
    for (;;) {
      const till = performance.now() + PART_MS;
      let progress = MORE_TO_DO;
      while (progress === MORE_TO_DO && performance.now() < till) progress = engine.advance(EVENTS);
      if (progress === ANSWER) answer();
      else if (progress !== MORE_TO_DO) break;
      await turn();
    }
  } catch (e) {
    await fallen(e);
  }
  working = false;
};

// The instance cannot be used any more; another one of the same module can.
const fallen = async (e) => {
  let why = e.message;
  try { why = new TextDecoder().decode(lying(engine.fault())) || why; } catch { /* what the browser says has to do */ }
  told(frame({ do: "refused", input: asked, text: `the engine stopped (${why}); please report this scenario` }));
  await instance();
  if (files) take(files);
};

let asked = null;
// The message with the texts of trace files, for the next instance.
let files = null;
const take = (message) => {
  if (message.files) files = message;
  if (message.do === "state") {
    began = performance.now();
    asked = message.input;
  }
  const text = new TextEncoder().encode(JSON.stringify(message));
  try {
    const at = engine.alloc(text.length);
    new Uint8Array(engine.memory.buffer, at, text.length).set(text);
    if (engine.take(at, text.length) === ANSWER) answer();
    else work();
  } catch (e) {
    fallen(e);
  }
};

onmessage = async ({ data }) => {
  if (data.compiled) {
    compiled = data.compiled;
    await instance();
    early.splice(0).forEach(take);
  } else if (engine) take(data);
  else early.push(data);
};
