import { useRef, useState } from 'react';
import { useClient } from 'urql';
import { useLive } from '../../../api/live';
import { useSoon } from '../../../kit/useSoon';
import { ConnectorsCountsDocument, ConnectorsDocumentStatusDocument } from '../connector.gql';

const pause = 2000; // milliseconds between two counts

// useCounts keeps the counts of a connector's documents in the cache up to date while documents change. It returns how
// many documents have a newer version that could not be indexed.
export function useCounts(connectorId: string): number {
  const client = useClient();
  const cursor = useRef<string | null>(null);
  const [withFailure, setWithFailure] = useState(0);
  const countSoon = useSoon(() => {
    void client.query(ConnectorsCountsDocument, { id: connectorId }, { requestPolicy: 'network-only' }).toPromise();
  }, pause);
  useLive(`connector-documents:${connectorId}`, {
    document: ConnectorsDocumentStatusDocument,
    variables: () => ({ connectorId, after: cursor.current }),
    onData: ({ documentStatus }) => {
      cursor.current = documentStatus.cursor;
      if (documentStatus.counts) setWithFailure(documentStatus.counts.withFailure);
      if (documentStatus.documents.length > 0) countSoon();
    },
  });
  return withFailure;
}
