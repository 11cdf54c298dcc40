import { Anchor, Box, Button, Drawer, Group, Loader, Select, Stack, Text } from '@mantine/core';
import { useDebouncedValue, useDisclosure, useMediaQuery } from '@mantine/hooks';
import { Link, useSearch as useAddress, useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { formatNumber, t } from '../../i18n';
import { Empty } from '../../kit/Empty';
import { Icon } from '../../kit/Icon';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { Chips } from './Chips';
import { CollectionSelect } from './CollectionSelect';
import { Tools } from './CopyAs';
import { Facets } from './Facets';
import { NoResults, Notes } from './Notes';
import { ResultDrawer } from './ResultDrawer';
import { focusResult, Results } from './Results';
import { SearchBox } from './SearchBox';
import { inputOf, isFiltered, listNames, type SearchState } from './state';
import { useSearch } from './useSearch';
import { WhyNot } from './WhyNot';

const settles = 1200; // milliseconds after the last key until a search counts as meant
const least = ['0', '0.3', '0.5', '0.7'] as const;

// SearchPage searches while the person types. What they settled on, by Enter or a pause, is in the address.
export function SearchPage() {
  const state = useAddress({ from: '/shell/search' });
  const navigate = useNavigate({ from: '/search' });
  const change = (part: Partial<SearchState>, replace = false) =>
    void navigate({ search: (old) => ({ ...old, ...part }), replace, resetScroll: false });
  const [text, setText] = useState(state.q ?? '');
  const [live] = useDebouncedValue(text, 150);
  const settled = text.trim() === (state.q ?? '');
  const query = settled ? (state.q ?? '') : live.trim();
  const [now, setNow] = useState(Date.now);
  const submit = (value: string) => {
    setText(value);
    const q = value.trim() || undefined;
    setNow(Date.now());
    if (q === state.q) search.again();
    else change({ q, pages: undefined, show: undefined });
  };
  // Another address, such as by going back, is another text; but it does not take a blank from under the cursor.
  const shown = useRef(state.q);
  useEffect(() => {
    if (shown.current === state.q) return;
    shown.current = state.q;
    setText((typed) => (typed.trim() === (state.q ?? '') ? typed : (state.q ?? '')));
  }, [state.q]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed starts the time
  useEffect(() => {
    if (settled) return;
    const timer = window.setTimeout(() => change({ q: text.trim() || undefined, pages: undefined, show: undefined }, true), settles);
    return () => window.clearTimeout(timer);
  }, [text, settled]);
  const prefix = !settled;
  const input = useMemo(() => (query ? inputOf(state, query, now, { prefix }) : null), [state, query, now, prefix]);
  const search = useSearch(input, state.pages ?? 1);
  const { found, fetching, error } = search;
  const place = found?.results.findIndex(({ id }) => id === state.show) ?? -1;
  const [drawer, { open, close }] = useDisclosure();
  const wide = useMediaQuery('(min-width: 62em)', undefined, { getInitialValueInEffect: false });
  const facets = found?.first.facets ?? [];
  const panel = (
    <Stack gap="lg">
      <Select
        label={t('search.least')}
        description={t('search.leastHelp')}
        size="xs"
        data={least.map((value) => ({ value, label: t(`search.least.${value}`) }))}
        value={String(state.min ?? 0.5)}
        allowDeselect={false}
        onChange={(value) =>
          change({ min: value === '0.5' || value === null ? undefined : Number(value), pages: undefined, show: undefined })
        }
      />
      <Facets state={state} facets={facets} onChange={change} />
    </Stack>
  );
  const count =
    listNames.reduce((sum, name) => sum + (state[name]?.length ?? 0), 0) + [state.span, state.from, state.until].filter(Boolean).length;
  return (
    <Page title={t('search.title')} actions={<Tools input={settled ? input : null} onWhyNot={() => change({ missing: '' })} />}>
      <SearchBox value={text} collection={state.collection} onChange={setText} onSubmit={submit} onLeave={() => focusResult('first')} />
      <Group gap="xs">
        <CollectionSelect
          value={state.collection}
          size="sm"
          w={{ base: '100%', xs: 260 }}
          onChange={(collection) => change({ collection, in: undefined, pages: undefined, show: undefined })}
        />
        {query && !wide && (
          <Button variant="default" leftSection={<Icon name="filter" size={16} />} onClick={open} aria-haspopup="dialog">
            {count > 0 ? t('search.filtersSet', { count }) : t('search.filters')}
          </Button>
        )}
      </Group>
      <Chips state={state} facets={found?.first.facets} onChange={change} />
      {query === '' ? (
        <Start />
      ) : (
        <Group align="flex-start" wrap="nowrap" gap="xl">
          {wide && (
            <Box component="section" w={220} style={{ flex: 'none' }} aria-label={t('search.filters')}>
              {panel}
            </Box>
          )}
          <Stack gap="sm" style={{ flex: 1, minWidth: 0 }}>
            <Text size="sm" c="dimmed" role="status">
              {found && !error ? t('search.count', { total: found.first.total, time: formatNumber(found.first.tookMs, 0) }) : ' '}
              {fetching && !found && <Loader size="xs" aria-label={t('common.loading')} />}
            </Text>
            {error ? <ProblemNotice error={error} retry={search.again} /> : null}
            {found && <Notes answer={found.first} query={found.query} onSearch={submit} />}
            {found && !error && found.results.length === 0 && !fetching && (
              <NoResults state={state} onChange={change} isFiltered={isFiltered(state)} />
            )}
            {found && found.results.length > 0 && (
              <Results
                results={found.results}
                dimmed={fetching && found.query !== query}
                onOpen={({ id }, view) => change({ show: id, view: view === 'passage' ? undefined : view })}
              />
            )}
            {found && found.results.length < found.first.total && found.results.length > 0 && (
              <Button
                variant="default"
                loading={fetching}
                onClick={() => change({ pages: (state.pages ?? 1) + 1 }, true)}
                style={{ alignSelf: 'center' }}
              >
                {t('common.more')}
              </Button>
            )}
          </Stack>
        </Group>
      )}
      <Drawer
        opened={drawer && !wide}
        onClose={close}
        title={t('search.filters')}
        closeButtonProps={{ 'aria-label': t('common.close') }}
        size="20rem"
      >
        {panel}
      </Drawer>
      <ResultDrawer
        result={found?.results[place] ?? null}
        place={place}
        input={input}
        view={state.view ?? 'passage'}
        onView={(view) => change({ view: view === 'passage' ? undefined : view }, true)}
        onClose={() => change({ show: undefined, view: undefined })}
      />
      <WhyNot state={state} now={now} onChange={(part) => change(part)} />
    </Page>
  );
}

// Start says what to do before the first search.
function Start() {
  return (
    <Empty icon="search" title={t('search.start')}>
      {t('search.startHelp')}{' '}
      <Anchor component={Link} to="/documents" inherit underline="always">
        {t('search.startDocuments')}
      </Anchor>
    </Empty>
  );
}
