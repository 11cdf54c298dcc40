import { Button, Group, TextInput } from '@mantine/core';
import { useState } from 'react';
import { t } from '../../../i18n';
import { problemText } from '../../../kit/Problem';
import { useAction } from '../../../kit/useAction';
import { CollectionSelect } from '../fields';
import { ConnectorsCreateCollectionDocument } from '../form.gql';

interface Props {
  value: string | null;
  onChange: (id: string | null) => void;
  error?: string;
}

// CollectionField is the choice of the collection that a connector fills, with a way to create one.
export function CollectionField({ value, onChange, error }: Props) {
  const [isNew, setNew] = useState(false);
  const [name, setName] = useState('');
  const create = useAction(ConnectorsCreateCollectionDocument, { quiet: true });
  const make = async () => {
    if (name.trim() === '') return;
    const made = await create.run({ name: name.trim() });
    if (!made) return;
    onChange(made.createCollection.id);
    setNew(false);
    setName('');
  };
  if (isNew) {
    return (
      <Group align="flex-start" gap="xs">
        <TextInput
          label={t('connectors.newCollection')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault(); // not the form around it
            void make();
          }}
          error={create.error ? problemText(create.error) : undefined}
          autoFocus
          style={{ flex: '1 1 12rem' }}
        />
        <Button mt={24} onClick={() => void make()} loading={create.running} disabled={name.trim() === ''}>
          {t('common.create')}
        </Button>
        <Button mt={24} variant="default" onClick={() => setNew(false)}>
          {t('common.cancel')}
        </Button>
      </Group>
    );
  }
  return (
    <Group align="flex-start" gap="xs">
      <div style={{ flex: '1 1 12rem' }}>
        <CollectionSelect
          label={t('connectors.collection')}
          description={t('connectors.collectionHelp')}
          value={value}
          onChange={onChange}
          required
          error={error}
        />
      </div>
      <Button mt={44} variant="default" onClick={() => setNew(true)}>
        {t('connectors.newCollection')}
      </Button>
    </Group>
  );
}
