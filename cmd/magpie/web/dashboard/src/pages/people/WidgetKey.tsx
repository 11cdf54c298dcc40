import { Alert, Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { t } from '../../i18n';
import { Status } from '../../kit/Status';
import { CreateKey } from './CreateKey';
import type { KeyRowFragment } from './keys.gql';
import { CreatedKeys } from './NewKeyPage';

interface Props {
  value: string;
  onChange: (value: string) => void;
  // The pair of the key, if it is one of the workspace.
  row: KeyRowFragment | null;
  // Whether the pairs of the workspace are known.
  known: boolean;
  onMade: () => void;
}

// WidgetKey takes the publishable key, of which Magpie stores only a hash: it is pasted, or made here.
export function WidgetKey({ value, onChange, row, known, onMade }: Props) {
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<{ publishableKey: string; secretKey: string } | null>(null);
  const text = value.trim();
  const error = text.startsWith('svc_sk_')
    ? t('people.widget.keySecret')
    : text !== '' && !/^svc_pk_\S+$/.test(text)
      ? t('people.widget.keyForm')
      : text !== '' && known && !row
        ? t('people.widget.keyUnknown')
        : undefined;
  return (
    <Stack gap="xs">
      <TextInput
        label={t('people.keys.publishable')}
        description={t('people.widget.keyHelp')}
        placeholder="svc_pk_…"
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={error}
        rightSection={row ? <Status value={row.status} /> : undefined}
        rightSectionWidth={row ? 90 : undefined}
        rightSectionPointerEvents="none"
      />
      <Group gap="xs">
        <Button variant="default" size="xs" onClick={() => setMaking(true)}>
          {t('people.widget.makeKey')}
        </Button>
        {row && (
          <Button component={Link} to={`/keys/${row.id}`} variant="subtle" size="xs">
            {t('people.widget.openKey', { name: row.name })}
          </Button>
        )}
      </Group>
      {row && row.status !== 'ACTIVE' && <Alert color="red">{t('people.widget.keyOver')}</Alert>}
      <Modal
        opened={making}
        onClose={() => setMaking(false)}
        size="lg"
        title={t('people.keys.new')}
        closeOnClickOutside={false}
        closeButtonProps={{ 'aria-label': t('common.close') }}
      >
        {made ? (
          <Stack>
            <CreatedKeys publishable={made.publishableKey} secret={made.secretKey} />
            <Group justify="flex-end">
              <Button
                onClick={() => {
                  setMaking(false);
                  setMade(null);
                }}
              >
                {t('people.keys.copiedBoth')}
              </Button>
            </Group>
          </Stack>
        ) : (
          <CreateKey
            start={{ name: t('people.widget.keyName') }}
            onCancel={() => setMaking(false)}
            onCreated={(pair) => {
              setMade(pair);
              onChange(pair.publishableKey);
              onMade();
            }}
          />
        )}
      </Modal>
    </Stack>
  );
}
