import { Autocomplete } from '@mantine/core';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { CollectionsListDocument } from './collections.gql';

// ModelField is the name of an embedding model. It proposes those of the collections; the service says which are
// configured when it does not know one.
export function ModelField({
  value,
  onChange,
  error,
  isChange,
}: {
  value: string;
  onChange: (model: string) => void;
  error?: string;
  isChange?: boolean;
}) {
  const [{ data }] = useQuery({
    query: CollectionsListDocument,
    variables: { first: 50, after: null, matching: null },
    requestPolicy: 'cache-first',
  });
  const used = (data?.collections.edges ?? []).flatMap((edge) =>
    edge?.node ? [edge.node.embeddingModel, edge.node.nextEmbeddingModel] : [],
  );
  return (
    <Autocomplete
      label={t('collections.model')}
      description={t(isChange ? 'collections.modelChangeHelp' : 'collections.modelHelp')}
      data={[...new Set(used)].filter((model): model is string => Boolean(model))}
      value={value}
      onChange={onChange}
      error={error}
      autoComplete="off"
    />
  );
}
