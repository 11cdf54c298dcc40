import { Alert, Progress, Stack, Text } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useQuery } from 'urql';
import { formatNumber, formatTime, t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import { CollectionsModelChangeDocument, type CollectionsModelChangeQuery } from './collections.gql';

type Change = NonNullable<CollectionsModelChangeQuery['collection']['modelChange']>;

const pause = 3000; // milliseconds between two readings

// ModelProgress shows how far the change of a collection's embedding model is, until it has ended, which it tells by onEnd.
export function ModelProgress({ collectionId, onEnd }: { collectionId: string; onEnd: () => void }) {
  const end = useRef(onEnd);
  end.current = onEnd;
  const [{ data, error, fetching }, again] = useQuery({
    query: CollectionsModelChangeDocument,
    variables: { id: collectionId },
    requestPolicy: 'network-only',
  });
  const hasEnded = Boolean(data) && !data?.collection.modelChange;
  useEffect(() => {
    if (hasEnded) end.current();
  }, [hasEnded]);
  useEffect(() => {
    if (fetching || hasEnded) return;
    const timer = window.setTimeout(() => again({ requestPolicy: 'network-only' }), pause);
    return () => window.clearTimeout(timer);
  }, [fetching, hasEnded, again]);
  if (error && !data) return <ProblemNotice error={error} />;
  if (!data?.collection.modelChange) return null;
  return <Shown from={data.collection.embeddingModel} change={data.collection.modelChange} />;
}

function Shown({ from, change }: { from: string; change: Change }) {
  const { model, state, passages, embedded, reason, failedAt } = change;
  const isFailing = state === 'FAILING';
  return (
    <Alert
      color={isFailing ? 'yellow' : 'blue'}
      variant="light"
      icon={<Icon name={isFailing ? 'warning' : 'refresh'} />}
      title={t('collections.changing')}
    >
      <Stack gap="xs">
        <Text size="sm">{t('collections.changingTo', { from, to: model })}</Text>
        {passages != null && embedded != null && (
          <Progress
            value={passages === 0 ? 100 : (100 * embedded) / passages}
            animated={state === 'RUNNING'}
            aria-label={t('collections.changing')}
          />
        )}
        <Text size="sm" role="status">
          {passages != null && embedded != null
            ? t('collections.embedded', { embedded: formatNumber(embedded), passages: formatNumber(passages) })
            : t('collections.uncounted')}{' '}
          {t(`collections.changeState.${state}`)}
        </Text>
        {reason && (
          <Text size="sm" className="wrap">
            {failedAt ? `${reason} (${formatTime(failedAt)})` : reason}
          </Text>
        )}
      </Stack>
    </Alert>
  );
}
