// The headers that the engine answers to messages, for tests: in node, and in any browser. Messages are JSON texts, which
// have whole numbers that JavaScript has not.
globalThis.tailbackAnswers = async (bytes, messages) => {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const engine = instance.exports;
  const answer = (message) => {
    const text = new TextEncoder().encode(message);
    const at = engine.alloc(text.length);
    new Uint8Array(engine.memory.buffer, at, text.length).set(text);
    if (engine.take(at, text.length) !== 1) while (engine.advance(1 << 14) === 0);
    const lies = engine.answer(0) >>> 0;
    const frame = new Uint8Array(engine.memory.buffer, lies, engine.length()).slice();
    const length = new DataView(frame.buffer).getUint32(0, true);
    return JSON.parse(new TextDecoder().decode(frame.subarray(4, 4 + length)));
  };
  return messages.map(answer);
};
