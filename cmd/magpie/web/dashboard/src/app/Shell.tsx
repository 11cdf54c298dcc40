import '@mantine/notifications/styles.css';
import {
  ActionIcon,
  AppShell,
  Burger,
  Button,
  Group,
  Kbd,
  Menu,
  NavLink,
  ScrollArea,
  Text,
  Tooltip,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure, useHotkeys, useNetwork, useWindowEvent } from '@mantine/hooks';
import { Notifications } from '@mantine/notifications';
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { type ComponentType, lazy, Suspense, useEffect, useState } from 'react';
import { Provider, useQuery } from 'urql';
import { createClient } from '../api/client';
import { disconnect } from '../api/live';
import { type Language, language, languages, t } from '../i18n';
import { Confirmations } from '../kit/confirm';
import { Icon } from '../kit/Icon';
import { failed } from '../kit/notify';
import { includes, MeProvider, useMe } from '../session/Me';
import { ApplyPreferences, themeOf, useSavePreferences } from '../session/preferences';
import { begin, end } from '../session/session';
import { WorkspacesDocument } from '../session/session.gql';
import { isSlash } from './keys';
import { places } from './nav';

const Commands = lazy(() => import('./Commands'));
const badges = { openApprovals: lazy(() => import('../pages/agents/OpenApprovals')) };

// Shell is the frame of the signed-in pages: menu, commands and the person's menu.
export function Shell() {
  // A session has a client of its own, so that nothing of a former person is left in its cache.
  const [client] = useState(createClient);
  useEffect(() => disconnect, []);
  return (
    <Provider value={client}>
      <Notifications position="bottom-right" />
      <MeProvider>
        <ApplyPreferences />
        <Frame />
        <Confirmations />
      </MeProvider>
    </Provider>
  );
}

function Frame() {
  const me = useMe();
  const [menu, { toggle, close }] = useDisclosure();
  const [commands, setCommands] = useState(false);
  const navigate = useNavigate();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const { online } = useNetwork();
  useHotkeys([['mod+K', () => setCommands(true)]], []); // in text fields, too
  useWindowEvent('keydown', (event) => {
    if (!isSlash(event) || event.defaultPrevented) return;
    event.preventDefault();
    const box = document.querySelector<HTMLInputElement>('[data-search-box]');
    if (box) box.focus();
    else void navigate({ to: '/search' });
  });
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !menu } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <a className="skip" href="#content">
        {t('common.skip')}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger opened={menu} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={t('common.menu')} aria-expanded={menu} />
            <Text component={Link} to="/" fw={700} size="lg" c="inherit" td="none">
              Magpie
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Button
              variant="default"
              visibleFrom="sm"
              leftSection={<Icon name="search" size={16} />}
              rightSection={<Kbd size="xs">Ctrl K</Kbd>}
              onClick={() => setCommands(true)}
            >
              {t('common.commands')}
            </Button>
            <Tooltip label={t('common.commands')}>
              <ActionIcon variant="default" size="lg" hiddenFrom="sm" aria-label={t('common.commands')} onClick={() => setCommands(true)}>
                <Icon name="search" />
              </ActionIcon>
            </Tooltip>
            <PersonMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t('common.menu')}>
        <AppShell.Section grow component={ScrollArea} type="never">
          {places.map((group) => {
            const visible = group.places.filter(({ atLeast }) => includes(me.role, atLeast));
            return (
              <div key={group.label}>
                <Text size="xs" c="dimmed" fw={600} px="sm" pt="sm" pb={4}>
                  {t(group.label)}
                </Text>
                {visible.map(({ to, label, icon, badge }) => (
                  <NavLink
                    key={to}
                    component={Link}
                    to={to}
                    label={t(label)}
                    leftSection={<Icon name={icon} />}
                    rightSection={badge && <Shown badge={badges[badge]} />}
                    active={path === to || path.startsWith(`${to}/`)}
                    aria-current={path === to ? 'page' : undefined}
                    onClick={close}
                    py={6}
                  />
                ))}
              </div>
            );
          })}
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1} style={{ outline: 'none' }}>
        {!online && (
          <Text role="status" size="sm" mb="sm">
            {t('common.offlineBanner')}
          </Text>
        )}
        <Outlet />
      </AppShell.Main>
      {commands && (
        <Suspense>
          <Commands close={() => setCommands(false)} />
        </Suspense>
      )}
    </AppShell>
  );
}

// Shown loads a badge of the menu after the page.
function Shown({ badge: Badge }: { badge: ComponentType }) {
  return (
    <Suspense>
      <Badge />
    </Suspense>
  );
}

function PersonMenu() {
  const me = useMe();
  const [opened, setOpened] = useState(false);
  const [{ data }] = useQuery({ query: WorkspacesDocument, pause: !opened });
  const { colorScheme } = useMantineColorScheme();
  const save = useSavePreferences();
  const others = data?.myWorkspaces.filter(({ current }) => !current) ?? [];
  const schemes = ['light', 'dark', 'auto'] as const;
  return (
    <Menu opened={opened} onChange={setOpened} position="bottom-end" width={240}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          c="inherit"
          px="xs"
          leftSection={<Icon name="account" />}
          aria-label={`${t('common.nav.account')}: ${me.user.name}`}
        >
          <Text size="sm" maw="9rem" truncate visibleFrom="xs">
            {me.user.name}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {me.workspace.name} · {t(`common.role.${me.role}`)}
        </Menu.Label>
        {others.map(({ id, name }) => (
          <Menu.Item
            key={id}
            onClick={() => begin(`/api/v1/auth/workspaces/${id}/switch`, {}).then(() => window.location.assign('/'), failed)}
          >
            {t('common.switchWorkspace', { name })}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item component={Link} to="/account" leftSection={<Icon name="account" size={16} />}>
          {t('common.nav.account')}
        </Menu.Item>
        <Menu.Label>{t('common.theme')}</Menu.Label>
        {schemes.map((scheme) => (
          <Menu.Item
            key={scheme}
            onClick={() => void save({ theme: themeOf(scheme) })}
            rightSection={colorScheme === scheme ? <Icon name="check" size={16} /> : null}
          >
            {t(`common.theme.${scheme}`)}
          </Menu.Item>
        ))}
        <Menu.Label>{t('common.language')}</Menu.Label>
        {(Object.keys(languages) as Language[]).map((tag) => (
          <Menu.Item
            key={tag}
            lang={tag}
            onClick={() => void save({ language: tag })}
            rightSection={language === tag ? <Icon name="check" size={16} /> : null}
          >
            {languages[tag]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="signOut" size={16} />} onClick={() => void end().catch(failed)}>
          {t('common.signOut')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
