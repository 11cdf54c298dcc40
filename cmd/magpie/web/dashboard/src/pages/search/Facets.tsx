import { Anchor, Checkbox, Group, Radio, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { formatNumber, t, tValue } from '../../i18n';
import { isFiltered, type ListName, listNames, lists, type SearchState, type Span, spans, toggled } from './state';
import type { Search } from './useSearch';

type Facet = NonNullable<NonNullable<Search['found']>['first']['facets']>[number];

interface Props {
  state: SearchState;
  facets: Facet[];
  onChange: (change: Partial<SearchState>) => void;
}

const few = 6; // values of a field before "more"

// Facets are the fields by whose values the results can be narrowed, with the number of documents of each value.
export function Facets({ state, facets, onChange }: Props) {
  const byField = new Map(facets.map((facet) => [facet.name, facet]));
  const shown = listNames.flatMap((name) => {
    const facet = byField.get(lists[name].field);
    const chosen = state[name];
    // A field with one value divides nothing.
    return facet && (facet.values.length > 1 || chosen) ? [{ name, facet }] : [];
  });
  const date = byField.get('DATE');
  if (shown.length === 0 && !date?.documents && !isFiltered(state))
    return (
      <Text size="sm" c="dimmed">
        {t('search.noFacets')}
      </Text>
    );
  return (
    <Stack gap="lg">
      {shown.map(({ name, facet }) => (
        <FacetField
          key={name}
          name={name}
          facet={facet}
          chosen={state[name] ?? []}
          onToggle={(value) => onChange(toggled(state, name, value))}
        />
      ))}
      <Dates state={state} facet={date} onChange={onChange} />
    </Stack>
  );
}

function FacetField({
  name,
  facet,
  chosen,
  onToggle,
}: {
  name: ListName;
  facet: Facet;
  chosen: string[];
  onToggle: (value: string) => void;
}) {
  const [all, setAll] = useState(false);
  const values = facet.values.filter(({ value }, n) => all || n < few || chosen.includes(value));
  return (
    <Checkbox.Group
      label={t(`search.field.${name}`)}
      value={chosen}
      // A click changes exactly one value.
      onChange={(next) => {
        const changed = [...next.filter((value) => !chosen.includes(value)), ...chosen.filter((value) => !next.includes(value))][0];
        if (changed !== undefined) onToggle(changed);
      }}
    >
      <Stack gap={10} mt={8}>
        {values.map(({ value, label, count }) => (
          <Checkbox
            key={value}
            size="xs"
            value={value}
            label={<Counted label={nameOf(name, label)} count={count} />}
            styles={{ body: { alignItems: 'center' }, labelWrapper: { flex: 1, minWidth: 0 } }}
          />
        ))}
        {facet.values.length > few && (
          <Anchor component="button" type="button" size="xs" onClick={() => setAll(!all)} aria-expanded={all} ta="left">
            {all ? t('search.fewerValues') : t('search.moreValues', { count: facet.values.length - few })}
          </Anchor>
        )}
        {all && facet.otherCount > 0 && (
          <Text size="xs" c="dimmed">
            {t('search.otherValues', { count: facet.distinct - facet.values.length })}
          </Text>
        )}
      </Stack>
    </Checkbox.Group>
  );
}

// nameOf returns a value as people call it: types of documents and kinds of sources have names of their own.
export function nameOf(name: ListName, label: string): string {
  if (name === 'type' || name === 'source') return tValue(`search.${name}.${label}`, label.replaceAll('_', ' '));
  return label;
}

function Counted({ label, count }: { label: string; count: number }) {
  return (
    <Group justify="space-between" wrap="nowrap" gap="xs" component="span">
      <span className="wrap">{label}</span>
      <Text span size="xs" c="dimmed">
        {formatNumber(count)}
      </Text>
    </Group>
  );
}

function Dates({ state, facet, onChange }: { state: SearchState; facet: Facet | undefined; onChange: Props['onChange'] }) {
  const counts = new Map(facet?.values.map(({ value, count }) => [value, count]));
  const choices = (Object.keys(spans) as Span[]).filter((span) => counts.get(span) || state.span === span);
  const change = (part: Partial<SearchState>) => onChange({ ...part, pages: undefined, show: undefined });
  return (
    <Stack gap="xs">
      {choices.length > 0 && (
        <Radio.Group
          label={t('search.field.date')}
          value={state.span ?? ''}
          onChange={(value) => change({ span: (value || undefined) as Span | undefined })}
        >
          <Stack gap={10} mt={8}>
            <Radio size="xs" value="" label={t('search.span.any')} />
            {choices.map((span) => (
              <Radio
                key={span}
                size="xs"
                value={span}
                label={<Counted label={t(`search.span.${span}`)} count={counts.get(span) ?? 0} />}
                styles={{ labelWrapper: { flex: 1 } }}
              />
            ))}
          </Stack>
        </Radio.Group>
      )}
      <TextInput
        type="date"
        size="xs"
        label={t('search.from')}
        value={state.from ?? ''}
        max={state.until}
        onChange={(event) => change({ from: event.currentTarget.value || undefined })}
      />
      <TextInput
        type="date"
        size="xs"
        label={t('search.until')}
        value={state.until ?? ''}
        min={state.from}
        onChange={(event) => change({ until: event.currentTarget.value || undefined })}
      />
    </Stack>
  );
}
