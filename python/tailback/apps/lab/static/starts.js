// The ways in which a page begins: by the program, from a file with its runs, with the engine inside, in a notebook.

// The greeting with the state that stands after `#` in the address.
const withLink = (hello) => {
  const link = location.hash.match(/s=([\w-]+)/);
  if (!link) return hello;
  try {
    const { version, only, ...state } = JSON.parse(decode(link[1]));
    if (only && !(Array.isArray(only.controls) && Array.isArray(only.charts))) throw new TypeError("only");
    const other = version && version !== hello.version;
    const notice = other ? `This link was written by tailback ${version}, and this page has ${hello.version}: numbers may differ.` : "";
    return { ...hello, state, only, tour: null, notice };
  } catch {
    return { ...hello, notice: "The link is not complete: the part after # cannot be read. Copy the whole link." };
  }
};

// The page of the program.
const startPage = (root, hello, token) => new Lab(root, withLink(hello), (take, lost) => socketCarrier(token, take, lost));

// A file with its runs.
const startFile = (root, hello, grid) => new Lab(root, hello, (take) => fileCarrier(grid, take));

// The widget of a notebook.
const render = ({ model, el }) => {
  el.classList.add("tailback-lab");
  const hello = copied(model.get("hello"));
  const lab = new Lab(el, hello, (take) => kernelOrEngine(model, hello, take));
  return () => lab.carrier.close();
};

// The licences of what is in the page, at its end.
const showLicences = (packed) => {
  const text = make("pre");
  const open = async () => (text.textContent ||= await new Response(unpacked(packed)).text());
  document.body.append(make("footer", { class: "tailback-lab" }, make("details", { ontoggle: open }, make("summary", { text: "Licences of what is in this page" }), text)));
};

// The page of the engine: it stands in the page, and needs no program. Without WebAssembly the page says so.
const startEngine = async (root, hello, packed, code) => {
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") {
    root.replaceChildren(make("p", { class: "error", role: "alert", text: "The simulator in this page needs WebAssembly and DecompressionStream, which this browser does not have. Firefox has both from 113, Chromium from 97 and Safari from 16.4." }));
    return null;
  }
  const compiled = await compiledEngine(packed);
  return new Lab(root, withLink(hello), (take) => workerCarrier(compiled, code, hello, take));
};
