import { Anchor, Stack, Tabs, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { t } from '../../i18n';
import { CodeBlock } from '../../kit/Copy';

// quoted returns a text as a word of a shell.
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

interface Props {
  // The keys, while they are known.
  publishable?: string;
  secret?: string;
  signed?: boolean;
}

// KeySnippets shows how programs and pages use a pair of keys.
export function KeySnippets({ publishable = 'svc_pk_…', secret = 'svc_sk_…', signed = false }: Props) {
  const base = window.location.origin;
  const question = t('people.keys.exampleQuery');
  const json = JSON.stringify({ query: question, limit: 5 });
  const client = `import { Magpie } from "${base}/magpie.js";

const magpie = new Magpie({ baseUrl: "${base}", key: "${publishable}" });
const { results } = await magpie.search({ query: ${JSON.stringify(question)}, limit: 5 });

for await (const event of magpie.chat({ message: ${JSON.stringify(question)} })) {
  if (event.type === "content") console.log(event.delta);
}`;
  const server = `import { Magpie } from "./magpie.js"; // ${base}/magpie.js

const magpie = new Magpie({ baseUrl: "${base}", key: process.env.MAGPIE_SECRET_KEY${signed ? ', sign: true' : ''} });
const { results } = await magpie.search(${JSON.stringify(question)}, { headers: { "X-Service-User": "ada@example.com" } });`;
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List aria-label={t('people.keys.snippets')}>
        <Tabs.Tab value="curl">curl</Tabs.Tab>
        <Tabs.Tab value="javascript">JavaScript</Tabs.Tab>
        <Tabs.Tab value="widget">{t('common.nav.widget')}</Tabs.Tab>
        <Tabs.Tab value="mcp">MCP</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="curl" pt="sm">
        <Stack gap="xs">
          <Text size="sm">{signed ? t('people.keys.curlSigned') : t('people.keys.curlHelp')}</Text>
          <CodeBlock label="curl">{`curl ${base}/v1/docs/search \\
  -H ${quoted(`X-Service-Key: ${secret}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(json)}`}</CodeBlock>
        </Stack>
      </Tabs.Panel>
      <Tabs.Panel value="javascript" pt="sm">
        <Stack gap="xs">
          <Text size="sm">{t('people.keys.clientHelp')}</Text>
          <CodeBlock label={t('people.keys.inPages')}>{client}</CodeBlock>
          <Text size="sm">{t('people.keys.serverHelp')}</Text>
          <CodeBlock label={t('people.keys.onServers')}>{server}</CodeBlock>
        </Stack>
      </Tabs.Panel>
      <Tabs.Panel value="widget" pt="sm">
        <Stack gap="xs">
          <Text size="sm">
            {t('people.keys.widgetHelp')}{' '}
            <Anchor component={Link} to="/widget" inherit>
              {t('people.keys.widgetLink')}
            </Anchor>
          </Text>
          <CodeBlock
            label={t('common.nav.widget')}
          >{`<script src="${base}/widget.js" data-key="${publishable}" defer></script>`}</CodeBlock>
        </Stack>
      </Tabs.Panel>
      <Tabs.Panel value="mcp" pt="sm">
        <Stack gap="xs">
          <Text size="sm">{t('people.keys.mcpHelp')}</Text>
          <CodeBlock label="Claude Code">{`claude mcp add --transport http magpie ${base}/mcp --header "Authorization: Bearer ${secret}"`}</CodeBlock>
          <CodeBlock label="mcp.json">
            {JSON.stringify({ mcpServers: { magpie: { url: `${base}/mcp`, headers: { Authorization: `Bearer ${secret}` } } } }, null, 2)}
          </CodeBlock>
        </Stack>
      </Tabs.Panel>
    </Tabs>
  );
}
