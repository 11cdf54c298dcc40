import { Anchor, Button, Group, SimpleGrid, Stack } from '@mantine/core';
import { useRouter } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { useLive } from '../../api/live';
import { formatBytes, formatNumber, t } from '../../i18n';
import { Facts, Figure } from '../../kit/Facts';
import { TextLink } from '../../kit/links';
import { When } from '../../kit/Time';
import { useAction } from '../../kit/useAction';
import { useSoon } from '../../kit/useSoon';
import { May } from '../../session/Me';
import type { Collection } from './CollectionPage';
import {
  CollectionsDocumentStatusDocument,
  type CollectionsDocumentStatusSubscription,
  CollectionsRefreshStatsDocument,
} from './collections.gql';
import { ModelProgress } from './ModelProgress';

const pause = 3000; // milliseconds between two readings while documents change

// Overview shows what is in a collection, and a change of its embedding model.
export function Overview({ collection, reload }: { collection: Collection; reload: () => void }) {
  const { id, stats, embeddingModel, nextEmbeddingModel, createdAt } = collection;
  const refresh = useAction(CollectionsRefreshStatsDocument, { success: t('collections.refreshed') });
  const router = useRouter();
  const documents = `/documents?collection=${id}`;
  const counts = useDocuments(id, reload);
  return (
    <Stack>
      {nextEmbeddingModel && <ModelProgress collectionId={id} onEnd={reload} />}
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label={t('collections.documents')} value={formatNumber(stats.documentCount)} />
        <Figure label={t('collections.passages')} value={formatNumber(stats.embeddingCount)} />
        <Figure label={t('collections.storage')} value={formatBytes(stats.storageBytes)} hint={t('collections.storageHelp')} />
        <Figure label={t('collections.connectors')} value={formatNumber(collection.connectorIds.length)} />
      </SimpleGrid>
      <Group>
        <TextLink to="/search" search={{ collection: id }} size="sm">
          {t('collections.search')}
        </TextLink>
        <Anchor
          href={documents}
          size="sm"
          onClick={(event) => {
            event.preventDefault();
            router.history.push(documents);
          }}
        >
          {t('collections.seeDocuments')}
        </Anchor>
        <May atLeast="EDITOR">
          <Button size="xs" variant="default" loading={refresh.running} onClick={() => void refresh.run({ id }).then(reload)}>
            {t('collections.refresh')}
          </Button>
        </May>
      </Group>
      <Facts
        items={[
          { label: t('collections.model'), value: embeddingModel },
          { label: t('collections.lastSync'), value: <When at={stats.lastSync} /> },
          { label: t('common.created'), value: <When at={createdAt} /> },
          { label: t('collections.count.pending'), value: counts && formatNumber(counts.pending + counts.processing) },
          { label: t('collections.count.failed'), value: counts && formatNumber(counts.failed) },
          { label: t('collections.count.withFailure'), value: counts && formatNumber(counts.withFailure) },
        ]}
      />
    </Stack>
  );
}

// useDocuments calls reload a moment after documents of the collection have changed, and returns their counts as they were
// when the page began.
function useDocuments(collectionId: string, reload: () => void) {
  const cursor = useRef<string | null>(null);
  const readSoon = useSoon(reload, pause);
  const [counts, setCounts] = useState<CollectionsDocumentStatusSubscription['documentStatus']['counts']>(null);
  useLive(`collection-documents:${collectionId}`, {
    document: CollectionsDocumentStatusDocument,
    variables: () => ({ collectionId, after: cursor.current }),
    onData: ({ documentStatus }) => {
      cursor.current = documentStatus.cursor;
      if (documentStatus.counts) setCounts(documentStatus.counts);
      if (documentStatus.documents.length > 0) readSoon();
    },
  });
  return counts;
}
