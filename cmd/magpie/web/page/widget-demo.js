"use strict";

// The settings are in the fragment of the URL, which is not sent to the server.
const form = document.querySelector("#settings");
const given = new URLSearchParams(location.hash.slice(1));
for (const [name, value] of given) if (form.elements[name]) form.elements[name].value = value;

const script = document.createElement("script");
script.src = new URL("../widget.js", location.href).href;
let snippet = `<script src="${script.src}"`;
for (const { name, value, options } of form.elements) {
  if (!name || (value === "" && name !== "key") || options?.[0].value === value) continue;
  script.dataset[name] = value;
  snippet += `\n  data-${name}="${value.replaceAll("&", "&amp;").replaceAll('"', "&quot;") || "svc_pk_…"}"`;
}
document.querySelector("#snippet").textContent = snippet + " defer></script>";
if (form.elements.key.value !== "") document.head.append(script);

form.addEventListener("submit", (event) => {
  event.preventDefault();
  location.hash = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== "")).toString();
  location.reload(); // a page can create the widget once
});
