import { Checkbox, Fieldset, Stack, Text } from '@mantine/core';
import { t } from '../../../i18n';
import { OptionForm } from '../../../kit/OptionForm';
import type { Mistakes } from '../../../kit/options';
import { type Connection, credentialTable, type Kind, storedPaths } from './connection';
import { OAuthFields } from './OAuthFields';

export interface ProblemField {
  field: string;
  message: string;
}

interface Props {
  kind: Kind;
  connection: Connection;
  onChange: (connection: Connection) => void;
  mistakes: Mistakes;
  problem: ProblemField | null;
  connectorId?: string;
  // The names of the credentials that an existing connector has.
  storedCredentials?: readonly string[];
  // Called before the browser goes to a provider.
  onLeave: () => void;
  // Where the provider sends the browser back to.
  returnTo: string;
  disabled?: boolean;
}

// ConnectionFields are the fields of config and credentials of a kind of connector: the same for every kind, made from its
// options.
export function ConnectionFields({
  kind,
  connection,
  onChange,
  mistakes,
  problem,
  connectorId,
  storedCredentials = [],
  onLeave,
  returnTo,
  disabled,
}: Props) {
  const change = (part: Partial<Connection>) => onChange({ ...connection, ...part });
  const credentials = credentialTable(kind, connection);
  const stored = storedPaths(connection, storedCredentials);
  return (
    <>
      {(kind.credentials.length > 0 || kind.oauthProvider) && (
        <Fieldset legend={t('connectors.form.access')} disabled={disabled}>
          <Stack>
            {kind.oauthProvider && (
              <OAuthFields
                provider={kind.oauthProvider}
                connection={connection}
                onChange={change}
                connectorId={connectorId}
                onLeave={onLeave}
                returnTo={returnTo}
              />
            )}
            {connectorId && credentials.length > 0 && (
              <Text size="sm" c="dimmed">
                {t('connectors.form.storedHelp')}
              </Text>
            )}
            {credentials.length > 0 && (
              <OptionForm
                table={credentials}
                values={connection.credentials}
                onChange={(values) => change({ credentials: values })}
                mistakes={mistakes}
                problem={problem}
                stored={stored}
                prefix="credentials."
              />
            )}
            {connectorId && !connection.byOAuth && kind.credentials.length > 0 && (
              <Checkbox
                label={t('connectors.form.replaceAll')}
                description={t('connectors.form.replaceAllHelp')}
                checked={connection.replaceAll}
                onChange={(event) => change({ replaceAll: event.currentTarget.checked })}
              />
            )}
          </Stack>
        </Fieldset>
      )}
      {kind.options.length > 0 && (
        <Fieldset legend={t('connectors.form.content')} disabled={disabled}>
          <OptionForm
            table={kind.options}
            values={connection.config}
            onChange={(config) => change({ config })}
            mistakes={mistakes}
            problem={problem}
            prefix="config."
          />
        </Fieldset>
      )}
    </>
  );
}
