import { Alert, Anchor, Button, Drawer, Loader, Stack, Text, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useQuery } from 'urql';
import { problemOf } from '../../api/errors';
import { formatNumber, t, tValue } from '../../i18n';
import { Facts } from '../../kit/Facts';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import { Status } from '../../kit/Status';
import { useMay } from '../../session/Me';
import { Explanation } from './Explanation';
import { SearchWhyNotDocument, type SearchWhyNotQuery } from './search.gql';
import { filtersOf, type SearchState } from './state';
import { Visibility } from './WhyVisible';

interface Props {
  state: SearchState;
  now: number;
  onChange: (change: Partial<SearchState>) => void;
}

// WhyNot asks why a document is not among the results of the search.
export function WhyNot({ state, now, onChange }: Props) {
  return (
    <Drawer
      opened={state.missing !== undefined}
      onClose={() => onChange({ missing: undefined, as: undefined })}
      position="right"
      size="lg"
      title={t('search.whyNot')}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      {state.missing !== undefined && <Form state={state} now={now} onChange={onChange} />}
    </Drawer>
  );
}

function Form({ state, now, onChange }: Props) {
  const isAdmin = useMay('ADMIN');
  const [query, setQuery] = useState(state.q ?? '');
  const [document, setDocument] = useState(state.missing ?? '');
  const [user, setUser] = useState(state.as ?? '');
  const asked = Boolean(state.missing && state.q);
  const [{ data, error, fetching }, again] = useQuery({
    query: SearchWhyNotDocument,
    variables: {
      input: {
        query: state.q ?? '',
        document: state.missing ?? '',
        collection: state.collection,
        minScore: state.min,
        filters: filtersOf(state, now),
        asUser: isAdmin ? state.as : undefined,
        limit: 20,
      },
    },
    pause: !asked,
    requestPolicy: 'network-only',
  });
  const wrong = (field: string) => (error && asked && problemOf(error).field === field ? problemOf(error).message : undefined);
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t('search.whyNot.help')}
      </Text>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const change = { q: query.trim(), missing: document.trim(), as: user.trim() || undefined };
          if (change.q === state.q && change.missing === state.missing && change.as === state.as) again({ requestPolicy: 'network-only' });
          else onChange(change);
        }}
      >
        <Stack gap="sm">
          <TextInput
            required
            label={t('search.whyNot.query')}
            value={query}
            error={wrong('query')}
            onChange={(event) => setQuery(event.currentTarget.value)}
          />
          <TextInput
            required
            data-autofocus
            label={t('search.whyNot.document')}
            description={t('search.whyNot.documentHelp')}
            value={document}
            error={wrong('document')}
            onChange={(event) => setDocument(event.currentTarget.value)}
          />
          {isAdmin && (
            <TextInput
              type="email"
              label={t('search.whyNot.user')}
              description={t('search.whyNot.userHelp')}
              value={user}
              error={wrong('asUser')}
              onChange={(event) => setUser(event.currentTarget.value)}
            />
          )}
          <Button type="submit" loading={asked && fetching}>
            {t('search.whyNot.ask')}
          </Button>
        </Stack>
      </form>
      <div aria-live="polite">
        {asked && fetching && <Loader size="sm" aria-label={t('common.loading')} />}
        {asked && error && !fetching && <ProblemNotice error={error} />}
        {asked && data && !error && !fetching && <Reason why={data.searchWhyNot} />}
      </div>
    </Stack>
  );
}

function Reason({ why }: { why: SearchWhyNotQuery['searchWhyNot'] }) {
  return (
    <Stack gap="md">
      <Alert
        variant="light"
        color={why.found ? 'green' : 'yellow'}
        icon={<Icon name={why.found ? 'check' : 'info'} />}
        title={t(`search.reason.${why.reason}`)}
      >
        <Stack gap="xs">
          {why.title && why.documentId && (
            <Anchor component={Link} to={`/documents/${why.documentId}`} size="sm" c="inherit" underline="always" className="wrap">
              {why.title}
            </Anchor>
          )}
          <Text size="sm" className="wrap">
            {why.explanation}
          </Text>
          {why.change && (
            <Text size="sm" className="wrap">
              <b>{t('search.whyNot.change')}</b> {why.change}
            </Text>
          )}
        </Stack>
      </Alert>
      <Facts
        columns={2}
        items={[
          { label: t('search.whyNot.rank'), value: why.rank },
          { label: t('search.whyNot.place'), value: why.place },
          { label: t('search.whyNot.score'), value: why.score == null ? null : formatNumber(why.score, 3) },
          { label: t('search.whyNot.minScore'), value: formatNumber(why.minScore, 3) },
          { label: t('search.whyNot.filters'), value: why.filters.length > 0 ? why.filters.join(', ') : null },
          { label: t('search.whyNot.missingPhrases'), value: why.missingPhrases.length > 0 ? why.missingPhrases.join(', ') : null },
          { label: t('search.whyNot.excludedPhrases'), value: why.excludedPhrases.length > 0 ? why.excludedPhrases.join(', ') : null },
          { label: t('search.whyNot.cut'), value: why.passagesCut || null },
          { label: t('search.whyNot.ledger'), value: why.itemStatus && <Status value={why.itemStatus} /> },
          { label: t('search.whyNot.itemReason'), value: why.itemReason },
          { label: t('search.whyNot.hold'), value: why.itemHold && tValue(`search.hold.${why.itemHold}`, why.itemHold.toLowerCase()) },
        ]}
      />
      {why.visibility && <Visibility visibility={why.visibility} />}
      {why.bestPassage && (
        <>
          <Text size="sm" fw={600}>
            {t('search.whyNot.best')}
          </Text>
          <Explanation explanation={why.bestPassage} />
        </>
      )}
    </Stack>
  );
}
