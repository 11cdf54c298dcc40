import { Anchor, Button, Group, Loader, Stack, Text, TextInput } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useQuery } from 'urql';
import { problemOf } from '../../api/errors';
import { NotFound } from '../../app/Fallback';
import { t } from '../../i18n';
import { Icon } from '../../kit/Icon';
import type { Mistakes } from '../../kit/options';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { useMay } from '../../session/Me';
import { BackToWelcome } from './BackToWelcome';
import { ConnectorsStartSyncDocument } from './connector.gql';
import { CollectionField } from './form/CollectionField';
import { ConnectionFields } from './form/ConnectionFields';
import { type Connection, emptyConnection, fieldProblem, focusMistake, input, type Kind, wrong } from './form/connection';
import { OAuthOutcome } from './form/OAuthFields';
import { type Schedule, ScheduleFields } from './form/ScheduleFields';
import { TestResult } from './form/TestResult';
import { useLeaving } from './form/useLeaving';
import { ConnectorsCreateDocument, ConnectorsKindsDocument, ConnectorsTestNewDocument } from './form.gql';
import { fieldMessage } from './kinds';

const route = getRouteApi('/shell/connectors/new/$kind');

// NewConnectorPage is the form of a new connector of one kind.
export function NewConnectorPage() {
  const { kind: name } = route.useParams();
  const { welcome } = route.useSearch();
  const mayEdit = useMay('EDITOR');
  const [{ data, error }, again] = useQuery({ query: ConnectorsKindsDocument, requestPolicy: 'cache-first' });
  const kind = data?.connectorKinds.find((one) => one.name === name || one.aliases.includes(name));
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  if (!kind) return <NotFound />;
  return (
    <Page
      narrow
      title={t('connectors.newOf', { kind: kind.title })}
      description={kind.description}
      above={[
        { label: t('connectors.title'), to: '/connectors' },
        { label: t('connectors.new'), to: '/connectors/new' },
      ]}
      actions={<BackToWelcome welcome={welcome} />}
    >
      {kind.documentation && (
        <Anchor href={kind.documentation} target="_blank" rel="noopener noreferrer" size="sm">
          {t('connectors.platformDocs')}
        </Anchor>
      )}
      {mayEdit ? <Form key={kind.name} kind={kind} /> : <Text>{t('connectors.mayNotAdd')}</Text>}
    </Page>
  );
}

interface Draft {
  name: string;
  collection: string | null;
  config: Connection['config'];
  schedule: Schedule;
}

// What was entered is kept, without credentials, while the browser is at a provider.
const draftKey = (kind: string) => `magpie-connector-${kind}`;

function readDraft(kind: Kind, collection: string | null): Draft {
  const stored = sessionStorage.getItem(draftKey(kind.name));
  sessionStorage.removeItem(draftKey(kind.name));
  if (stored) return JSON.parse(stored) as Draft;
  const schedule: Schedule = kind.acceptsFiles
    ? { syncStrategy: 'MANUAL', scheduleInterval: '6h' }
    : { syncStrategy: 'SCHEDULED', scheduleInterval: kind.database ? '24h' : '6h' };
  return { name: kind.title, collection, config: {}, schedule };
}

function Form({ kind }: { kind: Kind }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const form = useRef<HTMLFormElement>(null);
  const [draft] = useState(() => readDraft(kind, search.collection ?? null));
  const [name, setName] = useState(draft.name);
  const [collection, setCollection] = useState<string | null>(draft.collection);
  const [schedule, setSchedule] = useState(draft.schedule);
  const [connection, setConnection] = useState<Connection>({
    ...emptyConnection,
    config: draft.config,
    grant: search.grant ?? null,
    byOAuth: search.grant !== undefined || search.oauth === 'failed',
  });
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const [missing, setMissing] = useState<{ name?: boolean; collection?: boolean }>({});
  const [changed, setChanged] = useState(false);
  const leave = useLeaving(changed);
  const test = useAction(ConnectorsTestNewDocument, { quiet: true });
  const create = useAction(ConnectorsCreateDocument, { quiet: true, success: t('connectors.created') });
  const start = useAction(ConnectorsStartSyncDocument);
  const [result, setResult] = useState<Awaited<ReturnType<typeof test.run>>>(null);
  const failure = create.error ?? test.error;
  const problem = failure ? problemOf(failure) : null;
  const atField = fieldProblem(kind, problem);
  const nameProblem = problem?.field === 'name' ? fieldMessage(problem.message, 'name') : undefined;
  const collectionProblem = problem?.field === 'collection' ? fieldMessage(problem.message, 'collection') : undefined;
  useEffect(() => {
    if (failure) focusMistake(form.current);
  }, [failure]);
  const change =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value);
      setChanged(true);
    };
  const check = (all: boolean): boolean => {
    const found = wrong(kind, connection);
    const lacks = all ? { name: name.trim() === '', collection: collection === null } : {};
    setMistakes(found);
    setMissing(lacks);
    const isRight = Object.keys(found).length === 0 && !lacks.name && !lacks.collection;
    if (!isRight) focusMistake(form.current);
    return isRight;
  };
  const tryOut = async () => {
    setResult(null);
    if (check(false)) setResult(await test.run({ input: { type: kind.name, ...input(kind, connection) } }));
  };
  const save = async (andSync: boolean) => {
    if (!check(true)) return;
    const times = kind.database ? { schemaSync: schedule } : { docSync: schedule };
    const made = await create.run({
      input: { name: name.trim(), type: kind.name, collection: collection ?? '', ...input(kind, connection), ...times },
    });
    if (!made) return;
    leave();
    const { id } = made.createConnector;
    if (andSync) await start.run({ connectorId: id });
    await navigate({
      to: '/connectors/$connectorId',
      params: { connectorId: id },
      search: { tab: kind.acceptsFiles ? 'files' : undefined, welcome: search.welcome },
    });
  };
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        void save(!kind.acceptsFiles);
      }}
    >
      <Stack>
        <OAuthOutcome search={search} />
        <TextInput
          label={t('common.name')}
          required
          value={name}
          maxLength={200}
          onChange={(event) => change(setName)(event.currentTarget.value)}
          error={missing.name ? t('common.mistake.required') : nameProblem}
        />
        <CollectionField
          value={collection}
          onChange={change(setCollection)}
          error={missing.collection ? t('common.mistake.required') : collectionProblem}
        />
        <ConnectionFields
          kind={kind}
          connection={connection}
          onChange={change(setConnection)}
          mistakes={mistakes}
          problem={atField}
          onLeave={() => {
            leave();
            sessionStorage.setItem(
              draftKey(kind.name),
              JSON.stringify({ name, collection, config: connection.config, schedule } satisfies Draft),
            );
          }}
          returnTo={`/connectors/new/${kind.name}${search.welcome ? '?welcome=1' : ''}`}
        />
        <ScheduleFields schedule={schedule} onChange={change(setSchedule)} />
        {failure && !atField && !nameProblem && !collectionProblem && <ProblemNotice error={failure} />}
        {result && <TestResult test={result.testConnection} />}
        <Group>
          {!kind.acceptsFiles && (
            <Button variant="default" onClick={() => void tryOut()} loading={test.running}>
              {t('connectors.test')}
            </Button>
          )}
          {!kind.acceptsFiles && (
            <Button variant="default" onClick={() => void save(false)} loading={create.running}>
              {t('connectors.save')}
            </Button>
          )}
          <Button
            type="submit"
            loading={create.running || start.running}
            leftSection={<Icon name={kind.acceptsFiles ? 'upload' : 'refresh'} size={16} />}
          >
            {t(kind.acceptsFiles ? 'connectors.saveAndUpload' : 'connectors.saveAndSync')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
