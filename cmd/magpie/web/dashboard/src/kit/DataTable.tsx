import { Button, Checkbox, Group, Loader, Table, Text } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { t } from '../i18n';
import { ProblemNotice } from './Problem';
import type { Paged } from './usePaged';

export interface Column<N> {
  key: string;
  title: string;
  cell: (row: N) => ReactNode;
  // The least width of the window at which the column is shown; always without it.
  from?: 'xs' | 'sm' | 'md' | 'lg';
  align?: 'left' | 'right';
  width?: string;
}

interface Props<N> {
  // Names the table for screen readers.
  label: string;
  columns: Column<N>[];
  list: Paged<N>;
  rowKey: (row: N) => string;
  // Opens a row by click or Enter.
  onOpen?: (row: N) => void;
  // Stands instead of a table without rows.
  empty?: ReactNode;
  // Ids of selected rows, for tables whose rows can be selected.
  selected?: Set<string>;
  onSelect?: (selected: Set<string>) => void;
}

const virtualFrom = 200; // rows

// DataTable shows a list that is read page by page. The arrow keys move between rows, Enter opens one, the space bar
// selects it. Above 200 rows only those in view are in the page.
export function DataTable<N>({ label, columns, list, rowKey, onOpen, empty, selected, onSelect }: Props<N>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [offset, setOffset] = useState(0);
  const { rows } = list;
  const isVirtual = rows.length > virtualFrom;
  useLayoutEffect(() => {
    if (isVirtual && body.current) setOffset(body.current.getBoundingClientRect().top + window.scrollY);
  }, [isVirtual]);
  const virtualizer = useVirtualizer({
    count: rows.length,
    enabled: isVirtual,
    estimateSize: () => 42,
    overscan: 20,
    getScrollElement: () => document.scrollingElement as HTMLElement,
    scrollMargin: offset,
  });
  if (list.error && rows.length === 0) return <ProblemNotice error={list.error} retry={list.reload} />;
  if (list.loading) return <Loader aria-label={t('common.loading')} />;
  if (rows.length === 0 && empty) return empty;
  const items = isVirtual ? virtualizer.getVirtualItems() : null;
  const shown = items ? items.map(({ index }) => rows[index] as N) : rows;
  const first = items?.[0]?.index ?? 0;
  const top = items?.[0] ? items[0].start - offset : 0;
  const last = items?.at(-1);
  const bottom = last ? virtualizer.getTotalSize() + offset - last.end : 0;
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    onSelect?.(next);
  };
  const onKey = (event: KeyboardEvent<HTMLTableRowElement>, row: N) => {
    if (event.target !== event.currentTarget) return;
    const move = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' } as const;
    if (event.key in move) {
      (event.currentTarget[move[event.key as keyof typeof move]] as HTMLElement | null)?.focus();
      event.preventDefault();
    } else if (event.key === 'Enter' && onOpen) onOpen(row);
    else if (event.key === ' ' && selected) {
      toggle(rowKey(row));
      event.preventDefault();
    }
  };
  const interactive = onOpen !== undefined || selected !== undefined;
  return (
    <>
      <Table.ScrollContainer minWidth={0} type="native">
        <Table aria-label={label} stickyHeader={false} aria-rowcount={list.total ?? undefined}>
          <Table.Thead>
            <Table.Tr>
              {selected && (
                <Table.Th w="2.5rem">
                  <Checkbox
                    aria-label={t('common.selectAll')}
                    checked={selected.size > 0 && selected.size === rows.length}
                    indeterminate={selected.size > 0 && selected.size < rows.length}
                    onChange={() => onSelect?.(selected.size === rows.length ? new Set() : new Set(rows.map(rowKey)))}
                  />
                </Table.Th>
              )}
              {columns.map(({ key, title, from, align, width }) => (
                <Table.Th key={key} visibleFrom={from} ta={align} w={width}>
                  {title}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody ref={body}>
            {top > 0 && <tr style={{ height: top }} />}
            {shown.map((row, n) => {
              const id = rowKey(row);
              return (
                <Table.Tr
                  key={id}
                  aria-rowindex={isVirtual ? first + n + 2 : undefined}
                  aria-selected={selected ? selected.has(id) : undefined}
                  className={onOpen ? 'row' : undefined}
                  tabIndex={interactive ? 0 : undefined}
                  onKeyDown={interactive ? (event) => onKey(event, row) : undefined}
                  onClick={
                    onOpen
                      ? (event) => {
                          if (!(event.target as HTMLElement).closest('a, button, input, label')) onOpen(row);
                        }
                      : undefined
                  }
                >
                  {selected && (
                    <Table.Td>
                      <Checkbox aria-label={t('common.select')} checked={selected.has(id)} onChange={() => toggle(id)} />
                    </Table.Td>
                  )}
                  {columns.map(({ key, cell, from, align }) => (
                    <Table.Td key={key} visibleFrom={from} ta={align} className="wrap">
                      {cell(row)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              );
            })}
            {bottom > 0 && <tr style={{ height: bottom }} />}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Group justify="space-between">
        <Text size="xs" c="dimmed" role="status">
          {list.total === null ? t('common.rows', { count: rows.length }) : t('common.rowsOf', { count: rows.length, total: list.total })}
        </Text>
        {list.hasMore && (
          <Button variant="default" size="xs" onClick={list.more} loading={list.fetching}>
            {t('common.more')}
          </Button>
        )}
      </Group>
      {list.error && <ProblemNotice error={list.error} retry={list.reload} />}
    </>
  );
}
