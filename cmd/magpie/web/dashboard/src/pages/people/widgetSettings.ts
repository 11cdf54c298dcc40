// The attributes of the widget's script element (docs/widget.md).

export const modes = ['both', 'search', 'chat'] as const;
export const themes = ['auto', 'light', 'dark'] as const;

// The texts of the widget, except the title and the placeholder, which have attributes of their own.
export const labelNames = [
  'open',
  'search',
  'ask',
  'askPlaceholder',
  'askFollowUp',
  'empty',
  'askEmpty',
  'noResultsHint',
  'more',
  'send',
  'close',
  'restart',
  'sources',
  'followUp',
  'clear',
  'results',
  'oneResult',
  'manyResults',
  'someResults',
  'corrected',
  'noResults',
  'askAbout',
  'complete',
  'copies',
  'searching',
  'conversation',
  'you',
  'answer',
  'answering',
  'stop',
  'stopped',
  'source',
  'newTab',
  'untitled',
  'hintMove',
  'hintOpen',
  'hintClose',
  'again',
  'errorHost',
  'errorCollection',
  'errorKey',
  'errorExpired',
  'errorRate',
  'errorRateOne',
  'errorQuota',
  'errorNetwork',
  'errorUnavailable',
  'errorInvalid',
  'errorOther',
  'errorNumber',
  'version',
  'allVersions',
  'helpful',
  'unhelpful',
  'thanks',
] as const;
export type LabelName = (typeof labelNames)[number];

// The filters of every search of the widget. Several tags or kinds have commas between them.
export const filterNames = ['section', 'version', 'tags', 'doc_types', 'language', 'date_after', 'date_before'] as const;
export type FilterName = (typeof filterNames)[number];
const lists: readonly FilterName[] = ['tags', 'doc_types'];

// The languages in which the widget has texts.
export const languages = {
  en: 'English',
  de: 'Deutsch',
  es: 'Español',
  fr: 'Français',
  it: 'Italiano',
  ja: '日本語',
  nl: 'Nederlands',
  pl: 'Polski',
  pt: 'Português',
  zh: '中文',
};

export interface WidgetSettings {
  collection?: string;
  filters?: Partial<Record<FilterName, string>>;
  // Versions to choose from, with commas between them, or auto.
  versions?: string;
  // The name of the widget, if a page has several.
  name?: string;
  mode?: (typeof modes)[number];
  theme?: (typeof themes)[number];
  accent?: string;
  // False removes the button in the corner.
  button?: boolean;
  // Undefined for mod+k; empty for none.
  hotkey?: string;
  title?: string;
  placeholder?: string;
  lang?: string;
  labels?: Partial<Record<LabelName, string>>;
  minScore?: number;
  // Where Magpie is, if the script comes from elsewhere.
  baseUrl?: string;
}

const text = (value: unknown, most = 200) => (typeof value === 'string' && value !== '' ? value.slice(0, most) : undefined);

// texts reads those values of an address that have names; undefined for none.
function texts<N extends string>(names: readonly N[], value: unknown, most: number): Partial<Record<N, string>> | undefined {
  const given = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const found = names.flatMap((name) => (text(given[name], most) ? [[name, text(given[name], most)]] : []));
  return found.length > 0 ? (Object.fromEntries(found) as Partial<Record<N, string>>) : undefined;
}

// widgetSettings reads settings of an address; what is invalid is left out.
export function widgetSettings(search: Record<string, unknown>): WidgetSettings {
  const score = Number(search.minScore ?? Number.NaN);
  return {
    collection: text(search.collection),
    filters: texts(filterNames, search.filters, 200),
    versions: text(search.versions, 400),
    name: text(search.name),
    mode: modes.find((one) => one === search.mode && one !== 'both'),
    theme: themes.find((one) => one === search.theme && one !== 'auto'),
    accent: isColor(search.accent) ? search.accent : undefined,
    button: search.button === false ? false : undefined,
    hotkey: typeof search.hotkey === 'string' ? search.hotkey.slice(0, 100) : undefined,
    title: text(search.title),
    placeholder: text(search.placeholder),
    lang: text(search.lang, 35),
    labels: texts(labelNames, search.labels, 400),
    minScore: score >= 0 && score <= 1 ? score : undefined,
    baseUrl: isAddress(search.baseUrl) ? search.baseUrl : undefined,
  };
}

// isColor reports whether the widget takes a value as a colour.
export function isColor(value: unknown): value is string {
  return typeof value === 'string' && /^#(?:[\da-f]{3}|[\da-f]{6})$/i.test(value);
}

// isAddress reports whether a value is an address that the widget can send its requests to.
export const isAddress = (value: unknown): value is string =>
  typeof value === 'string' && /^https?:\/\/[^\s/]+/.test(value) && URL.canParse(value);

const parts = (list: string) =>
  list
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

// attributes returns the attributes of the script element by the names of its dataset. Defaults are left out.
export function attributes(settings: WidgetSettings): Record<string, string> {
  const labels = Object.entries(settings.labels ?? {}).filter(([, label]) => label !== '');
  const filters = filterNames.flatMap((name) => {
    const value = settings.filters?.[name]?.trim();
    return value ? [[name, lists.includes(name) ? parts(value) : value]] : [];
  });
  const all: Record<string, string | undefined> = {
    collection: settings.collection,
    filters: filters.length > 0 ? JSON.stringify(Object.fromEntries(filters)) : undefined,
    versions: parts(settings.versions ?? '').join(',') || undefined,
    name: settings.name,
    mode: settings.mode === 'both' ? undefined : settings.mode,
    theme: settings.theme === 'auto' ? undefined : settings.theme,
    accent: isColor(settings.accent) ? settings.accent : undefined,
    button: settings.button === false ? 'false' : undefined,
    hotkey: settings.hotkey,
    title: settings.title,
    placeholder: settings.placeholder,
    lang: settings.lang,
    labels: labels.length > 0 ? JSON.stringify(Object.fromEntries(labels)) : undefined,
    minScore: settings.minScore === undefined ? undefined : String(settings.minScore),
    baseUrl: isAddress(settings.baseUrl) ? settings.baseUrl : undefined,
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

// line returns the script element that a page needs.
export function line(base: string, key: string, settings: WidgetSettings): string {
  const quoted = (value: string) => `"${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')}"`;
  const given = Object.entries({ key, ...attributes(settings) }).map(
    ([name, value]) => `data-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}=${quoted(value)}`,
  );
  const element = [`<script src=${quoted(`${base}/widget.js`)}`, ...given];
  return `${element.join(given.length > 2 ? '\n  ' : ' ')} defer></script>`;
}
