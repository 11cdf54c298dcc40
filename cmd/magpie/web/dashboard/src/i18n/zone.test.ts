import { afterEach, describe, expect, it, vi } from 'vitest';
import { dayOf, endOf, startOf } from './zone';

let zone: string | null = null;
vi.stubGlobal('localStorage', { getItem: () => zone });
afterEach(() => {
  zone = null;
});

describe('a day in the zone of the person', () => {
  it.each([
    ['Pacific/Kiritimati', '2026-11-27T10:00:00.000Z', '2026-11-28T09:59:59.000Z'],
    ['America/New_York', '2026-11-28T05:00:00.000Z', '2026-11-29T04:59:59.000Z'],
    ['Asia/Kolkata', '2026-11-27T18:30:00.000Z', '2026-11-28T18:29:59.000Z'],
    ['UTC', '2026-11-28T00:00:00.000Z', '2026-11-28T23:59:59.000Z'],
  ])('begins and ends there: %s', (name, start, end) => {
    zone = name;
    expect([startOf('2026-11-28'), endOf('2026-11-28')]).toEqual([start, end]);
    expect([dayOf(start), dayOf(end)]).toEqual(['2026-11-28', '2026-11-28']);
    expect(dayOf(Date.parse(end) + 1000)).toBe('2026-11-29');
  });
  it('may have 23 or 25 hours', () => {
    zone = 'Europe/Berlin';
    expect([startOf('2026-03-29'), endOf('2026-03-29')]).toEqual(['2026-03-28T23:00:00.000Z', '2026-03-29T21:59:59.000Z']);
    expect([startOf('2026-10-25'), endOf('2026-10-25')]).toEqual(['2026-10-24T22:00:00.000Z', '2026-10-25T22:59:59.000Z']);
  });
  it('is none without a date', () => {
    expect([startOf(''), endOf('soon')]).toEqual([null, null]);
  });
});
