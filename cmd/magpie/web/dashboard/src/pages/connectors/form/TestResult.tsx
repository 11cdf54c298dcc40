import { Alert, List, Stack, Text } from '@mantine/core';
import { t, tValue } from '../../../i18n';
import { word } from '../../../i18n/words';
import { Facts } from '../../../kit/Facts';
import { Icon } from '../../../kit/Icon';
import type { ConnectorsTestFragment } from '../form.gql';

// TestResult shows what a test of a connection found.
export function TestResult({ test }: { test: ConnectorsTestFragment }) {
  const details = Object.entries(test.details ?? {}).filter(([, value]) => value !== null && value !== '' && typeof value !== 'object');
  return (
    <Alert
      color={test.ok ? 'green' : 'red'}
      variant="light"
      icon={<Icon name={test.ok ? 'check' : 'warning'} />}
      title={test.ok ? t('connectors.test.ok') : t('connectors.test.failed')}
      role={test.ok ? 'status' : 'alert'}
    >
      <Stack gap="xs">
        <Text size="sm" className="wrap">
          {word(test.message)}
        </Text>
        {test.tiers.length > 0 && (
          <List size="sm">
            {test.tiers.map(({ name, ok, message }) => (
              <List.Item key={name} icon={<Icon name={ok ? 'check' : 'close'} size={16} />}>
                {tValue(`connectors.tier.${name}`, name)}:{' '}
                {ok ? t('connectors.tier.ok') : message ? word(message) : t('connectors.tier.missing')}
              </List.Item>
            ))}
          </List>
        )}
        {details.length > 0 && (
          <details>
            <Text component="summary" size="sm">
              {t('common.details')}
            </Text>
            <Facts
              items={details.map(([name, value]) => ({
                label: tValue(`connectors.detail.${name}`, name),
                value: typeof value === 'boolean' ? t(value ? 'common.yes' : 'common.no') : String(value),
              }))}
            />
          </details>
        )}
      </Stack>
    </Alert>
  );
}
