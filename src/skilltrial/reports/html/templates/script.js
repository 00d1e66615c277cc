"use strict";
(() => {
  const all = (what) => [...document.querySelectorAll(what)];
  const reveal = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    let node = id && document.getElementById(id);
    for (const start = node; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
      if (!node.parentElement) start.scrollIntoView();
    }
  };
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => all("details").forEach((one) => (one.open = true)));
  reveal();
  const tools = document.querySelector(".tools");
  if (!tools) return;
  tools.hidden = false;
  const [word, state, repetition] = ["word", "state", "repetition"].map((id) => document.getElementById(id));
  const fits = (node) => {
    const text = node.dataset.name.toLowerCase();
    if (word.value && !text.includes(word.value.toLowerCase())) return false;
    if (!state.value) return true;
    if (state.value === "differ") return node.dataset.differ === "1";
    return node.dataset.states.includes(state.value);
  };
  const filter = () => {
    let shown = 0;
    all("[data-name]").forEach((node) => {
      node.hidden = !fits(node);
      if (!node.hidden && node.tagName === "TR") shown++;
    });
    document.getElementById("shown").textContent = shown + " shown";
  };
  word.addEventListener("input", filter);
  state.addEventListener("change", filter);
  if (repetition) repetition.addEventListener("change", () => {
    all(".block").forEach((one) => (one.open = repetition.value === "all" || one.dataset.repetition === repetition.value));
  });
})();
