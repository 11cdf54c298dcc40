import { MultiSelect, type MultiSelectProps, Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { KeysCollectionNamesDocument, KeysCollectionsDocument } from './keys.gql';

interface Choice {
  value: string;
  label: string;
}

// useCollections returns collections to choose from, those whose names contain the text, and the named ones.
function useCollections(text: string, ids: string[]): Choice[] {
  const [matching] = useDebouncedValue(text.trim(), 250);
  const [{ data }] = useQuery({ query: KeysCollectionsDocument, variables: { matching: null } });
  const isMore = (data?.collections.totalCount ?? 0) > 100;
  const [{ data: found }] = useQuery({ query: KeysCollectionsDocument, variables: { matching }, pause: !isMore || matching === '' });
  const listed = new Map<string, string>();
  for (const list of [data, found])
    for (const edge of list?.collections.edges ?? []) if (edge?.node) listed.set(edge.node.id, edge.node.name);
  const missing = ids.filter((id) => !listed.has(id)).slice(0, 100);
  const [{ data: named }] = useQuery({
    query: KeysCollectionNamesDocument,
    variables: { ids: missing },
    pause: !data || missing.length === 0,
  });
  for (const node of named?.nodes ?? []) if (node?.__typename === 'Collection') listed.set(node.id, node.name);
  for (const id of ids) if (!listed.has(id)) listed.set(id, data && named ? t('people.keys.goneCollection') : id);
  return [...listed].map(([value, label]) => ({ value, label }));
}

type ManyProps = Omit<MultiSelectProps, 'data' | 'value' | 'onChange'> & { value: string[]; onChange: (ids: string[]) => void };

// CollectionsField chooses collections.
export function CollectionsField({ value, onChange, ...props }: ManyProps) {
  const [text, setText] = useState('');
  return (
    <MultiSelect
      {...props}
      data={useCollections(text, value)}
      value={value}
      onChange={onChange}
      searchable
      searchValue={text}
      onSearchChange={setText}
      clearable
      clearButtonProps={{ 'aria-label': t('common.clear') }}
      hidePickedOptions
      nothingFoundMessage={t('people.keys.noCollection')}
    />
  );
}

type OneProps = Omit<SelectProps, 'data' | 'value' | 'onChange'> & {
  value: string | null;
  onChange: (id: string | null) => void;
  // The ids to choose from; all when omitted.
  among?: string[];
};

// CollectionField chooses one collection or none.
export function CollectionField({ value, onChange, among, ...props }: OneProps) {
  const [text, setText] = useState('');
  const choices = useCollections(text, [...(among ?? []), ...(value ? [value] : [])]);
  return (
    <Select
      {...props}
      data={among ? choices.filter((choice) => among.includes(choice.value)) : choices}
      value={value}
      onChange={onChange}
      searchable
      searchValue={text}
      onSearchChange={setText}
      clearable
      clearButtonProps={{ 'aria-label': t('common.clear') }}
      nothingFoundMessage={t('people.keys.noCollection')}
    />
  );
}
