import { Alert, Button, Group, Loader, Modal, Paper, SimpleGrid, Stack, Tabs, Text, Title } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { Empty } from '../../kit/Empty';
import { Icon } from '../../kit/Icon';
import { ButtonLink } from '../../kit/links';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { JSONField } from '../../kit/SchemaForm';
import { useAction } from '../../kit/useAction';
import { useMay, useMe } from '../../session/Me';
import { AutomationForm } from './AutomationForm';
import { AutomationRuns } from './AutomationRuns';
import { blank, eventFields, inputOf, ofAutomation, ofTemplate } from './automationDraft';
import {
  type AutomationFieldsFragment,
  AutomationsCreateDocument,
  AutomationsDeleteDocument,
  AutomationsOneDocument,
  AutomationsRunDocument,
  AutomationsTemplatesDocument,
  AutomationsUpdateDocument,
} from './automations.gql';

const newRoute = getRouteApi('/shell/automations/new');
const oneRoute = getRouteApi('/shell/automations/$automationId');
const above = () => [{ label: t('agents.auto.title'), to: '/automations' }];

// NewAutomationPage makes an automation, from a template or from nothing.
export function NewAutomationPage() {
  const { template } = newRoute.useSearch();
  const navigate = newRoute.useNavigate();
  const isEditor = useMay('EDITOR');
  const [{ data, error }] = useQuery({ query: AutomationsTemplatesDocument, pause: !isEditor });
  const create = useAction(AutomationsCreateDocument, { success: t('common.saved'), quiet: true });
  const chosen = data?.automationTemplates.find(({ name }) => name === template);
  if (!isEditor) {
    return (
      <Page title={t('agents.auto.new')} above={above()}>
        <Empty icon="lock" title={t('agents.auto.editors')} />
      </Page>
    );
  }
  return (
    <Page title={t('agents.auto.new')} above={above()} narrow>
      {error && !data && <ProblemNotice error={error} />}
      {!data && !error && <Loader role="status" aria-label={t('common.loading')} />}
      {data && !template && (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {[...data.automationTemplates, null].map((one) => (
            <Paper key={one?.name ?? 'empty'} p="md">
              <Stack gap="xs" h="100%">
                <Title order={2} size="h5">
                  {one?.title ?? t('agents.auto.empty')}
                </Title>
                <Text size="sm" c="dimmed" style={{ flex: 1 }}>
                  {one?.description ?? t('agents.auto.emptyHelp')}
                </Text>
                <Group>
                  <ButtonLink
                    to="/automations/new"
                    search={{ template: one?.name ?? 'empty' }}
                    size="xs"
                    variant="light"
                    aria-label={`${t('agents.template.use')}: ${one?.title ?? t('agents.auto.empty')}`}
                  >
                    {t('agents.template.use')}
                  </ButtonLink>
                </Group>
              </Stack>
            </Paper>
          ))}
        </SimpleGrid>
      )}
      {data && template && (
        <AutomationForm
          key={template}
          start={chosen ? ofTemplate(chosen) : blank}
          error={create.error}
          running={create.running}
          mayChange
          action={t('common.create')}
          onSave={async (draft) => {
            const saved = await create.run({ input: inputOf(draft) });
            if (saved) await navigate({ to: `/automations/${saved.createAutomation.id}` });
          }}
        />
      )}
    </Page>
  );
}

// AutomationPage is one automation: what it did, and its settings.
export function AutomationPage() {
  const { automationId } = oneRoute.useParams();
  const { tab = 'runs' } = oneRoute.useSearch();
  const navigate = oneRoute.useNavigate();
  const me = useMe();
  const isEditor = useMay('EDITOR');
  const [{ data, error }, again] = useQuery({ query: AutomationsOneDocument, variables: { id: automationId }, pause: !isEditor });
  const update = useAction(AutomationsUpdateDocument, { success: t('common.saved'), quiet: true });
  // How many runs were begun here: another one makes the list be read.
  const [begun, setBegun] = useState(0);
  if (!data) {
    return (
      <Page title={t('agents.auto.title')} above={above()}>
        {!isEditor && <Empty icon="lock" title={t('agents.auto.editors')} />}
        {error && <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />}
        {isEditor && !error && <Loader role="status" aria-label={t('common.loading')} />}
      </Page>
    );
  }
  const row = data.automation;
  const mayChange = row.runAs === 'SERVICE' || row.ownerId === me.user.id;
  return (
    <Page
      title={row.name}
      description={row.description}
      above={above()}
      actions={<Actions row={row} mayChange={mayChange} onRun={() => setBegun(begun + 1)} />}
    >
      {row.disabledReason && (
        <Alert color="yellow" variant="light" icon={<Icon name="warning" />} title={t('agents.auto.disabled')}>
          {row.disabledReason}
        </Alert>
      )}
      <Tabs value={tab} onChange={(next) => void navigate({ search: next === 'settings' ? { tab: 'settings' } : {} })} keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="runs">{t('agents.tab.runs')}</Tabs.Tab>
          <Tabs.Tab value="settings">{t('agents.auto.settings')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="runs">
          <AutomationRuns key={begun} automation={row} mayRun={mayChange} />
        </Tabs.Panel>
        <Tabs.Panel value="settings" maw="46rem">
          <AutomationForm
            key={row.updatedAt}
            start={ofAutomation(row)}
            error={update.error}
            running={update.running}
            mayChange={mayChange}
            action={t('common.save')}
            onSave={(draft) => void update.run({ id: row.id, input: inputOf(draft) })}
          />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function Actions({ row, mayChange, onRun }: { row: AutomationFieldsFragment; mayChange: boolean; onRun: () => void }) {
  const navigate = oneRoute.useNavigate();
  const isAdmin = useMay('ADMIN');
  const [testing, setTesting] = useState(false);
  const update = useAction(AutomationsUpdateDocument, { success: t('common.saved') });
  const remove = useAction(AutomationsDeleteDocument, { success: t('common.deleted') });
  const del = async () => {
    const sure = await confirm({
      title: t('agents.auto.delete'),
      body: t('agents.auto.deleteHelp'),
      action: t('common.delete'),
      typed: row.name,
    });
    if (sure && (await remove.run({ id: row.id }))) await navigate({ to: '/automations' });
  };
  const mayStop = mayChange || isAdmin;
  return (
    <Group gap="xs">
      {mayChange && (
        <Button variant="default" leftSection={<Icon name="play" size={16} />} onClick={() => setTesting(true)}>
          {t('agents.auto.runNow')}
        </Button>
      )}
      {(row.enabled ? mayStop : mayChange) && (
        <Button
          variant="default"
          loading={update.running}
          onClick={() => void update.run({ id: row.id, input: { enabled: !row.enabled } })}
        >
          {row.enabled ? t('agents.auto.disable') : t('agents.auto.enable')}
        </Button>
      )}
      {mayStop && (
        <Button variant="default" onClick={() => void del()} leftSection={<Icon name="trash" size={16} />}>
          {t('common.delete')}
        </Button>
      )}
      {testing && <RunNow row={row} onRun={onRun} close={() => setTesting(false)} />}
    </Group>
  );
}

// RunNow starts a run with an event that the person makes up.
function RunNow({ row, onRun, close }: { row: AutomationFieldsFragment; onRun: () => void; close: () => void }) {
  const [payload, setPayload] = useState<unknown>(Object.fromEntries(eventFields[row.kind].map((field) => [field, ''])));
  const run = useAction(AutomationsRunDocument, { success: t('agents.auto.started'), quiet: true });
  return (
    <Modal opened onClose={close} title={t('agents.auto.runNow')} closeButtonProps={{ 'aria-label': t('common.close') }}>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          if (!(await run.run({ id: row.id, payload: (payload as Record<string, unknown> | undefined) ?? null }))) return;
          onRun();
          close();
        }}
      >
        <Stack>
          {run.error && <ProblemNotice error={run.error} />}
          <JSONField
            label={t('agents.auto.payload')}
            description={t('agents.auto.payloadHelp')}
            value={payload}
            error={undefined}
            onChange={setPayload}
          />
          <Group justify="flex-end">
            <Button type="submit" loading={run.running}>
              {t('agents.auto.start')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
