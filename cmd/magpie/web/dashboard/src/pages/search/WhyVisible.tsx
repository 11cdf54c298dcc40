import { Alert, Button, Group, Loader, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useQuery } from 'urql';
import { problemOf } from '../../api/errors';
import { t } from '../../i18n';
import { Facts } from '../../kit/Facts';
import { Icon } from '../../kit/Icon';
import { ProblemNotice } from '../../kit/Problem';
import { When } from '../../kit/Time';
import { type SearchVisibilityFragment, SearchWhyVisibleDocument } from './search.gql';

// WhyVisible asks for one person whether they find a document, and by which rule. It is for administrators.
export function WhyVisible({ documentId }: { documentId: string }) {
  const [typed, setTyped] = useState('');
  const [user, setUser] = useState('');
  const [{ data, error, fetching }] = useQuery({
    query: SearchWhyVisibleDocument,
    variables: { documentId, user },
    pause: user === '',
    requestPolicy: 'network-only',
  });
  const atField = error && problemOf(error).field === 'user' ? problemOf(error).message : undefined;
  return (
    <Stack gap="sm">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setUser(typed.trim());
        }}
      >
        <Group align="flex-end" gap="xs">
          <TextInput
            type="email"
            required
            flex="1 1 12rem"
            label={t('search.visible.person')}
            description={t('search.visible.help')}
            value={typed}
            error={user && atField}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          <Button type="submit" variant="default">
            {t('search.visible.ask')}
          </Button>
        </Group>
      </form>
      <div aria-live="polite">
        {user && fetching && <Loader size="sm" aria-label={t('common.loading')} />}
        {user && error && !atField && <ProblemNotice error={error} />}
        {user && data && !fetching && !error && <Visibility visibility={data.whyVisible} />}
      </div>
    </Stack>
  );
}

// Visibility says whether a person finds a document, and why.
export function Visibility({ visibility }: { visibility: SearchVisibilityFragment }) {
  const { visible, user, explanation, groups, readersReadAt, groupsReadAt } = visibility;
  return (
    <Alert
      variant="light"
      color={visible ? 'green' : 'yellow'}
      icon={<Icon name={visible ? 'check' : 'lock'} />}
      title={visible ? t('search.visible.yes', { user }) : t('search.visible.no', { user })}
    >
      <Stack gap="xs">
        <Text size="sm" className="wrap">
          {explanation}
        </Text>
        {groups.length > 0 && (
          <Text size="sm" className="wrap">
            {groups.map(({ name }) => name).join(' › ')}
          </Text>
        )}
        <Facts
          columns={2}
          items={[
            { label: t('search.visible.readersRead'), value: readersReadAt && <When at={readersReadAt} /> },
            { label: t('search.visible.groupsRead'), value: groupsReadAt && <When at={groupsReadAt} /> },
          ]}
        />
      </Stack>
    </Alert>
  );
}
