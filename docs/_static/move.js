// "Move it yourself" under a figure: the lab's page in a frame. Nothing is loaded before the button is pressed, except on
// a page that begins with it.
addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".move-it")) {
    const open = () => {
      const frame = document.createElement("iframe");
      frame.src = place.dataset.address;
      frame.title = place.dataset.title;
      place.replaceChildren(frame);
    };
    place.querySelector("button").addEventListener("click", open);
    if ("now" in place.dataset) open();
  }
});
// The frame says how high it is.
addEventListener("message", ({ data, source }) => {
  if (typeof data?.tailbackHeight !== "number") return;
  for (const frame of document.querySelectorAll(".move-it iframe")) if (frame.contentWindow === source) frame.style.height = `${data.tailbackHeight}px`;
});
