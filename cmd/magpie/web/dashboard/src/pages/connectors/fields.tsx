import { Select, TextInput } from '@mantine/core';
import { useDebouncedCallback, useDebouncedValue } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { ConnectorsCollectionNameDocument, ConnectorsCollectionsDocument } from './list.gql';

// FilterText is the field of a list's filter by text. It tells a new text after a moment without typing.
export function FilterText({ label, value, onChange }: { label: string; value: string; onChange: (text: string | undefined) => void }) {
  const [text, setText] = useState(value);
  const later = useDebouncedCallback((next: string) => onChange(next.trim() || undefined), 300);
  useEffect(() => setText(value), [value]);
  return (
    <TextInput
      label={label}
      type="search"
      value={text}
      leftSection={<Icon name="search" size={16} />}
      onChange={(event) => {
        setText(event.currentTarget.value);
        later(event.currentTarget.value);
      }}
      style={{ flex: '1 1 12rem' }}
    />
  );
}

interface CollectionProps {
  label: string;
  value: string | null;
  onChange: (id: string | null) => void;
  required?: boolean;
  clearable?: boolean;
  error?: string;
  description?: string;
  placeholder?: string;
}

// CollectionSelect is the choice of a collection, whose names are searched at the service.
export function CollectionSelect({ value, onChange, clearable, ...rest }: CollectionProps) {
  const [typed, setTyped] = useState('');
  const [wanted] = useDebouncedValue(typed, 250);
  const [{ data }] = useQuery({ query: ConnectorsCollectionsDocument, variables: { matching: wanted || null } });
  const [{ data: named }] = useQuery({
    query: ConnectorsCollectionNameDocument,
    variables: { id: value ?? '' },
    pause: value === null,
    requestPolicy: 'cache-first',
  });
  const options = (data?.collections.edges ?? []).flatMap((edge) => (edge?.node ? [{ value: edge.node.id, label: edge.node.name }] : []));
  const chosen = value && named?.collection.id === value ? named.collection : null;
  if (chosen && !options.some((option) => option.value === chosen.id)) options.push({ value: chosen.id, label: chosen.name });
  return (
    <Select
      {...rest}
      data={options}
      value={value}
      onChange={onChange}
      searchable
      onSearchChange={(text) => setTyped(text === chosen?.name ? '' : text)}
      filter={({ options: all }) => all}
      nothingFoundMessage={t('connectors.noCollections')}
      clearable={clearable}
      clearButtonProps={{ 'aria-label': t('common.clear') }}
    />
  );
}
