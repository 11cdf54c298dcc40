import { useQuery } from 'urql';
import { useEach, watch } from '../../../api/live';
import { nodesOf } from '../../../kit/usePaged';
import { useSoon } from '../../../kit/useSoon';
import { SearchCollectionsDocument } from '../search.gql';
import { DocumentsChangesDocument } from './documents.gql';

const pause = 1500; // milliseconds between a change and reading the list again

// useChanges reads a list of documents again when some change: those of a connector, of a collection, or of all collections.
export function useChanges(connector: string | undefined, collection: string | undefined, reload: () => void) {
  const readSoon = useSoon(reload, pause);
  const isAll = !connector && !collection;
  const [{ data }] = useQuery({ query: SearchCollectionsDocument, variables: { matching: null }, pause: !isAll });
  const collections = isAll ? nodesOf(data?.collections).map(({ id }) => id) : [];
  const keys = connector ? [`connectorId:${connector}`] : (collection ? [collection] : collections).map((id) => `collectionId:${id}`);
  useEach(keys, (key) => {
    const [name = '', id] = key.split(':');
    let after: string | null = null;
    return watch({
      document: DocumentsChangesDocument,
      variables: () => ({ [name]: id, after }),
      onData: ({ documentStatus }) => {
        // The list may be older than the first event, which says from where on changes are told.
        if (after === null || documentStatus.documents.length > 0) readSoon();
        after = documentStatus.cursor;
      },
    });
  });
}
