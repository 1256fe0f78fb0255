// What carries messages: a socket of the program, a notebook's widget, the engine in this page, or frames that stand in
// the file. Each has `send(message)` and `close()`, calls `take(header, numbers, bytes)` with what comes, and says in
// `can` what it is able to do: `run` any state, write `copies`, show `packets`, play `tours`, draw `figures`, keep its
// states in the browser's `history`, and give a state as a `link`.

// The header, the numbers, and the bytes behind the header of a frame.
const unpack = (buffer) => {
  const view = new DataView(buffer);
  const length = view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return [header, new Float32Array(buffer.slice(4 + length)), new Uint8Array(buffer, 4 + length)];
};

// The token is the first message, so it is not in the address of the socket.
const socketCarrier = (token, take, lost) => {
  const socket = new WebSocket(`ws://${location.host}/talk`);
  socket.binaryType = "arraybuffer";
  const early = [];
  socket.onopen = () => {
    socket.send(token);
    early.splice(0).forEach((m) => socket.send(m));
  };
  socket.onmessage = (e) => take(...unpack(e.data));
  socket.onclose = () => lost("The connection to the program is closed. Reload this page; if that does not help, start `tailback lab` again.");
  return {
    can: new Set(["run", "copies", "packets", "tours", "figures", "history", "link"]),
    send: (message) => {
      const text = JSON.stringify(message);
      if (socket.readyState === 1) socket.send(text);
      else if (socket.readyState === 0) early.push(text);
    },
    close: () => socket.close(),
  };
};

const widgetCarrier = (model, take) => {
  const taken = (message, buffers) => {
    const b = buffers[0];
    take(...unpack(b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength)));
  };
  model.on("msg:custom", taken);
  return {
    can: new Set(["run", "copies", "packets", "tours", "figures"]),
    send: (message) => model.send(message),
    close: () => model.off("msg:custom", taken),
  };
};

// `grid` has a frame for each pair of values of its axes, compressed.
const fileCarrier = (grid, take) => {
  const opened = new Map();
  const open = async (cell) => {
    if (!opened.has(cell)) {
      opened.set(cell, await new Response(unpacked(grid.frames[cell])).arrayBuffer());
    }
    return opened.get(cell);
  };
  return {
    can: new Set(),
    axes: grid.axes,
    send: async (message) => {
      if (message.do !== "state") return;
      const cell = grid.axes.reduce((n, axis, i) => n * axis.values.length + (message.state.grid?.[i] ?? 0), 0);
      const [header, numbers, bytes] = unpack(await open(cell));
      take({ ...header, input: message.input }, numbers, bytes);
    },
    close: () => {},
  };
};

// The pictures of two disciplines, each with numbers of its own, as one.
const joinedPictures = ([first, numbers], [second, more]) => {
  const moved = (place) => [place[0] + numbers.length, place[1]];
  const [run] = second.runs;
  for (const s of run.series) Object.assign(s, { t: moved(s.t), v: moved(s.v) });
  for (const part of [run.sojourn, run.decisions]) for (const name of Object.keys(part)) part[name] = moved(part[name]);
  if (run.delay) run.delay = { share: moved(run.delay.share), seconds: moved(run.delay.seconds) };
  run.flows.goodput = moved(run.flows.goodput);
  const all = new Float32Array(numbers.length + more.length);
  all.set(numbers);
  all.set(more, numbers.length);
  return [{ ...first, runs: [...first.runs, run], took_ms: Math.max(first.took_ms, second.took_ms) }, all, new Uint8Array(0)];
};

// The engine in this page, in a worker for each discipline, so that both runs go on side by side. The greeting
// has what the program would answer about tours, the texts of trace files, and whether the browser keeps the states of
// this page.
const workerCarrier = (compiled, code, { tours = [], files, page }, take) => {
  const halves = new Map();
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const came = (side, data) => {
    const got = unpack(data);
    const half = halves.get(got[0].input);
    if (!half) return take(...got);
    if (got[0].do === "refused") {
      halves.delete(got[0].input);
      return take(...got);
    }
    half[side] = got;
    if (half[0] && half[1]) {
      halves.delete(got[0].input);
      take(...joinedPictures(half[0], half[1]));
    }
  };
  const workers = [0, 1].map((side) => {
    const worker = new Worker(address);
    worker.onmessage = ({ data }) => came(side, data);
    worker.postMessage({ compiled });
    if (files) worker.postMessage({ do: "files", files });
    return worker;
  });
  return {
    can: new Set(["run", "copies", "packets", "tours", "link", ...(page ? ["history"] : [])]),
    send: (message) => {
      if (message.do === "tour") {
        const tour = tours.find((t) => t.name === message.name);
        return take(tour?.state ? { do: "tour", ...tour } : { do: "refused", input: null, text: "This tour needs the program: tailback lab --tour NAME" });
      }
      if (message.do !== "state") return workers[message.side ?? 0].postMessage(message);
      halves.clear();
      if (!message.state.beside) return workers[0].postMessage(message);
      halves.set(message.input, []);
      workers.forEach((worker, side) => worker.postMessage({ ...message, side }));
    },
    close: () => {
      workers.forEach((w) => w.terminate());
      URL.revokeObjectURL(address);
    },
  };
};

// What stands in a page compressed, as text.
const unpacked = (packed) => {
  const raw = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  return new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
};

const textOf = (name) => document.getElementById(`tailback-${name}`).textContent;

const compiledEngine = async (packed) => {
  const stream = unpacked(packed);
  return WebAssembly.compileStreaming(new Response(stream, { headers: { "content-type": "application/wasm" } }));
};

// How long a kernel may take for its first answer.
const PATIENCE_MS = 3000;

// The kernel of a notebook. If it does not answer, as in an exported notebook, the engine of the widget does.
const kernelOrEngine = (model, hello, take) => {
  let answered = false, own = null, last = null;
  const kernel = widgetCarrier(model, (...frame) => {
    answered = true;
    if (!own) take(...frame);
  });
  const begin = async () => {
    const packed = model.get("engine");
    if (answered || own || !packed) return;
    own = { send: (message) => (last = message), close: () => {} };
    own = workerCarrier(await compiledEngine(packed), model.get("worker"), hello, take);
    own.send(last);
  };
  return {
    can: kernel.can,
    send: (message) => {
      if (own) return own.send(message);
      if (message.do === "state") last = message;
      try { kernel.send(message); } catch { return void begin(); }
      if (!answered) setTimeout(begin, PATIENCE_MS);
    },
    close: () => [kernel, own].forEach((carrier) => carrier?.close()),
  };
};
