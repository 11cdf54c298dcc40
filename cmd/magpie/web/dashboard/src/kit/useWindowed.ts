import { defaultRangeExtractor, useWindowVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useLayoutEffect, useState } from 'react';

// Piece is what is in the page of a long list: an item, or a gap in place of items.
export type Piece = { index: number } | { key: string; height: number };

// piecesOf puts gaps before, between and after items, which are in their order.
export function piecesOf(items: { index: number; start: number; end: number }[], from: number, to: number): Piece[] {
  const pieces: Piece[] = [];
  let at = from;
  const gap = (next: number, key: string) => {
    if (next > at) pieces.push({ key, height: next - at });
  };
  for (const { index, start, end } of items) {
    gap(start, `before ${index}`);
    pieces.push({ index });
    at = end;
  }
  gap(to, 'after');
  return pieces;
}

interface Options {
  // Holds the items.
  body: RefObject<HTMLElement | null>;
  count: number;
  // Whether items out of view are left out.
  enabled: boolean;
  // An item that is in the page in any case, such as the one with the focus.
  kept: number;
  // The height of an item that has not been shown, in pixels.
  height?: number;
  // How many items above and below the window are in the page.
  overscan?: number;
}

// useWindowed returns what of a long list is in the page as the window scrolls, and the ref of its items, whose elements
// have their index as data-index.
export function useWindowed({ body, count, enabled, kept, height = 42, overscan = 20 }: Options) {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    if (!enabled || !body.current) return;
    const now = body.current.getBoundingClientRect().top + window.scrollY;
    if (Math.abs(now - top) > 1) setTop(now);
  });
  const virtualizer = useWindowVirtualizer({
    count,
    enabled,
    estimateSize: () => height,
    overscan,
    scrollMargin: top,
    rangeExtractor: (range) => {
      const shown = defaultRangeExtractor(range);
      return kept < 0 || kept >= count || shown.includes(kept) ? shown : [...shown, kept].sort((a, b) => a - b);
    },
  });
  const pieces: Piece[] = enabled
    ? piecesOf(virtualizer.getVirtualItems(), top, top + virtualizer.getTotalSize())
    : Array.from({ length: count }, (_, index) => ({ index }));
  return { pieces, measure: enabled ? virtualizer.measureElement : undefined };
}
