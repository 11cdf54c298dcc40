// Texts in the person's language. The messages of an area of the dashboard are in
// src/messages/<area>.<language>.json, in ICU MessageFormat, which the build compiles, and
// are loaded with its pages. English is complete by definition: its keys are the type of
// t. Another language is another file for each area, and one line in languages.
import { type Messages, setupI18n } from '@lingui/core';
import type { Keys } from './keys';
import { addWords } from './words';
import { timeZone } from './zone';

export const languages = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;

const i18n = setupI18n();

const files = import.meta.glob<{ default: Messages }>('../messages/*.json');
const loaded = new Map<string, Promise<void>>();

function preferred(): Language {
  const stored = localStorage.getItem('magpie-language');
  const wanted = [...(stored ? [stored] : []), ...navigator.languages].map((tag) => tag.split('-')[0]);
  return (wanted.find((tag) => tag && tag in languages) as Language | undefined) ?? 'en';
}

export const language: Language = preferred();
document.documentElement.lang = language;
i18n.load(language, {});
i18n.activate(language);

// setLanguage remembers the language, or with null that of the browser, and shows the dashboard in it.
export function setLanguage(next: Language | null) {
  if (next) localStorage.setItem('magpie-language', next);
  else localStorage.removeItem('magpie-language');
  if (preferred() !== language) window.location.reload();
}

// loadMessages loads the messages of an area, once. A language that lacks the area
// shows it in English.
export function loadMessages(area: string): Promise<void> {
  let pending = loaded.get(area);
  if (!pending) {
    const load = files[`../messages/${area}.${language}.json`] ?? files[`../messages/${area}.en.json`];
    pending = load ? load().then((module) => i18n.load(language, module.default)) : Promise.reject(new Error(`no messages: ${area}`));
    loaded.set(area, pending);
  }
  return pending;
}

const words = Object.entries(import.meta.glob<{ default: Record<string, string> }>('../words/*.json'));
const loadedWords = new Map<string, Promise<void>>();

// loadWords loads the words for texts of the service, once: all, or only those of a family. A language that lacks them shows
// these texts in English.
export function loadWords(only = ''): Promise<unknown> {
  const wanted = words.filter(([path]) => path.includes(`/${only}`) && path.endsWith(`.${language}.json`));
  return Promise.all(
    wanted.map(([path, load]) => {
      const family = path.replace(/.*\/|\..*/g, '');
      const pending = loadedWords.get(path) ?? load().then((module) => addWords(family, module.default));
      loadedWords.set(path, pending);
      return pending;
    }),
  );
}

// t returns the text of a key, with values.
export function t(key: Keys, values?: Record<string, string | number>): string {
  return i18n._(key, values);
}

// tValue returns the text of a key that is made from a value of the service, such as the name of a status, or fallback
// if there is none.
export function tValue(key: string, fallback: string): string {
  return i18n.messages[key] === undefined ? fallback : i18n._(key);
}

// Dates and numbers in the person's language and time zone.
export function formatTime(value: string | number | Date): string {
  return new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone: timeZone() }).format(new Date(value));
}

export function formatDate(value: string | number | Date): string {
  return new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: timeZone() }).format(new Date(value));
}

// formatDay returns a day such as 2026-01-31, which is in no time zone, without its year.
export function formatDay(day: string): string {
  return new Intl.DateTimeFormat(language, { month: 'short', day: 'numeric', timeZone: 'UTC' }).format(new Date(day));
}

export function formatNumber(value: number, digits = 0): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value);
}

export function formatPercent(value: number, digits = 0): string {
  return new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: digits }).format(value);
}

// formatBytes returns a size such as 3.4 MB.
export function formatBytes(value: number): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit: units[power],
    unitDisplay: power === 0 ? 'long' : 'short', // the short form has no plural of byte
    maximumFractionDigits: power === 0 ? 0 : 1,
  }).format(value / 1000 ** power);
}

// formatAgo returns a distance in time such as "3 hours ago" or "in 2 days".
export function formatAgo(value: string | number | Date, now = Date.now()): string {
  const seconds = (new Date(value).getTime() - now) / 1000;
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  for (const [unit, size] of [
    ['year', 31_557_600],
    ['month', 2_629_800],
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ] as const) {
    if (Math.abs(seconds) >= size) return format.format(Math.trunc(seconds / size), unit);
  }
  return format.format(Math.trunc(seconds), 'second');
}

// formatDuration returns a span such as "1 h 4 min".
export function formatDuration(seconds: number): string {
  const unit = (n: number, name: string) =>
    new Intl.NumberFormat(language, {
      style: 'unit',
      unit: name,
      unitDisplay: 'short',
      maximumFractionDigits: n < 10 && name === 'second' ? 1 : 0,
    }).format(n);
  if (seconds < 60) return unit(seconds, 'second');
  if (seconds < 3600) return `${unit(Math.floor(seconds / 60), 'minute')} ${unit(Math.floor(seconds % 60), 'second')}`;
  if (seconds < 86_400) return `${unit(Math.floor(seconds / 3600), 'hour')} ${unit(Math.floor((seconds % 3600) / 60), 'minute')}`;
  return `${unit(Math.floor(seconds / 86_400), 'day')} ${unit(Math.floor((seconds % 86_400) / 3600), 'hour')}`;
}
