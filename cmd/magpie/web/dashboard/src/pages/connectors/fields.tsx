import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { ConnectorsCollectionNameDocument, ConnectorsCollectionsDocument } from './list.gql';

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
      selectFirstOptionOnChange
      nothingFoundMessage={t('connectors.noCollections')}
      clearable={clearable}
      clearButtonProps={{ 'aria-label': t('common.clear') }}
    />
  );
}
