import { describe, expect, it } from 'vitest';
import { csv } from '../../kit/csv';
import { spanOf } from './span';

describe('CSV', () => {
  it('quotes what needs it, and no text becomes a formula', () => {
    expect(
      csv([
        ['a', 'b,"c"'],
        [1.5, '=1+1'],
        [-2, null],
        ['@x', 'two\nlines'],
      ]),
    ).toBe('a,"b,""c"""\r\n1.5,\'=1+1\r\n-2,\r\n\'@x,"two\nlines"\r\n');
  });
});

describe('a span', () => {
  const now = Date.parse('2026-11-28T23:30:00Z');
  it('ends today, and the one before has as many days', () => {
    expect(spanOf({ days: 7 }, now)).toEqual({
      from: '2026-11-22T00:00:00Z',
      to: '2026-11-28T00:00:00Z',
      beforeFrom: '2026-11-15T00:00:00Z',
      beforeTo: '2026-11-21T00:00:00Z',
    });
  });
  it('may be given by its days', () => {
    expect(spanOf({ from: '2026-03-01', to: '2026-03-01' }, now)).toEqual({
      from: '2026-03-01T00:00:00Z',
      to: '2026-03-01T00:00:00Z',
      beforeFrom: '2026-02-28T00:00:00Z',
      beforeTo: '2026-02-28T00:00:00Z',
    });
  });
});
