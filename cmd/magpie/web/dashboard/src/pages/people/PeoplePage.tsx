import { Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Role } from '../../gql/schema';
import { t } from '../../i18n';
import { Page } from '../../kit/Page';
import { includes, useMe } from '../../session/Me';
import { Groups } from './Groups';
import { Invitations } from './Invitations';
import { Members } from './Members';
import { RolesTable } from './RolesTable';
import { SignOn } from './SignOn';
import type { PeopleTab } from './search';
import { WhyVisible } from './WhyVisible';

const tabs: { value: PeopleTab; atLeast: Role; content: () => ReactNode }[] = [
  { value: 'members', atLeast: 'VIEWER', content: () => <Members /> },
  { value: 'invitations', atLeast: 'ADMIN', content: () => <Invitations /> },
  { value: 'roles', atLeast: 'VIEWER', content: () => <RolesTable /> },
  { value: 'groups', atLeast: 'ADMIN', content: () => <Groups /> },
  { value: 'why', atLeast: 'ADMIN', content: () => <WhyVisible /> },
  { value: 'sign-in', atLeast: 'VIEWER', content: () => <SignOn /> },
];

// PeoplePage has the members of the workspace, and for administrators who may join, and who sees what.
export function PeoplePage() {
  const me = useMe();
  const { tab } = useSearch({ from: '/shell/people' });
  const navigate = useNavigate();
  const allowed = tabs.filter(({ atLeast }) => includes(me.role, atLeast));
  const shown = allowed.find(({ value }) => value === tab)?.value ?? 'members';
  return (
    <Page title={t('common.nav.people')} description={t('people.about', { workspace: me.workspace.name })}>
      <Tabs
        value={shown}
        onChange={(value) => void navigate({ to: '/people', search: value === 'members' ? {} : { tab: value as PeopleTab } })}
        keepMounted={false}
      >
        <Tabs.List aria-label={t('common.nav.people')}>
          {allowed.map(({ value }) => (
            <Tabs.Tab key={value} value={value}>
              {t(`people.tab.${value}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {allowed.map(({ value, content }) => (
          <Tabs.Panel key={value} value={value} pt="md">
            {content()}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Page>
  );
}
