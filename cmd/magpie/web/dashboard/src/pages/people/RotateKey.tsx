import { Button, Checkbox, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { problemOf } from '../../api/errors';
import { t } from '../../i18n';
import { dayOf, endOf } from '../../i18n/zone';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { KeySnippets } from './KeySnippets';
import { type KeyRowFragment, KeysRotateDocument, type KeysRotateMutation } from './keys.gql';
import { CreatedKeys } from './NewKeyPage';

interface Props {
  row: KeyRowFragment;
  opened: boolean;
  onClose: () => void;
}

// RotateKey gives a pair new keys. The current ones work for a while, but not those that have leaked, if it is left so.
export function RotateKey({ row, opened, onClose }: Props) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      size="lg"
      title={t('people.keys.rotateTitle', { name: row.name })}
      closeButtonProps={{ 'aria-label': t('common.close') }}
      closeOnClickOutside={false}
    >
      <Rotation row={row} onClose={onClose} />
    </Modal>
  );
}

function Rotation({ row, onClose }: Omit<Props, 'opened'>) {
  const [overlap, setOverlap] = useState(row.leakedAt ? '0' : '1440');
  const [anew, setAnew] = useState(false);
  const [day, setDay] = useState(row.expiresAt ? dayOf(row.expiresAt) : '');
  const [made, setMade] = useState<KeysRotateMutation['rotateAPIKey'] | null>(null);
  const rotate = useAction(KeysRotateDocument, { quiet: true, success: t('people.keys.rotated') });
  if (made) {
    return (
      <Stack>
        <CreatedKeys publishable={made.publishableKey} secret={made.secretKey} />
        <KeySnippets publishable={made.publishableKey} secret={made.secretKey} signed={made.apiKey.requireSignature} />
        <Group justify="flex-end">
          <Button onClick={onClose}>{t('people.keys.copiedBoth')}</Button>
        </Group>
      </Stack>
    );
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const data = await rotate.run({
      id: row.id,
      overlapMinutes: Number(overlap),
      ...(anew && day ? { expiresAt: endOf(day) } : {}),
    });
    if (data) setMade(data.rotateAPIKey);
  };
  const problem = rotate.error ? problemOf(rotate.error) : null;
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">{t('people.keys.rotateHelp')}</Text>
        <Select
          label={t('people.keys.overlap')}
          description={row.leakedAt ? t('people.keys.overlapLeaked') : t('people.keys.overlapHelp')}
          data={(['0', '60', '1440', '10080', '43200'] as const).map((value) => ({ value, label: t(`people.keys.overlap.${value}`) }))}
          value={overlap}
          onChange={(value) => value && setOverlap(value)}
          allowDeselect={false}
          error={problem?.field === 'overlapMinutes' ? problem.message : undefined}
          data-autofocus
        />
        <Checkbox
          label={t('people.keys.newExpiry')}
          description={t('people.keys.newExpiryHelp')}
          checked={anew}
          onChange={(event) => setAnew(event.currentTarget.checked)}
        />
        {anew && (
          <TextInput
            type="date"
            label={t('people.keys.expires')}
            required
            min={dayOf(Date.now())}
            value={day}
            onChange={(event) => setDay(event.currentTarget.value)}
            error={problem?.field === 'expiresAt' ? problem.message : undefined}
          />
        )}
        {rotate.error && <ProblemNotice error={rotate.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={rotate.running}>
            {t('people.keys.rotate')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
