import { Alert, Anchor, Button, Group, Loader, Stack, Text, TextInput } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { ShownOnce } from '../../kit/Copy';
import { fieldError, useFirstError } from '../../kit/formErrors';
import { ButtonLink } from '../../kit/links';
import { Markdown } from '../../kit/Markdown';
import { Needs } from '../../kit/Needs';
import { OptionForm } from '../../kit/OptionForm';
import { type Mistakes, mistakes, submitted, type Values } from '../../kit/options';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { Gallery } from './Gallery';
import { InboundCreateDocument, type InboundCreateMutation, InboundProvidersDocument, type InboundProvidersQuery } from './inbound.gql';
import { optionProblem } from './NewIntegrationPage';

const route = getRouteApi('/shell/inbound/new');

export type InboundProvider = InboundProvidersQuery['inboundProviders'][number];
type Created = InboundCreateMutation['createInboundIntegration'];

// NewInboundPage makes an integration that receives: the provider, its settings, and then what to enter at the platform.
export function NewInboundPage() {
  const { provider: name } = route.useSearch();
  const navigate = route.useNavigate();
  const [{ data, error }] = useQuery({ query: InboundProvidersDocument, requestPolicy: 'cache-first' });
  const [created, setCreated] = useState<Created | null>(null);
  const provider = data?.inboundProviders.find((one) => one.name === name);
  const above = [{ label: t('tools.inbound.title'), to: '/inbound' }];
  return (
    <Page
      title={created ? created.integration.name : (provider?.title ?? t('tools.inbound.new'))}
      description={provider?.description}
      above={above}
      narrow={provider !== undefined}
    >
      <Needs atLeast="EDITOR">
        {error && !data && <ProblemNotice error={error} />}
        {!data && !error && <Loader role="status" aria-label={t('common.loading')} />}
        {created ? (
          <Stack>
            <Secrets created={created} />
            <Group>
              <ButtonLink to="/inbound/$inboundId" params={{ inboundId: created.integration.id }}>
                {t('tools.inbound.continue')}
              </ButtonLink>
            </Group>
          </Stack>
        ) : provider ? (
          <NewForm key={provider.name} provider={provider} onCreated={setCreated} />
        ) : (
          data && (
            <Gallery
              choices={data.inboundProviders.map((one) => ({
                name: one.name,
                title: one.title,
                summary: one.description,
                group: t(`tools.inbound.kind.${one.kind}`),
              }))}
              onChoose={(one) => void navigate({ search: { provider: one } })}
            />
          )
        )}
      </Needs>
    </Page>
  );
}

// Secrets shows what is entered at the platform, this once.
export function Secrets({ created }: { created: Pick<Created, 'url' | 'secret' | 'instructions'> }) {
  return (
    <Stack>
      <ShownOnce
        values={[
          { label: t('tools.inbound.url'), value: created.url },
          ...(created.secret ? [{ label: t('tools.inbound.secret'), value: created.secret }] : []),
        ]}
      />
      <Markdown>{created.instructions}</Markdown>
    </Stack>
  );
}

function NewForm({ provider, onCreated }: { provider: InboundProvider; onCreated: (created: Created) => void }) {
  const navigate = route.useNavigate();
  const [name, setName] = useState(provider.title);
  const [config, setConfig] = useState<Values>({});
  const [credentials, setCredentials] = useState<Values>({});
  const [wrong, setWrong] = useState<Mistakes>({});
  const create = useAction(InboundCreateDocument, { quiet: true });
  const form = useRef<HTMLFormElement>(null);
  useFirstError(form, create.error ?? (Object.keys(wrong).length > 0 ? wrong : null));
  // A secret that Magpie makes may stay empty.
  const secrets = provider.credentials.map((option) =>
    option.name === provider.secret && provider.generatesSecret ? { ...option, required: false } : option,
  );
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const found = { ...mistakes(provider.options, config), ...mistakes(secrets, credentials) };
    setWrong(found);
    if (Object.keys(found).length > 0) return;
    const input = {
      provider: provider.name,
      name,
      config: submitted(provider.options, config),
      credentials: submitted(secrets, credentials),
    };
    const data = await create.run({ input });
    if (data) onCreated(data.createInboundIntegration);
  };
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack>
        {create.error && <ProblemNotice error={create.error} />}
        <Alert variant="light" title={t('tools.inbound.instructions')}>
          <Markdown>{provider.instructions}</Markdown>
          {provider.documentation && (
            <Anchor href={provider.documentation} target="_blank" rel="noopener noreferrer" size="sm" underline="always">
              {t('tools.inbound.documentation')}
            </Anchor>
          )}
        </Alert>
        <TextInput
          label={t('common.name')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          required
          error={fieldError(create.error, 'name')}
        />
        <OptionForm
          table={provider.options}
          values={config}
          onChange={setConfig}
          mistakes={wrong}
          problem={optionProblem(create.error, 'config')}
        />
        {secrets.length > 0 && (
          <OptionForm
            table={secrets}
            values={credentials}
            onChange={setCredentials}
            mistakes={wrong}
            problem={optionProblem(create.error, 'credentials')}
          />
        )}
        {provider.generatesSecret && (
          <Text size="sm" c="dimmed">
            {t('tools.inbound.generated')}
          </Text>
        )}
        <Group>
          <Button type="submit" loading={create.running}>
            {t('common.create')}
          </Button>
          <Button variant="default" onClick={() => void navigate({ search: {} })}>
            {t('common.back')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
