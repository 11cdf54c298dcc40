import { Button, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { problemOf } from '../../api/errors';
import { t } from '../../i18n';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { CollectionsCreateDocument } from './collections.gql';
import { fieldError } from './fields';
import { ModelField } from './ModelField';

// CreateCollection is the form of a new collection.
export function CreateCollection({ close, created }: { close: () => void; created: (id: string) => void }) {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [model, setModel] = useState('');
  const [missing, setMissing] = useState(false);
  const create = useAction(CollectionsCreateDocument, { quiet: true, success: t('collections.created') });
  const submit = async () => {
    setMissing(name.trim() === '');
    if (name.trim() === '') return;
    const made = await create.run({
      input: { name: name.trim(), description: description.trim() || null, embeddingModel: model.trim() || null },
    });
    if (made) created(made.createCollection.id);
  };
  const field = create.error ? problemOf(create.error).field : null;
  return (
    <Modal opened onClose={close} title={t('collections.create')} closeButtonProps={{ 'aria-label': t('common.close') }}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Stack>
          <TextInput
            label={t('common.name')}
            required
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={missing ? t('common.mistake.required') : fieldError(create.error, 'name')}
            data-autofocus
          />
          <Textarea
            label={t('common.description')}
            description={t('collections.descriptionHelp')}
            value={description}
            onChange={(event) => setDescription(event.currentTarget.value)}
            error={fieldError(create.error, 'description')}
            autosize
            minRows={2}
          />
          <ModelField value={model} onChange={setModel} error={fieldError(create.error, 'embeddingModel')} />
          {create.error && !['name', 'description', 'embeddingModel'].includes(field ?? '') && <ProblemNotice error={create.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t('common.cancel')}
            </Button>
            <Button type="submit" loading={create.running}>
              {t('common.create')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
