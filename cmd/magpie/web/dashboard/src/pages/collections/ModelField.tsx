import { Select } from '@mantine/core';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { ProblemNotice } from '../../kit/Problem';
import { CollectionsModelsDocument } from './collections.gql';

// ModelField is a choice of the configured embedding models. A collection may also have one that is no longer configured.
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
  const [{ data, error: problem }] = useQuery({ query: CollectionsModelsDocument, requestPolicy: 'cache-first' });
  const models = data?.embeddingModels ?? [];
  if (problem && !data) return <ProblemNotice error={problem} />;
  const options = models.map(({ name, dimensions, isDefault, failing }) => ({
    value: name,
    label:
      t(isDefault ? 'collections.modelDefault' : 'collections.modelOption', { name, dimensions }) +
      (failing ? ` – ${t('collections.modelFailing')}` : ''),
  }));
  if (data && value && !models.some(({ name }) => name === value))
    options.unshift({ value, label: t('collections.modelGone', { name: value }) });
  return (
    <Select
      label={t('collections.model')}
      description={t(isChange ? 'collections.modelChangeHelp' : 'collections.modelHelp')}
      data={options}
      value={value || null}
      onChange={(model) => onChange(model ?? '')}
      error={error}
      placeholder={models.find(({ isDefault }) => isDefault)?.name}
      clearable={!isChange}
      clearButtonProps={{ 'aria-label': t('common.clear') }}
      allowDeselect={!isChange}
    />
  );
}
