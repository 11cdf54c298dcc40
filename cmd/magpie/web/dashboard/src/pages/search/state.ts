// The state of a search as it is in the address, and the input of the service that it stands for.
import { oneOf } from '../../app/params';
import type { SearchFacetsInput, SearchField, SearchFilters, SearchInput } from '../../gql/schema';

// The fields of facets by whose values one can filter, with their names in the address and in the filters.
export const lists = {
  section: { field: 'SECTION', filter: 'sections' },
  version: { field: 'VERSION', filter: 'versions' },
  tag: { field: 'TAGS', filter: 'tags' },
  type: { field: 'DOC_TYPE', filter: 'docTypes' },
  language: { field: 'LANGUAGE', filter: 'languages' },
  in: { field: 'COLLECTION', filter: 'collections' },
  source: { field: 'SOURCE', filter: 'sources' },
  connector: { field: 'CONNECTOR', filter: 'connectors' },
} as const satisfies Record<string, { field: SearchField; filter: keyof SearchFilters }>;

export type ListName = keyof typeof lists;
export const listNames = Object.keys(lists) as ListName[];

// Spans of time by how many days ago they begin; "older" ends where the last one begins.
export const spans = { last_24h: 1, last_7d: 7, last_30d: 30, last_90d: 90, last_year: 365, older: 365 } as const;
export type Span = keyof typeof spans;

export const views = ['passage', 'why', 'readers'] as const;
export type View = (typeof views)[number];

export interface SearchState extends Partial<Record<ListName, string[]>> {
  q?: string;
  // One collection: nothing else is searched.
  collection?: string;
  min?: number;
  span?: Span;
  // Days, YYYY-MM-DD.
  from?: string;
  until?: string;
  // How many pages of results are shown; one without it.
  pages?: number;
  // The result whose preview is open, and which part of it.
  show?: string;
  view?: View;
  // The document about which "why is it not found" asks; empty while its form is empty.
  missing?: string;
  // For whom it asks.
  as?: string;
}

export const pageSize = 20;
const maxPages = 50; // a search ranks at most 1,000 passages

// text reads a text of the address, whose numbers arrive as numbers.
export function text(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function texts(value: unknown): string[] | undefined {
  const found = (Array.isArray(value) ? value : [value]).flatMap((one) => text(one) ?? []);
  return found.length > 0 ? [...new Set(found)].slice(0, 50) : undefined;
}

const day = (value: unknown) => (typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) ? value : undefined);

function number(value: unknown, least: number, most: number): number | undefined {
  const found = value === undefined || value === '' ? Number.NaN : Number(value);
  return found >= least && found <= most ? found : undefined;
}

// readState reads the address. What it does not know is left out.
export function readState(search: Record<string, unknown>): SearchState {
  const state: SearchState = {
    q: text(search.q),
    collection: text(search.collection),
    min: number(search.min, 0, 1),
    span: oneOf(search.span, Object.keys(spans) as Span[]),
    from: day(search.from),
    until: day(search.until),
    pages: number(search.pages, 2, maxPages),
    show: text(search.show),
    view: oneOf(search.view, views),
    missing: search.missing === '' ? '' : text(search.missing),
    as: text(search.as),
  };
  for (const name of listNames) state[name] = texts(search[name]);
  return state;
}

// filtersOf returns the filters of a state; undefined for none. now is the end of spans such as the last week.
export function filtersOf(state: SearchState, now: number): SearchFilters | undefined {
  const filters: SearchFilters = {};
  for (const name of listNames) {
    const values = state[name];
    if (values) filters[lists[name].filter] = values;
  }
  if (state.from) filters.dateAfter = state.from;
  if (state.until) filters.dateBefore = state.until;
  if (state.span) {
    const start = new Date(now - spans[state.span] * 86_400_000).toISOString();
    filters[state.span === 'older' ? 'changedUntil' : 'changedFrom'] = start;
  }
  return Object.keys(filters).length > 0 ? filters : undefined;
}

// inputOf returns the input of the search of one page of results.
export function inputOf(state: SearchState, query: string, now: number, { prefix = false, page = 0 } = {}): SearchInput {
  return {
    query,
    collection: state.collection,
    minScore: state.min,
    filters: filtersOf(state, now),
    limit: pageSize,
    offset: page * pageSize,
    highlight: true,
    prefix,
    facets: page === 0 ? ({ first: 30 } satisfies SearchFacetsInput['facets']) : undefined,
  };
}

// isFiltered reports whether a filter narrows the results.
export function isFiltered(state: SearchState): boolean {
  return listNames.some((name) => state[name]) || Boolean(state.span || state.from || state.until);
}

// cleared returns a change of the address that removes all filters.
export function cleared(): Partial<SearchState> {
  return {
    ...Object.fromEntries(listNames.map((name) => [name, undefined])),
    span: undefined,
    from: undefined,
    until: undefined,
    pages: undefined,
    show: undefined,
  };
}

// toggled adds a value to a filter, or removes it.
export function toggled(state: SearchState, name: ListName, value: string): Partial<SearchState> {
  const values = state[name] ?? [];
  const next = values.includes(value) ? values.filter((one) => one !== value) : [...values, value];
  return { [name]: next.length > 0 ? next : undefined, pages: undefined, show: undefined };
}
