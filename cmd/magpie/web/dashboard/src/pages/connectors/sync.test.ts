import { describe, expect, it } from 'vitest';
import { rate, remaining, type Sample, sampled } from './sync';

describe('the rate of a sync', () => {
  it('is that of the last 30 seconds', () => {
    let samples: Sample[] = [];
    for (const [at, items] of [
      [0, 0],
      [10_000, 1000],
      [40_000, 1300],
    ] as const)
      samples = sampled(samples, { at, items });
    expect(samples).toHaveLength(2);
    expect(rate(samples)).toBe(10);
    expect(remaining(10, 1500, 1300)).toBe(20);
  });
  it('is unknown without two samples, and without news', () => {
    expect(rate([{ at: 0, items: 4 }])).toBeNull();
    expect(
      rate([
        { at: 0, items: 4 },
        { at: 5000, items: 4 },
      ]),
    ).toBeNull();
    expect(remaining(null, 10, 1)).toBeNull();
    expect(remaining(2, null, 1)).toBeNull();
  });
});
