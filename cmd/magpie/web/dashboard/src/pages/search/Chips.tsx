import { Button, Group, Pill } from '@mantine/core';
import { formatDate, t } from '../../i18n';
import { nameOf } from './Facets';
import { cleared, isFiltered, listNames, lists, type SearchState, toggled } from './state';
import type { Search } from './useSearch';

interface Props {
  state: SearchState;
  facets: NonNullable<Search['found']>['first']['facets'] | undefined;
  onChange: (change: Partial<SearchState>) => void;
}

// Chips are the filters that are set, each with a button that removes it.
export function Chips({ state, facets, onChange }: Props) {
  if (!isFiltered(state)) return null;
  const labelOf = (name: (typeof listNames)[number], value: string) =>
    nameOf(name, facets?.find((facet) => facet.name === lists[name].field)?.values.find((one) => one.value === value)?.label ?? value);
  const chips = listNames.flatMap((name) =>
    (state[name] ?? []).map((value) => ({
      key: `${name}:${value}`,
      label: `${t(`search.field.${name}`)}: ${labelOf(name, value)}`,
      change: toggled(state, name, value),
    })),
  );
  const also = (key: 'span' | 'from' | 'until', label: string) =>
    chips.push({ key, label, change: { [key]: undefined, pages: undefined } });
  if (state.span) also('span', t(`search.span.${state.span}`));
  if (state.from) also('from', `${t('search.from')}: ${formatDate(`${state.from}T12:00`)}`);
  if (state.until) also('until', `${t('search.until')}: ${formatDate(`${state.until}T12:00`)}`);
  return (
    <Group gap="xs" role="group" aria-label={t('search.filters')}>
      {chips.map(({ key, label, change }) => (
        <Pill
          key={key}
          size="md"
          withRemoveButton
          onRemove={() => onChange(change)}
          removeButtonProps={{ 'aria-label': t('search.removeFilter', { filter: label }), 'aria-hidden': false, tabIndex: 0 }}
        >
          {label}
        </Pill>
      ))}
      <Button size="compact-xs" variant="subtle" onClick={() => onChange(cleared())}>
        {t('search.clearFilters')}
      </Button>
    </Group>
  );
}
