import { describe, expect, it } from 'vitest';
import { piecesOf } from './useWindowed';

const item = (index: number) => ({ index, start: 100 + index * 40, end: 140 + index * 40 });

describe('the pieces of a long list', () => {
  it('have gaps of the height of what is left out', () => {
    expect(piecesOf([item(0), item(5), item(6), item(9)], 100, 100 + 20 * 40)).toEqual([
      { index: 0 },
      { key: 'before 5', height: 160 },
      { index: 5 },
      { index: 6 },
      { key: 'before 9', height: 80 },
      { index: 9 },
      { key: 'after', height: 400 },
    ]);
  });
  it('have none where nothing is left out', () => {
    expect(piecesOf([item(0), item(1)], 100, 180)).toEqual([{ index: 0 }, { index: 1 }]);
  });
});
