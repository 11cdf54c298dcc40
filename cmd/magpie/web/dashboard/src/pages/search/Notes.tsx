import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { t } from '../../i18n';
import { Empty } from '../../kit/Empty';
import { Icon } from '../../kit/Icon';
import { cleared, type SearchState } from './state';
import type { Search } from './useSearch';

interface Props {
  answer: NonNullable<Search['found']>['first'];
  query: string;
  onSearch: (query: string) => void;
}

// Notes are what the service says about a search: corrected words, and parts that failed.
export function Notes({ answer, query, onSearch }: Props) {
  const { didYouMean, corrected, warnings } = answer;
  // A word in quotes is not corrected.
  const exact = corrected.reduce((text, { from }) => text.replace(from, `"${from}"`), query);
  return (
    <>
      {didYouMean && (
        <Text size="sm" className="wrap" role="status">
          {t('search.corrected', { query: didYouMean })}{' '}
          {exact !== query && (
            <Anchor component="button" type="button" size="sm" underline="always" onClick={() => onSearch(exact)}>
              {t('search.exactly', { query })}
            </Anchor>
          )}
        </Text>
      )}
      {warnings.length > 0 && (
        <Alert color="yellow" variant="light" icon={<Icon name="warning" />} title={t('search.incomplete')}>
          <Stack gap={4}>
            {warnings.map((warning) => (
              <Text size="sm" key={warning} className="wrap">
                {warning}
              </Text>
            ))}
          </Stack>
        </Alert>
      )}
    </>
  );
}

interface NoResultsProps {
  state: SearchState;
  isFiltered: boolean;
  onChange: (change: Partial<SearchState>) => void;
}

// NoResults says what to try after a search that found nothing.
export function NoResults({ state, isFiltered, onChange }: NoResultsProps) {
  const navigate = useNavigate();
  return (
    <Empty
      icon="search"
      title={t('search.none')}
      action={
        <Group justify="center" gap="xs">
          {isFiltered && (
            <Button variant="default" onClick={() => onChange(cleared())}>
              {t('search.clearFilters')}
            </Button>
          )}
          {(state.min ?? 0.5) > 0 && (
            <Button variant="default" onClick={() => onChange({ min: state.min === 0.3 ? 0 : 0.3 })}>
              {t('search.lessStrict')}
            </Button>
          )}
          {state.collection && (
            <Button variant="default" onClick={() => onChange({ collection: undefined })}>
              {t('search.everywhere')}
            </Button>
          )}
          <Button variant="default" onClick={() => void navigate({ to: '/ask', search: { q: state.q } })}>
            {t('search.askInstead')}
          </Button>
          <Button variant="default" onClick={() => onChange({ missing: '' })}>
            {t('search.whyNot')}
          </Button>
        </Group>
      }
    >
      {t('search.noneHelp')}
    </Empty>
  );
}
