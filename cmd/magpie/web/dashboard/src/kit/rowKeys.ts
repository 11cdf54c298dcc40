// The keys that move between the rows of tables.
import type { KeyboardEvent } from 'react';

// rowAfter returns the row that a key leads to from the row at an index; null for other keys. page is how many rows fit in
// the window.
export function rowAfter(key: string, at: number, count: number, page: number): number | null {
  const to: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: count - 1,
  };
  const wanted = to[key];
  return wanted === undefined ? null : Math.max(0, Math.min(count - 1, wanted));
}

// pageOf returns how many rows as high as one fit in the window.
export function pageOf(row: HTMLElement): number {
  return Math.max(1, Math.floor((window.innerHeight * 0.8) / Math.max(1, row.offsetHeight)));
}

// moveBetweenRows is the handler of keys of a table's body all of whose rows are in the page. Rows with a tab index are
// moved between; the first has 0 and the others -1.
export function moveBetweenRows(event: KeyboardEvent<HTMLTableSectionElement>) {
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>(':scope > tr[tabindex]')];
  const at = rows.indexOf(event.target as HTMLElement);
  if (at < 0) return;
  const to = rowAfter(event.key, at, rows.length, pageOf(rows[at] as HTMLElement));
  if (to === null) return;
  event.preventDefault();
  rows[to]?.focus();
}
