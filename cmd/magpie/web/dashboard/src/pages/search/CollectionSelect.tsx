import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { SearchCollectionNameDocument, SearchCollectionsDocument } from './search.gql';

interface Props extends Omit<SelectProps, 'data' | 'value' | 'onChange'> {
  value: string | undefined;
  onChange: (id: string | undefined) => void;
}

// CollectionSelect chooses one collection, or all. It finds collections by name, since there may be many.
export function CollectionSelect({ value, onChange, ...props }: Props) {
  const [typed, setTyped] = useState('');
  const [matching] = useDebouncedValue(typed.trim(), 200);
  const [{ data }] = useQuery({ query: SearchCollectionsDocument, variables: { matching: null } });
  const many = data !== undefined && data.collections.totalCount > 50;
  const [{ data: matches }] = useQuery({ query: SearchCollectionsDocument, variables: { matching }, pause: !many || matching === '' });
  const [{ data: chosen }] = useQuery({ query: SearchCollectionNameDocument, variables: { id: value ?? '' }, pause: !value });
  const found = (many && matching ? matches : data)?.collections.edges?.flatMap((edge) => edge?.node ?? []) ?? [];
  const options = found.map(({ id, name }) => ({ value: id, label: name }));
  if (chosen && value === chosen.collection.id && !options.some((option) => option.value === value))
    options.unshift({ value, label: chosen.collection.name });
  return (
    <Select
      aria-label={t('search.collection')}
      placeholder={t('search.allCollections')}
      searchable
      selectFirstOptionOnChange
      clearable
      data={options}
      value={value ?? null}
      onChange={(id) => onChange(id ?? undefined)}
      onSearchChange={setTyped}
      nothingFoundMessage={t('search.noCollection')}
      clearButtonProps={{ 'aria-label': t('search.allCollections') }}
      comboboxProps={{ withinPortal: true }}
      {...props}
    />
  );
}
