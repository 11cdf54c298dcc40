import { Button, Checkbox, Group, Loader, Table, Text } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { t } from '../i18n';
import { ProblemNotice } from './Problem';
import { pageOf, rowAfter } from './rowKeys';
import type { Paged } from './usePaged';
import { useWindowed } from './useWindowed';

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

// DataTable shows a list that is read page by page. The arrow keys, Home, End, PageUp and PageDown move between rows, of
// which Tab reaches one; Enter opens it, the space bar selects it. Above 200 rows only those in view are in the page.
export function DataTable<N>({ label, columns, list, rowKey, onOpen, empty, selected, onSelect }: Props<N>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const { rows } = list;
  const isVirtual = rows.length > virtualFrom;
  const [active, setActive] = useState(0);
  const { pieces, measure } = useWindowed({ body, count: rows.length, enabled: isVirtual, kept: active });
  // The row that gets the focus as soon as it is in the page.
  const wanted = useRef<number | null>(null);
  const rowAt = (index: number) => body.current?.querySelector<HTMLElement>(`:scope > [data-index="${index}"]`);
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    rowAt(wanted.current)?.focus();
    wanted.current = null;
  });
  if (list.error && rows.length === 0) return <ProblemNotice error={list.error} retry={list.reload} />;
  if (list.loading) return <Loader aria-label={t('common.loading')} />;
  if (rows.length === 0 && empty) return empty;
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    onSelect?.(next);
  };
  const onKey = (event: KeyboardEvent<HTMLTableRowElement>, row: N, index: number) => {
    if (event.target !== event.currentTarget) return;
    const to = rowAfter(event.key, index, rows.length, pageOf(event.currentTarget));
    if (to !== null) {
      event.preventDefault();
      wanted.current = to;
      setActive(to);
      if (to === index) wanted.current = null;
    } else if (event.key === 'Enter' && onOpen) onOpen(row);
    else if (event.key === ' ' && selected) {
      toggle(rowKey(row));
      event.preventDefault();
    }
  };
  const reached = Math.min(active, rows.length - 1);
  const known = list.total ?? (list.hasMore ? null : rows.length);
  return (
    <>
      <Table.ScrollContainer minWidth={0} type="native">
        <Table aria-label={label} stickyHeader={false} aria-rowcount={known === null ? -1 : known + 1}>
          <Table.Thead>
            <Table.Tr aria-rowindex={1}>
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
            {pieces.map((piece) => {
              if ('height' in piece) return <tr key={piece.key} aria-hidden style={{ height: piece.height }} />;
              const { index } = piece;
              const row = rows[index] as N;
              const id = rowKey(row);
              return (
                <Table.Tr
                  key={id}
                  ref={measure}
                  data-index={index}
                  aria-rowindex={index + 2}
                  aria-selected={selected ? selected.has(id) : undefined}
                  className={onOpen ? 'row' : 'reached'}
                  tabIndex={index === reached ? 0 : -1}
                  onFocus={() => setActive(index)}
                  onKeyDown={(event) => onKey(event, row, index)}
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
