// Colours: a light and a dark theme, and an accent that is readable on both.

/** Returns [r, g, b] of #rgb or #rrggbb, or null. */
function parseColor(text) {
  const hex = /^#(?:([\da-f])([\da-f])([\da-f])|([\da-f]{2})([\da-f]{2})([\da-f]{2}))$/i.exec(text?.trim() ?? "");
  if (!hex) return null;
  return hex[1] ? hex.slice(1, 4).map((c) => parseInt(c + c, 16)) : hex.slice(4, 7).map((c) => parseInt(c, 16));
}

/** Returns the relative luminance of WCAG 2. */
function luminance(color) {
  const [r, g, b] = color.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** Returns the nearest colour, towards black or white, that is readable on background (WCAG 2 AA: 4.5). */
function readableOn(background, color) {
  const end = luminance(background) > 0.18 ? 0 : 255;
  let out = color;
  for (let i = 1; i <= 20 && contrast(out, background) < 4.5; i++) out = color.map((c) => Math.round(c + ((end - c) * i) / 20));
  return out;
}

const WHITE = [255, 255, 255], INK = [17, 19, 24];
const SURFACES = { light: WHITE, dark: [27, 29, 34] };
const SOFT = { light: [86, 92, 104], dark: [177, 183, 194] }; // as in the style sheet

/** Returns the CSS rules of the accent for both themes. */
function accentRules(accent) {
  const css = (color) => "rgb(" + color.join(" ") + ")";
  return Object.entries(SURFACES).map(([theme, surface]) => {
    // The background of the selection: as much of the accent as soft text on it allows.
    let soft = surface;
    for (let share = theme === "dark" ? 0.24 : 0.1; share > 0; share -= 0.02) {
      soft = surface.map((c, i) => Math.round(c + (accent[i] - c) * share));
      if (contrast(SOFT[theme], soft) >= 4.6) break;
    }
    const on = contrast(WHITE, accent) >= contrast(INK, accent) ? WHITE : INK;
    // Text in the accent colour is also used on this background, which has less contrast.
    return `.root.${theme}{--accent:${css(accent)};--accent-text:${css(readableOn(soft, accent))};--on-accent:${css(on)};--accent-soft:${css(soft)};}`;
  }).join("");
}
