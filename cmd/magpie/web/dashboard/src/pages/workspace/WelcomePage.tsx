import { Accordion, Button, Group, Loader, Progress, Text, ThemeIcon } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { Icon, type IconName } from '../../kit/Icon';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { nodesOf } from '../../kit/usePaged';
import { useMay, useMe } from '../../session/Me';
import { useSavePreferences } from '../../session/preferences';
import { FirstSource } from './FirstSource';
import { stepsDone } from './firstSteps';
import { type Step, steps } from './search';
import { WatchSync } from './WatchSync';
import { Publish, TrySearch } from './WelcomeEnd';
import { WorkspaceWelcomeDocument, WorkspaceWelcomeKeysDocument } from './welcome.gql';

const route = getRouteApi('/shell/welcome');

// WelcomePage leads through the first steps. What is done is seen from the workspace itself, so that the page goes on where
// the person is, in every browser.
export function WelcomePage() {
  const me = useMe();
  const save = useSavePreferences();
  const isEditor = useMay('EDITOR');
  const isAdmin = useMay('ADMIN');
  const { step } = route.useSearch();
  const navigate = route.useNavigate();
  const [{ data, error }, again] = useQuery({ query: WorkspaceWelcomeDocument });
  const [{ data: keys }] = useQuery({ query: WorkspaceWelcomeKeysDocument, pause: !isAdmin });
  const reload = () => again({ requestPolicy: 'network-only' });
  const title = t('workspace.welcome', { name: me.workspace.name });
  if (!isEditor)
    return (
      <Page title={title} description={t('workspace.welcomeViewer')} narrow>
        <TrySearch collection={undefined} />
      </Page>
    );
  if (error && !data)
    return (
      <Page title={title} narrow>
        <ProblemNotice error={error} retry={reload} />
      </Page>
    );
  if (!data)
    return (
      <Page title={title} narrow>
        <Loader aria-label={t('common.loading')} />
      </Page>
    );
  const collections = nodesOf(data.collections);
  const connector = data.connectors.edges?.[0]?.node ?? null;
  const done = stepsDone(data, keys);
  const count = steps.filter((name) => done[name]).length;
  const current = step ?? steps.find((name) => !done[name]) ?? null;
  const open = (next: Step | null) => void navigate({ search: next ? { step: next } : {}, replace: true });
  const leave = async () => {
    await save({ hideFirstSteps: true });
    void navigate({ to: '/search' });
  };
  const bodies: Record<Step, ReactNode> = {
    source: <FirstSource collections={collections} connector={connector} reload={reload} next={() => open('sync')} />,
    sync: <WatchSync connector={connector} reload={reload} next={() => open('search')} />,
    search: <TrySearch collection={connector?.collectionId} next={() => open('publish')} />,
    publish: <Publish isAdmin={isAdmin} />,
  };
  return (
    <Page
      title={title}
      description={t('workspace.welcomeAbout')}
      narrow
      actions={
        <Button variant="default" onClick={() => void leave()}>
          {t(count === steps.length ? 'workspace.welcomeEnd' : 'workspace.welcomeLater')}
        </Button>
      }
    >
      <div>
        <Text size="sm" role="status">
          {t('workspace.stepsDone', { count, total: steps.length })}
        </Text>
        <Progress value={(100 * count) / steps.length} mt={4} aria-label={t('workspace.steps')} />
      </div>
      <Accordion
        variant="separated"
        order={2}
        value={current}
        onChange={(value) => open(value as Step | null)}
        chevronIconSize={18}
        keepMounted={false}
      >
        {steps.map((name, n) => (
          <Accordion.Item key={name} value={name}>
            <Accordion.Control icon={<Mark n={n + 1} done={done[name]} />}>
              {t(`workspace.step.${name}`)}
              {done[name] && (
                <Text span size="xs" c="dimmed" ml={8}>
                  {t('workspace.stepDone')}
                </Text>
              )}
            </Accordion.Control>
            <Accordion.Panel>{bodies[name]}</Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
    </Page>
  );
}

function Mark({ n, done }: { n: number; done: boolean }) {
  return (
    <ThemeIcon variant={done ? 'filled' : 'light'} color={done ? 'green.8' : undefined} radius="xl" size="md" aria-hidden="true">
      {done ? <Icon name="check" size={14} /> : <Text size="sm">{n}</Text>}
    </ThemeIcon>
  );
}

// Choice is a way to go on that leads to another page.
export function Choice({ icon, to, search, label, about }: { icon: IconName; to: string; search?: object; label: string; about: string }) {
  return (
    <Group wrap="nowrap" gap="sm" align="flex-start">
      <Button
        component={Link}
        to={to}
        search={search as never}
        variant="default"
        leftSection={<Icon name={icon} size={16} />}
        style={{ flex: 'none' }}
      >
        {label}
      </Button>
      <Text size="sm" c="dimmed" style={{ alignSelf: 'center' }}>
        {about}
      </Text>
    </Group>
  );
}
