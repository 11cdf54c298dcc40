import { Button, Group, Stack, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { problemOf } from '../../api/errors';
import { t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import type { Collection } from './CollectionPage';
import { CollectionsUpdateDocument } from './collections.gql';
import { fieldError } from './fields';
import { ModelField } from './ModelField';

// Settings changes a collection's name, description and embedding model.
export function Settings({ collection, reload }: { collection: Collection; reload: () => void }) {
  const { id, embeddingModel, nextEmbeddingModel } = collection;
  const [name, setName] = useState(collection.name);
  const [description, setDescription] = useState(collection.description ?? '');
  const [model, setModel] = useState(nextEmbeddingModel ?? embeddingModel);
  const update = useAction(CollectionsUpdateDocument, { quiet: true, success: t('common.saved') });
  const change = useAction(CollectionsUpdateDocument, { quiet: true, success: t('collections.modelChanged') });
  const target = model.trim();
  const begin = async (next: string) => {
    const isCertain =
      next === embeddingModel ||
      (await confirm({
        title: t('collections.modelTitle', { model: next }),
        body: t('collections.modelBody'),
        action: t('collections.modelChange'),
        destructive: false,
      }));
    if (!isCertain || !(await change.run({ id, input: { embeddingModel: next } }))) return;
    setModel(next);
    reload();
  };
  const modelError = fieldError(change.error, 'embeddingModel');
  const field = update.error ? problemOf(update.error).field : null;
  return (
    <Stack className="narrow">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() === '') return;
          void update.run({ id, input: { name: name.trim(), description: description.trim() || null } });
        }}
      >
        <Stack>
          <TextInput
            label={t('common.name')}
            required
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={name.trim() === '' ? t('common.mistake.required') : fieldError(update.error, 'name')}
          />
          <Textarea
            label={t('common.description')}
            description={t('collections.descriptionHelp')}
            value={description}
            onChange={(event) => setDescription(event.currentTarget.value)}
            error={fieldError(update.error, 'description')}
            autosize
            minRows={2}
          />
          {update.error && field !== 'name' && field !== 'description' && <ProblemNotice error={update.error} />}
          <Group>
            <Button type="submit" loading={update.running}>
              {t('common.save')}
            </Button>
          </Group>
        </Stack>
      </form>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void begin(target);
        }}
      >
        <Stack>
          <ModelField isChange value={model} onChange={setModel} error={modelError} />
          {change.error && !modelError && <ProblemNotice error={change.error} />}
          <Group>
            <Button
              type="submit"
              variant="default"
              loading={change.running}
              disabled={target === '' || target === (nextEmbeddingModel ?? embeddingModel)}
            >
              {t('collections.modelChange')}
            </Button>
            {nextEmbeddingModel && (
              <Button variant="default" loading={change.running} onClick={() => void begin(embeddingModel)}>
                {t('collections.modelCancel', { model: embeddingModel })}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Stack>
  );
}
