import { describe, expect, it } from 'vitest';
import { rowAfter } from './rowKeys';

describe('keys in a table', () => {
  it('move by a row, by a page, and to the ends', () => {
    const from = (key: string) => rowAfter(key, 50, 1000, 20);
    expect(['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End'].map(from)).toEqual([51, 49, 70, 30, 0, 999]);
    expect(from('a')).toBeNull();
  });
  it('stay in the table', () => {
    expect(rowAfter('ArrowUp', 0, 3, 20)).toBe(0);
    expect(rowAfter('PageUp', 2, 3, 20)).toBe(0);
    expect(rowAfter('PageDown', 1, 3, 20)).toBe(2);
  });
});
