import { Button, Group, Loader, Stack, Switch, Text, TextInput } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useQuery } from 'urql';
import { problemOf } from '../../../api/errors';
import { t } from '../../../i18n';
import type { Mistakes, Values } from '../../../kit/options';
import { ProblemNotice } from '../../../kit/Problem';
import { useAction } from '../../../kit/useAction';
import { useMay } from '../../../session/Me';
import type { Connector } from '../ConnectorPage';
import { ConnectionFields } from '../form/ConnectionFields';
import { type Connection, emptyConnection, fieldProblem, focusMistake, input, type Kind, wrong } from '../form/connection';
import { OAuthOutcome } from '../form/OAuthFields';
import { type Schedule, ScheduleFields } from '../form/ScheduleFields';
import { TestResult } from '../form/TestResult';
import { useLeaving } from '../form/useLeaving';
import { ConnectorsKindsDocument, ConnectorsTestStoredDocument, ConnectorsUpdateDocument } from '../form.gql';
import { fieldMessage } from '../kinds';

const route = getRouteApi('/shell/connectors/$connectorId');

// Settings is the form of an existing connector.
export function Settings({ connector }: { connector: Connector }) {
  const [{ data, error }] = useQuery({ query: ConnectorsKindsDocument, requestPolicy: 'cache-first' });
  const kind = data?.connectorKinds.find(({ name }) => name === connector.type);
  if (error && !data) return <ProblemNotice error={error} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  if (!kind) return <Text>{t('connectors.unknownKind', { kind: connector.type })}</Text>;
  return <Form connector={connector} kind={kind} />;
}

const scheduleOf = ({ docSync, schemaSync }: Connector): Schedule => {
  const { syncStrategy, scheduleInterval } = schemaSync ?? docSync;
  return { syncStrategy, scheduleInterval };
};

const connectionOf = ({ config, grantId }: Connector): Connection => ({
  ...emptyConnection,
  config: config as Values,
  grant: grantId ?? null,
  byOAuth: Boolean(grantId),
});

function Form({ connector, kind }: { connector: Connector; kind: Kind }) {
  const search = route.useSearch();
  const mayEdit = useMay('EDITOR');
  const form = useRef<HTMLFormElement>(null);
  const [name, setName] = useState(connector.name);
  const [enabled, setEnabled] = useState(connector.enabled);
  const [schedule, setSchedule] = useState(scheduleOf(connector));
  const [connection, setConnection] = useState(() => connectionOf(connector));
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const [changed, setChanged] = useState(false);
  const leave = useLeaving(changed);
  const test = useAction(ConnectorsTestStoredDocument, { quiet: true });
  const update = useAction(ConnectorsUpdateDocument, { quiet: true, success: t('common.saved') });
  const [result, setResult] = useState<Awaited<ReturnType<typeof test.run>>>(null);
  const failure = update.error ?? test.error;
  const problem = failure ? problemOf(failure) : null;
  const atField = fieldProblem(kind, problem);
  const nameProblem = problem?.field === 'name' ? fieldMessage(problem.message, 'name') : undefined;
  useEffect(() => {
    if (failure) focusMistake(form.current);
  }, [failure]);
  const change =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value);
      setChanged(true);
    };
  const check = (): boolean => {
    const found = wrong(kind, connection, connector.storedCredentials);
    setMistakes(found);
    const isRight = Object.keys(found).length === 0 && name.trim() !== '';
    if (!isRight) focusMistake(form.current);
    return isRight;
  };
  const before = { config: connector.config as Values, grant: connector.grantId ?? null };
  const save = async () => {
    if (!check()) return;
    const times = kind.database ? { schemaSync: schedule } : { docSync: schedule };
    const saved = await update.run({
      id: connector.id,
      input: { name: name.trim(), enabled, ...input(kind, connection, before), ...times },
    });
    if (!saved) return;
    setConnection({ ...connection, config: saved.updateConnector.config as Values, credentials: {}, replaceAll: false });
    setChanged(false);
  };
  const tryOut = async () => {
    setResult(null);
    if (check()) setResult(await test.run({ id: connector.id, ...input(kind, connection, before) }));
  };
  return (
    <form
      ref={form}
      noValidate
      className="narrow"
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        void save();
      }}
    >
      <Stack>
        <OAuthOutcome search={search} />
        {!mayEdit && <Text size="sm">{t('connectors.mayNotEdit')}</Text>}
        <TextInput
          label={t('common.name')}
          required
          maxLength={200}
          value={name}
          disabled={!mayEdit}
          onChange={(event) => change(setName)(event.currentTarget.value)}
          error={name.trim() === '' ? t('common.mistake.required') : nameProblem}
        />
        <Switch
          label={t('connectors.enabled')}
          description={t('connectors.enabledHelp')}
          checked={enabled}
          disabled={!mayEdit}
          onChange={(event) => change(setEnabled)(event.currentTarget.checked)}
        />
        {mayEdit && <ScheduleFields schedule={schedule} onChange={change(setSchedule)} />}
        <ConnectionFields
          kind={kind}
          connection={connection}
          onChange={change(setConnection)}
          mistakes={mistakes}
          problem={atField}
          connectorId={connector.id}
          storedCredentials={connector.storedCredentials}
          onLeave={leave}
          returnTo={`/connectors/${connector.id}?tab=settings`}
          disabled={!mayEdit}
        />
        {failure && !atField && !nameProblem && <ProblemNotice error={failure} />}
        {result && <TestResult test={result.testConnector} />}
        {mayEdit && (
          <Group>
            {!kind.acceptsFiles && (
              <Button variant="default" onClick={() => void tryOut()} loading={test.running}>
                {t('connectors.test')}
              </Button>
            )}
            <Button type="submit" loading={update.running} disabled={!changed}>
              {t('common.save')}
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  );
}
