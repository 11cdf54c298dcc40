import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { Choice } from './WelcomePage';

// TrySearch sends the person to the search with their words.
export function TrySearch({ collection, next }: { collection: string | undefined; next?: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void navigate({ to: '/search', search: { q: text, collection } as never });
  };
  return (
    <Stack gap="sm">
      <form onSubmit={submit}>
        <Group align="flex-end">
          <TextInput
            label={t('workspace.searchFor')}
            description={t('workspace.searchForAbout')}
            required
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            leftSection={<Icon name="search" size={16} />}
            style={{ flex: '1 1 16rem' }}
          />
          <Button type="submit">{t('common.nav.search')}</Button>
        </Group>
      </form>
      <Choice icon="ask" to="/ask" label={t('common.nav.ask')} about={t('workspace.askAbout')} />
      {next && (
        <Group>
          <Button variant="default" onClick={next}>
            {t('common.next')}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

// Publish is where the documents leave the dashboard: by a key, by the widget on a page, or in an assistant.
export function Publish({ isAdmin }: { isAdmin: boolean }) {
  return (
    <Stack gap="sm">
      {isAdmin ? (
        <>
          <Choice icon="key" to="/keys" label={t('workspace.makeKey')} about={t('workspace.makeKeyAbout')} />
          <Choice icon="widget" to="/widget" label={t('workspace.makeWidget')} about={t('workspace.makeWidgetAbout')} />
        </>
      ) : (
        <Text size="sm">{t('workspace.keysByAdmin')}</Text>
      )}
      <Choice
        icon="application"
        to="/applications"
        label={t('workspace.connectApplication')}
        about={t('workspace.connectApplicationAbout')}
      />
      {isAdmin && <Choice icon="people" to="/people" label={t('workspace.invite')} about={t('workspace.inviteAbout')} />}
    </Stack>
  );
}
