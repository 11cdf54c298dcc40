import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { useAction } from '../../kit/useAction';
import { isHostAllowed, pageOf } from './hosts';
import { type KeyRowFragment, KeysUpdateDocument } from './keys.gql';

// WidgetHost checks whether the key works from the website, and from here for the preview, and adds a host that is missing.
export function WidgetHost({ row, onChanged }: { row: KeyRowFragment; onChanged: () => void }) {
  const [address, setAddress] = useState('');
  const update = useAction(KeysUpdateDocument, { success: t('people.widget.hostAdded') });
  const page = pageOf(address);
  const here = isHostAllowed(row.allowedHosts, new URL(window.location.href));
  const add = async (host: string) => {
    if (await update.run({ id: row.id, input: { allowedHosts: [...row.allowedHosts, host] } })) onChanged();
  };
  return (
    <Stack gap="xs">
      <TextInput
        label={t('people.widget.site')}
        description={t('people.widget.siteHelp')}
        placeholder="https://www.example.com"
        value={address}
        onChange={(event) => setAddress(event.currentTarget.value)}
        error={address.trim() !== '' && !page ? t('people.widget.siteBad') : undefined}
      />
      <div role="status">
        {page && isHostAllowed(row.allowedHosts, page) && (
          <Group gap={6}>
            <Icon name="check" size={16} />
            <Text size="sm">{t('people.widget.hostYes', { host: page.hostname })}</Text>
          </Group>
        )}
        {page && !isHostAllowed(row.allowedHosts, page) && (
          <Alert color="orange" variant="light" title={t('people.widget.hostNo', { host: page.hostname })}>
            <Stack gap="xs" align="flex-start">
              <Text size="sm">{t('people.widget.hostNoHelp', { hosts: row.allowedHosts.join(', ') })}</Text>
              <Button size="xs" variant="default" onClick={() => void add(page.hostname)} loading={update.running}>
                {t('people.widget.addHost', { host: page.hostname })}
              </Button>
            </Stack>
          </Alert>
        )}
      </div>
      {!here && (
        <Alert color="orange" variant="light" title={t('people.widget.hereNo')}>
          <Stack gap="xs" align="flex-start">
            <Text size="sm">{t('people.widget.hereNoHelp')}</Text>
            <Button size="xs" variant="default" onClick={() => void add(window.location.hostname)} loading={update.running}>
              {t('people.widget.addHost', { host: window.location.hostname })}
            </Button>
          </Stack>
        </Alert>
      )}
    </Stack>
  );
}
