// The state of the page of statistics in the address.

import { day, oneOf, text } from '../../app/params';
import type { QueryKind } from '../../gql/schema';

export const spans = [7, 30, 90] as const;

export const lists = ['topQueries', 'zeroResultQueries', 'lowScoreQueries', 'unclickedQueries'] as const;

export interface AnalyticsSearch {
  days?: (typeof spans)[number];
  // Days of a custom span, YYYY-MM-DD.
  from?: string;
  to?: string;
  collection?: string;
  key?: string;
  kind?: QueryKind;
  // The list of questions that is shown.
  list?: (typeof lists)[number];
}

export function analyticsSearch(search: Record<string, unknown>): AnalyticsSearch {
  const from = day(search.from);
  const to = day(search.to);
  return {
    days: spans.find((days) => days === search.days),
    ...(from && to && from <= to ? { from, to } : {}),
    collection: text(search.collection, 100),
    key: text(search.key, 100),
    kind: oneOf(search.kind, ['SEARCH', 'CHAT']),
    list: oneOf(search.list, lists),
  };
}

const dayLength = 86_400_000;
const start = (time: number) => `${new Date(time).toISOString().slice(0, 10)}T00:00:00Z`;

// spanOf returns the first and last days of the span, in UTC as the service counts, and of the one before with as many.
export function spanOf({ days = 30, from, to }: Pick<AnalyticsSearch, 'days' | 'from' | 'to'>, now = Date.now()) {
  const last = to ? Date.parse(to) : now;
  const length = from && to ? (Date.parse(to) - Date.parse(from)) / dayLength + 1 : days;
  const back = (n: number) => start(last - n * dayLength);
  return { from: back(length - 1), to: back(0), beforeFrom: back(2 * length - 1), beforeTo: back(length) };
}
