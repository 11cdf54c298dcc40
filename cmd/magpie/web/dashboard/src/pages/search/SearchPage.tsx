import { Text } from '@mantine/core';
import { t } from '../../i18n';
import { Page } from '../../kit/Page';

export function SearchPage() {
  return (
    <Page title={t('search.title')}>
      <Text>…</Text>
    </Page>
  );
}
