'use strict';

// The page in which the dashboard shows the widget as a website would have it. Its settings are in the fragment of its
// address, which is not sent to the server: texts of the page, and what the attributes of the script are set to.
const allowed = [
  'key', 'collection', 'filters', 'versions', 'name', 'mode', 'theme', 'accent', 'button', 'hotkey', 'title', 'placeholder', 'lang', 'labels', 'minScore',
];
const given = new URLSearchParams(window.location.hash.slice(1));

// Outside the dashboard it shows nothing, so that no link can show a page with somebody's texts.
if (window.parent !== window) {
  document.querySelector('h1').textContent = given.get('heading');
  document.querySelector('p').textContent = given.get('text');
  document.querySelector('button').textContent = given.get('open');
  document.documentElement.lang = given.get('pageLang') || 'en';
  const system = window.matchMedia('(prefers-color-scheme: dark)').matches;
  document.body.classList.toggle('dark', given.get('theme') === 'dark' || (given.get('theme') !== 'light' && system));
  if (given.get('key')) {
    const script = document.createElement('script');
    script.src = '/widget.js';
    for (const name of allowed) if (given.has(name)) script.dataset[name] = given.get(name);
    document.head.append(script);
  }
}
