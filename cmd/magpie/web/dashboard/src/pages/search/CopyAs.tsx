import { Button, Drawer, Menu, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { SearchInput } from '../../gql/schema';
import { t } from '../../i18n';
import { CodeBlock } from '../../kit/Copy';
import { Icon } from '../../kit/Icon';
import { curlGraphQL, curlKey, curlREST } from './curl';

// Tools are what one can do with a search besides reading its results.
export function Tools({ input, onWhyNot }: { input: SearchInput | null; onWhyNot: () => void }) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" leftSection={<Icon name="more" size={16} />}>
            {t('search.tools')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="info" size={16} />} onClick={onWhyNot}>
            {t('search.whyNot')}
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="copy" size={16} />} disabled={!input} onClick={() => setOpened(true)}>
            {t('search.curl')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Drawer
        opened={opened && input !== null}
        onClose={() => setOpened(false)}
        position="right"
        size="lg"
        title={t('search.curl')}
        closeButtonProps={{ 'aria-label': t('common.close') }}
      >
        {input && <Commands input={input} />}
      </Drawer>
    </>
  );
}

function Commands({ input }: { input: SearchInput }) {
  const origin = window.location.origin;
  return (
    <Stack>
      <Text size="sm">{t('search.curl.help')}</Text>
      <Text size="sm" fw={600}>
        {t('search.curl.key')}
      </Text>
      <CodeBlock label={t('search.curl.key')}>{curlKey(origin, input)}</CodeBlock>
      <Text size="sm" fw={600}>
        {t('search.curl.rest')}
      </Text>
      <CodeBlock label={t('search.curl.rest')}>{curlREST(origin, input)}</CodeBlock>
      <Text size="sm" fw={600}>
        {t('search.curl.graphql')}
      </Text>
      <CodeBlock label={t('search.curl.graphql')}>{curlGraphQL(origin, input)}</CodeBlock>
    </Stack>
  );
}
