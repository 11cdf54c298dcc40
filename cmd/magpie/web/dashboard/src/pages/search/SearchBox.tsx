import { Autocomplete, Button, Group } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { SearchSuggestionsDocument } from './search.gql';

interface Props {
  value: string;
  collection: string | undefined;
  onChange: (text: string) => void;
  // The person has finished: by Enter, the button, or a suggestion.
  onSubmit: (text: string) => void;
  // The arrow down where no suggestion takes it.
  onLeave: () => void;
}

// SearchBox is the field of a search, with titles of documents that match what is typed.
export function SearchBox({ value, collection, onChange, onSubmit, onLeave }: Props) {
  const [opened, setOpened] = useState(false);
  const [prefix] = useDebouncedValue(value.trim(), 150);
  const [{ data }] = useQuery({
    query: SearchSuggestionsDocument,
    variables: { prefix, collection },
    pause: prefix.length < 2 || !opened,
    requestPolicy: 'cache-first',
  });
  const suggestions = opened && prefix.length >= 2 ? [...new Set(data?.searchSuggestions.map(({ text }) => text))] : [];
  const submit = (text: string) => {
    setOpened(false);
    onSubmit(text);
  };
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit(value);
        }}
      >
        <Group gap="xs" wrap="nowrap">
          <Autocomplete
            data-search-box
            autoFocus
            flex={1}
            size="md"
            aria-label={t('search.box')}
            placeholder={t('search.placeholder')}
            leftSection={<Icon name="search" />}
            data={suggestions}
            filter={({ options }) => options}
            value={value}
            onChange={(text) => {
              setOpened(true);
              onChange(text);
            }}
            onOptionSubmit={submit}
            dropdownOpened={opened && suggestions.length > 0}
            onDropdownClose={() => setOpened(false)}
            onBlur={() => setOpened(false)}
            onKeyDown={(event) => {
              if (event.key === 'ArrowDown' && suggestions.length === 0) {
                event.preventDefault();
                onLeave();
              }
            }}
            clearable
            clearButtonProps={{ 'aria-label': t('common.clear') }}
            enterKeyHint="search"
            maxLength={4000}
            comboboxProps={{ shadow: 'md' }}
          />
          <Button type="submit" size="md" visibleFrom="xs">
            {t('search.go')}
          </Button>
        </Group>
      </form>
    </search>
  );
}
