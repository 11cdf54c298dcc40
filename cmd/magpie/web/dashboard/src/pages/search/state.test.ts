import { describe, expect, it } from 'vitest';
import { filtersOf, inputOf, isFiltered, readState, toggled } from './state';

describe('the state of a search', () => {
  it('is read from an address, whose unknown parts are left out', () => {
    const state = readState({
      q: 2024,
      tag: 'a',
      section: ['x', 'x', 'y'],
      min: '0.3',
      span: 'yesterday',
      from: '1.2.2025',
      pages: 1,
      view: 'why',
    });
    expect(state).toMatchObject({ q: '2024', tag: ['a'], section: ['x', 'y'], min: 0.3, view: 'why' });
    expect([state.span, state.from, state.pages, state.missing]).toEqual([undefined, undefined, undefined, undefined]);
    expect(readState({ missing: '' }).missing).toBe('');
  });
  it('becomes filters', () => {
    const now = Date.parse('2026-03-10T12:00:00Z');
    expect(filtersOf({ q: 'a' }, now)).toBeUndefined();
    expect(filtersOf({ tag: ['a'], in: ['c'], span: 'last_7d' }, now)).toEqual({
      tags: ['a'],
      collections: ['c'],
      changedFrom: '2026-03-03T12:00:00.000Z',
    });
    expect(filtersOf({ span: 'older', until: '2026-01-01' }, now)).toEqual({
      dateBefore: '2026-01-01',
      changedUntil: '2025-03-10T12:00:00.000Z',
    });
    expect(isFiltered({ q: 'a', min: 0.3 })).toBe(false);
    expect(isFiltered({ until: '2026-01-01' })).toBe(true);
  });
  it('counts facets on the first page only', () => {
    expect(inputOf({}, 'a', 0).facets).toBeDefined();
    expect(inputOf({}, 'a', 0, { page: 2 })).toMatchObject({ offset: 40, facets: undefined });
  });
  it('gets and loses values of a filter', () => {
    expect(toggled({ tag: ['a'] }, 'tag', 'b').tag).toEqual(['a', 'b']);
    expect(toggled({ tag: ['a'] }, 'tag', 'a').tag).toBeUndefined();
  });
});
