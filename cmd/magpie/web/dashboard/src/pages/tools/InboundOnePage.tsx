import { Alert, Button, Code, Group, Loader, Menu, Modal, PasswordInput, Stack, Switch, Text, TextInput, Title } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { useQuery } from 'urql';
import { formatNumber, formatTime, t } from '../../i18n';
import { word } from '../../i18n/words';
import { Copy } from '../../kit/Copy';
import { confirm } from '../../kit/confirm';
import { Facts } from '../../kit/Facts';
import { fieldError, useFirstError } from '../../kit/formErrors';
import { Icon } from '../../kit/Icon';
import { JSONView } from '../../kit/JSONView';
import { NeedsRole } from '../../kit/Needs';
import { OptionForm } from '../../kit/OptionForm';
import { submitted, type Values } from '../../kit/options';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { When } from '../../kit/Time';
import { useAction } from '../../kit/useAction';
import { useMay } from '../../session/Me';
import { Events } from './Events';
import { InboundState } from './InboundPage';
import {
  InboundDeleteDocument,
  type InboundFieldsFragment,
  InboundOneDocument,
  InboundProvidersDocument,
  InboundRotateDocument,
  type InboundRotateMutation,
  InboundTestDocument,
  type InboundTestMutation,
  InboundUpdateDocument,
} from './inbound.gql';
import { type InboundProvider, Secrets } from './NewInboundPage';
import { optionProblem } from './NewIntegrationPage';

const route = getRouteApi('/shell/inbound/$inboundId');

// InboundOnePage is one integration that receives, and what arrived.
export function InboundOnePage() {
  if (!useMay('EDITOR')) {
    return (
      <Page title={t('common.nav.inbound')}>
        <NeedsRole atLeast="EDITOR" />
      </Page>
    );
  }
  return <One />;
}

function One() {
  const { inboundId } = route.useParams();
  const [{ data, error }, again] = useQuery({ query: InboundOneDocument, variables: { id: inboundId } });
  const [{ data: all }] = useQuery({ query: InboundProvidersDocument, requestPolicy: 'cache-first' });
  const above = [{ label: t('tools.inbound.title'), to: '/inbound' }];
  if (!data) {
    return (
      <Page title={t('tools.one')} above={above}>
        {error ? (
          <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />
        ) : (
          <Loader role="status" aria-label={t('common.loading')} />
        )}
      </Page>
    );
  }
  const row = data.inboundIntegration;
  const provider = all?.inboundProviders.find(({ name }) => name === row.provider);
  return (
    <Page
      title={row.name}
      description={provider?.description}
      above={above}
      actions={<Actions row={row} provider={provider} reload={() => again({ requestPolicy: 'network-only' })} />}
    >
      <Facts
        columns={4}
        items={[
          { label: t('common.state'), value: <InboundState row={row} /> },
          { label: t('tools.provider'), value: provider?.title ?? row.provider },
          { label: t('tools.inbound.last'), value: <When at={row.lastEventAt} /> },
          { label: t('tools.inbound.rejected'), value: formatNumber(row.rejected) },
          { label: t('tools.inbound.previous'), value: row.previousUntil ? formatTime(row.previousUntil) : null },
          {
            label: t('tools.inbound.subscription'),
            value: row.subscription ? row.subscription.expiresAt ? <When at={row.subscription.expiresAt} /> : t('common.none') : null,
          },
        ]}
      />
      <Group gap={4} wrap="nowrap">
        <Code className="wrap">{row.url}</Code>
        <Copy text={row.url} label={`${t('common.copy')}: ${t('tools.inbound.url')}`} />
      </Group>
      {[row.lastError, row.subscription?.error].map(
        (problem) =>
          problem && (
            <Alert key={problem} color="red" variant="light" icon={<Icon name="warning" />}>
              {problem}
            </Alert>
          ),
      )}
      <Title order={2} size="h4">
        {t('tools.inbound.events')}
      </Title>
      <Events integrationId={row.id} />
    </Page>
  );
}

interface ActionProps {
  row: InboundFieldsFragment;
  provider: InboundProvider | undefined;
  reload: () => void;
}

function Actions({ row, provider, reload }: ActionProps) {
  const navigate = route.useNavigate();
  const [open, setOpen] = useState<'edit' | 'rotate' | null>(null);
  const [result, setResult] = useState<InboundTestMutation['testInboundIntegration'] | null>(null);
  const test = useAction(InboundTestDocument);
  const update = useAction(InboundUpdateDocument, { success: t('common.saved') });
  const remove = useAction(InboundDeleteDocument, { success: t('common.deleted') });
  const onTest = async () => {
    const data = await test.run({ id: row.id });
    if (data) setResult(data.testInboundIntegration);
  };
  const del = async () => {
    const sure = await confirm({
      title: t('tools.delete'),
      body: t('tools.inbound.deleteHelp'),
      action: t('common.delete'),
      typed: row.name,
    });
    if (sure && (await remove.run({ id: row.id }))) await navigate({ to: '/inbound' });
  };
  const close = (saved: boolean) => {
    setOpen(null);
    if (saved) reload();
  };
  return (
    <Group gap="xs">
      <Switch
        label={t('tools.inbound.enabled')}
        checked={row.enabled}
        onChange={(event) => void update.run({ id: row.id, input: { enabled: event.currentTarget.checked } })}
      />
      <Button variant="default" onClick={() => void onTest()} loading={test.running}>
        {t('tools.test')}
      </Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" px="xs" aria-label={t('common.actions')}>
            <Icon name="more" />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="edit" size={16} />} onClick={() => setOpen('edit')}>
            {t('common.edit')}
          </Menu.Item>
          {provider?.secret && (
            <Menu.Item leftSection={<Icon name="key" size={16} />} onClick={() => setOpen('rotate')}>
              {t('tools.inbound.rotate')}
            </Menu.Item>
          )}
          <Menu.Item leftSection={<Icon name="trash" size={16} />} onClick={() => void del()}>
            {t('common.delete')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {result && (
        <Modal opened onClose={() => setResult(null)} title={t('tools.test')} closeButtonProps={{ 'aria-label': t('common.close') }}>
          <Alert color={result.ok ? 'green' : 'red'} variant="light">
            {word(result.message)}
          </Alert>
          {result.details && <JSONView value={result.details} />}
        </Modal>
      )}
      {open === 'edit' && provider && <Edit row={row} provider={provider} close={close} />}
      {open === 'rotate' && provider && <Rotate row={row} provider={provider} close={close} />}
    </Group>
  );
}

interface DialogProps {
  row: InboundFieldsFragment;
  provider: InboundProvider;
  close: (saved: boolean) => void;
}

function Edit({ row, provider, close }: DialogProps) {
  const [name, setName] = useState(row.name);
  const [config, setConfig] = useState<Values>(row.config);
  const [credentials, setCredentials] = useState<Values>({});
  const update = useAction(InboundUpdateDocument, { success: t('common.saved'), quiet: true });
  const form = useRef<HTMLFormElement>(null);
  useFirstError(form, update.error);
  // A new secret is a rotation.
  const others = provider.credentials.filter((option) => option.name !== provider.secret);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const secrets = submitted(others, credentials);
    const input = {
      name,
      config: submitted(provider.options, config, row.config),
      credentials: Object.keys(secrets).length > 0 ? secrets : undefined,
    };
    if (await update.run({ id: row.id, input })) close(true);
  };
  return (
    <Modal opened onClose={() => close(false)} size="lg" title={t('common.edit')} closeButtonProps={{ 'aria-label': t('common.close') }}>
      <form ref={form} onSubmit={submit} noValidate>
        <Stack>
          {update.error && <ProblemNotice error={update.error} />}
          <TextInput
            label={t('common.name')}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            required
            error={fieldError(update.error, 'name')}
            data-autofocus
          />
          <OptionForm table={provider.options} values={config} onChange={setConfig} problem={optionProblem(update.error, 'config')} />
          {others.length > 0 && (
            <OptionForm
              table={others}
              values={credentials}
              onChange={setCredentials}
              problem={optionProblem(update.error, 'credentials')}
              stored={new Set(others.map((option) => option.name))}
            />
          )}
          <Group justify="flex-end">
            <Button type="submit" loading={update.running}>
              {t('common.save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function Rotate({ row, provider, close }: DialogProps) {
  const [secret, setSecret] = useState('');
  const [made, setMade] = useState<InboundRotateMutation['rotateInboundSecret'] | null>(null);
  const rotate = useAction(InboundRotateDocument, { quiet: true });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const data = await rotate.run({ id: row.id, secret: secret || null });
    if (data) setMade(data.rotateInboundSecret);
  };
  return (
    <Modal
      opened
      onClose={() => close(made !== null)}
      size="lg"
      title={t('tools.inbound.rotate')}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      {made ? (
        <Secrets created={made} />
      ) : (
        <form onSubmit={submit}>
          <Stack>
            {rotate.error && <ProblemNotice error={rotate.error} />}
            <Text size="sm">{t('tools.inbound.rotateHelp')}</Text>
            <PasswordInput
              label={t('tools.inbound.secret')}
              description={provider.generatesSecret ? t('tools.inbound.rotateEmpty') : t('tools.inbound.rotateGiven')}
              value={secret}
              onChange={(event) => setSecret(event.currentTarget.value)}
              required={!provider.generatesSecret}
              autoComplete="new-password"
              visibilityToggleButtonProps={{ 'aria-label': t('common.showSecret') }}
              error={fieldError(rotate.error, 'secret')}
              data-autofocus
            />
            <Group justify="flex-end">
              <Button type="submit" loading={rotate.running}>
                {t('tools.inbound.rotate')}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}
