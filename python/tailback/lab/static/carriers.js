// What carries messages: a socket of the program, a notebook's widget, or frames that stand in the file.
// Each has `send(message)` and `close()`, calls `take(header, numbers, bytes)` with what comes, and says whether it is
// `live`: whether anything can be run.

// The header, the numbers, and the bytes behind the header of a frame.
const unpack = (buffer) => {
  const view = new DataView(buffer);
  const length = view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return [header, new Float32Array(buffer.slice(4 + length)), new Uint8Array(buffer, 4 + length)];
};

// The token is the first message: no address has it.
const socketCarrier = (token, take, lost) => {
  const socket = new WebSocket(`ws://${location.host}/talk`);
  socket.binaryType = "arraybuffer";
  const early = [];
  socket.onopen = () => {
    socket.send(token);
    early.splice(0).forEach((m) => socket.send(m));
  };
  socket.onmessage = (e) => take(...unpack(e.data));
  socket.onclose = () => lost("The program has ended, or this page was left alone. Start `tailback lab` again.");
  return {
    live: true,
    history: true,
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
    live: true,
    history: false,
    send: (message) => model.send(message),
    close: () => model.off("msg:custom", taken),
  };
};

// `grid` has a frame for each pair of values of its axes, compressed.
const fileCarrier = (grid, take) => {
  const opened = new Map();
  const open = async (cell) => {
    if (!opened.has(cell)) {
      const raw = Uint8Array.from(atob(grid.frames[cell]), (c) => c.charCodeAt(0));
      const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
      opened.set(cell, await new Response(stream).arrayBuffer());
    }
    return opened.get(cell);
  };
  return {
    live: false,
    history: false,
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
